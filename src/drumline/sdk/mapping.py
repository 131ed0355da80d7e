"""A map over a result: a task of a job that starts a child for each item when it runs (`worker/executors/map.py`)."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from drumline.core.codec import decode, encode
from drumline.core.errors import Invalid
from drumline.core.mapping import MAP, MOST_ITEMS
from drumline.core.task import TaskRequest
from drumline.sdk.arguments import Encode
from drumline.sdk.placeholder import Placeholder
from drumline.sdk.task import Submittable


def mapping_of(  # noqa: PLR0913 - one for each part of the call
    task: Submittable[..., Any],
    items: Placeholder,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    encode_with: Encode,
    *,
    window: int | None,
    defaults: Mapping[str, Any],
) -> TaskRequest:
    """Return the request of a `map` task; `defaults` are those of the job for its tasks."""
    into = task.definition.arguments.first
    if into is None:
        raise TypeError(f"dag.map: {task.name} has no first parameter that the item could be given as")
    if window is not None and not 1 <= window <= MOST_ITEMS:
        raise Invalid(f"must be from 1 to {MOST_ITEMS:,}", field="window")
    each = task.request_for((None, *args), kwargs, encode_with)
    for name in ("idempotency_key", "collapse"):
        if getattr(each, name) is not None:
            raise Invalid("is not for the tasks of a map", field=name)
    given = decode(bytes(each.payload), dict[str, Raw])
    del given[into]
    missing = {name: value for name, value in defaults.items() if getattr(each, name) is None and value is not None}
    said: dict[str, Any] = {
        "items": Raw(encode_with(items)),
        "each": replace(each, payload=Raw(encode(given)), **missing),
        "into": into,
    }
    if window is not None:
        said["window"] = window
    # In the queue of its tasks: whoever runs these is there, and runs it too.
    return TaskRequest(
        name=MAP, payload=Raw(encode(said)), queue=each.queue, priority=each.priority, tags=each.tags, **missing
    )


def list_decoder(decode_item: Callable[[Raw], Any]) -> Callable[[Raw], list[Any]]:
    """Return what reads the result of a map: the list of the results of its tasks."""

    def read(raw: Raw) -> list[Any]:
        return [decode_item(each) for each in decode(bytes(raw), list[Raw], field="result")]

    return read
