"""Another task for each item of a list: `map`, durable like a function that calls `ctx.map`."""

from collections.abc import Generator
from typing import Any, Final

from msgspec import Raw, Struct
from msgspec.structs import replace

from drumline.core.codec import decode, encode
from drumline.core.errors import Invalid
from drumline.core.field_schema import LINE_PATTERN
from drumline.core.mapping import ITEMS_KEY, MAP, MOST_ITEMS, WINDOW, MapPayload
from drumline.core.names import LONGEST_NAME
from drumline.core.references import LITERAL
from drumline.core.session import TaskType
from drumline.core.task import EMPTY_PAYLOAD, TaskRequest
from drumline.sdk.app_hooks import AppHooks
from drumline.sdk.children import ChildOperation, HasHooks, LazyCalls, group_in_steps, on_end_of
from drumline.sdk.durable_calls import arun_steps
from drumline.sdk.durable_steps import Run, Save, find
from drumline.sdk.errors import ChildFailed
from drumline.sdk.secret import WORD, settled
from drumline.worker.executors.executor import ExecutorCall
from drumline.worker.failures import ExecutorFailure, failure, refusal

DOC: Final = """Run another task for each item of a list, and give back the list of their results.

The tasks are children: while they run, the map takes no slot. If one of them fails, the map does, once all have ended.
"""
SCHEMA: Final[dict[str, object]] = {
    "title": MAP,
    "type": "object",
    "properties": {
        "items": {"description": f"The list, often the result of another task; at most {MOST_ITEMS:,} items."},
        "each": {
            "type": "object",
            "description": "The task of each item, as it would be submitted: a name, and whatever else is to be said.",
            "properties": {"name": {"type": "string", "pattern": LINE_PATTERN, "maxLength": LONGEST_NAME}},
            "required": ["name"],
        },
        "into": {
            "type": ["string", "null"],
            "minLength": 1,
            "maxLength": 255,
            "description": "Where in the payload of `each` the item goes; without it the item is the payload.",
        },
        "window": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_ITEMS,
            "default": WINDOW,
            "description": "How many of the tasks have not ended at the same time.",
        },
    },
    "required": ["items", "each"],
    "additionalProperties": False,
}
_KINDS: Final = {b"{": "an object", b'"': "a text", b"t": "true", b"f": "false", b"n": "null"}


class _NoApp:
    """Stands for the app of the tasks: hooks see what a program submits, and this is a worker."""

    hooks = AppHooks()


class _ItemCall(Struct, frozen=True):
    """`sdk.children.Startable`: the task of one item."""

    request: TaskRequest
    app: HasHooks = _NoApp()


class MapExecutor:
    """Starts a child for each item, waits for all, and returns their results in the order of the items."""

    def __init__(self) -> None:
        self.type: TaskType = TaskType(name=MAP, doc=DOC, schema=SCHEMA)

    async def execute(self, call: ExecutorCall) -> Any:
        """Start what is not started yet; the attempt ends here while children are waited for."""
        payload = call.payload_as(MapPayload)
        try:
            items = _MappedItems(payload, has_secrets=call.has_secrets)
            outcomes = await arun_steps(_in_steps(items, payload.window), call.durable_calls())
        except Invalid as error:
            raise refusal(error) from error
        failed = [(place, each) for place, each in enumerate(outcomes) if isinstance(each, ChildFailed)]
        if failed:
            raise _failure(failed, len(outcomes))
        return outcomes


def _in_steps(items: "_MappedItems", window: int) -> Generator[ChildOperation, Any, list[Any]]:
    """Yield what has to be done, and return the results; in the place of one that failed is its error."""
    name = items.each.name
    if len(items) and (yield find(name, ITEMS_KEY)) is None:
        ran = yield Run()
        yield Save(name=name, key=ITEMS_KEY, value=Raw(encode(len(items))), tries=1, took_ms=round(ran.seconds * 1000))
    calls = LazyCalls(len(items), items.call_at, lambda _: _as_it_is)
    return (yield from group_in_steps(name, "", calls, on_end=on_end_of("cancel"), window=window, keep_errors=True))


class _MappedItems:
    """The items of a map, each as the payload of a task."""

    def __init__(self, payload: MapPayload, *, has_secrets: bool) -> None:
        self.each = decode(bytes(payload.each), TaskRequest, field="payload.each")
        self._into = payload.into
        self._has_secrets = has_secrets
        self._items, self._is_data = _items_of(payload.items, has_secrets=has_secrets)
        if len(self._items) > MOST_ITEMS:
            raise Invalid(f"has {len(self._items):,} items; at most {MOST_ITEMS:,} are accepted", field="payload.items")
        if payload.into is None:
            if self.each.payload != EMPTY_PAYLOAD:
                raise Invalid("must say where in each.payload the item goes", field="payload.into")
            return
        self._given = decode(bytes(self.each.payload), dict[str, Raw], field="payload.each.payload")
        if payload.into in self._given:
            raise Invalid(f"{payload.into!r} is in each.payload already", field="payload.into")

    def __len__(self) -> int:
        return len(self._items)

    def call_at(self, place: int) -> _ItemCall:
        """Return the task of one item."""
        item = self._items[place]
        if self._is_data:
            item = Raw(encode({LITERAL: item}))
        written = bytes(item) if self._into is None else encode({**self._given, self._into: item})
        # References to secrets are passed on, and filled in where the child runs. Data must not be able to name one.
        if not self._has_secrets and WORD in written:
            written = settled(written)
        return _ItemCall(replace(self.each, payload=Raw(written)))


def _items_of(items: Raw, *, has_secrets: bool) -> tuple[list[Raw], bool]:
    """Return the items, and whether they are the result of a task, marked as data beside references to secrets."""
    is_data = False
    if has_secrets and bytes(items).lstrip()[:1] == b"{":
        marked = decode(bytes(items), dict[str, Raw], field="payload.items")
        if is_data := list(marked) == [LITERAL]:
            items = marked[LITERAL]
    first = bytes(items).lstrip()[:1]
    if first != b"[":
        kind = _KINDS.get(first, "a number")
        raise Invalid(f"must be a list, and is {kind}: a map needs a result that is a list", field="payload.items")
    return decode(bytes(items), list[Raw], field="payload.items"), is_data


def _as_it_is(result: Raw) -> Raw:
    return result


def _failure(failed: list[tuple[int, ChildFailed]], total: int) -> ExecutorFailure:
    """Return the failure of a map; its tasks had retries of their own, so it is not tried again by itself."""
    place, first = failed[0]
    why = f": {first.kind}: {first.remote_message}" if first.kind else ""
    how = "was cancelled" if first.state == "cancelled" else first.state
    what = f"item {place} (task {first.child}) {how}{why}"
    if len(failed) > 1:
        what = f"{len(failed):,} of {total:,} items failed; the first: {what}"
    return failure("ItemFailed", what, permanent=True)
