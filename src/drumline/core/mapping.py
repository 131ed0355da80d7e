"""The built-in task `map`: it runs another task for each item of a list, often the result of a task before it in a job.

    {"name": "map", "needs": ["list"], "payload": {
        "items": {"$result": "list"}, "each": {"name": "resize", "payload": {"width": 100}}, "into": "path"}}

The tasks that it starts are its children; its result is the list of theirs, in the order of the items.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, NamedTuple, Protocol

from msgspec import Meta, Raw, Struct

from drumline.core.codec import decode
from drumline.core.errors import Forbidden, Invalid
from drumline.core.task_type import UNKNOWN_TYPE, TypeRules

MAP: Final = "map"
MOST_ITEMS: Final = 100_000
"""Items of one map."""
WINDOW: Final = 1000
"""Tasks of a map that have not ended at the same time, unless it says otherwise."""
ITEMS_KEY: Final = "items"
"""The key of the record that has the number of items; its name is that of the task of each."""

_Window = Annotated[int, Meta(ge=1, le=MOST_ITEMS)]
_Into = Annotated[str, Meta(min_length=1, max_length=255)]


class MapPayload(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a `map` task is given."""

    items: Raw
    each: Raw
    """The task of each item, as it would be submitted."""
    into: _Into | None = None
    """Where in the payload of `each` the item goes; without it the item is the payload."""
    window: _Window = WINDOW


class NodeItems(Struct, frozen=True, kw_only=True):
    """How far a map is: of how many items the tasks have ended, and of how many of these not well."""

    total: int
    ended: int
    failed: int


class MappedTask(NamedTuple):
    """The task that a map starts for each item, as far as its submission says it."""

    name: str
    queue: str | None


class AllowTask(Protocol):
    """Raises `Forbidden` if a caller may not submit tasks of a name into a queue."""

    def __call__(self, name: str, queue: str, *, field: str = "") -> None:
        """Ask about one task; `field` is where in the request it is."""
        ...


def mapped_task(payload: Raw) -> MappedTask | None:
    """Return the task that a map is to start, or None if that cannot be told before it runs."""
    try:
        each = decode(bytes(decode(bytes(payload), MapPayload).each), dict[str, Any])
    except Invalid:
        return None
    name, queue = each.get("name"), each.get("queue")
    if not isinstance(name, str) or name == MAP or not isinstance(queue, str | None):
        return None
    return MappedTask(name, queue)


def names_in(name: str, payload: Raw) -> set[str]:
    """Return the names of all tasks that a task is known to be, or to start."""
    found = mapped_task(payload) if name == MAP else None
    return {name} if found is None else {name, found.name}


def allow_task(
    allow: AllowTask, name: str, queue: str, payload: Raw, rules: Mapping[str, TypeRules], *, field: str = ""
) -> None:
    """Ask whether a caller may submit a task; what a map starts is asked about, too."""
    allow(name, queue, field=field)
    if name != MAP:
        return
    found = mapped_task(payload)
    if found is None:
        raise Forbidden(
            "this key is for some tasks only, so it must be said which task a map starts: one that is no map itself",
            field=f"{field}payload.each",
        )
    declared = rules.get(found.name, UNKNOWN_TYPE).defaults.queue
    allow(found.name, found.queue or declared or queue, field=f"{field}payload.each.")
