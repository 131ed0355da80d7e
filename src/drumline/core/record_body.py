"""Records of durable tasks as JSON carries them, in claims and in answers about them."""

from datetime import datetime
from typing import Annotated, Final

from msgspec import Meta, Raw, Struct, convert

from drumline.core.clock import moment_of, to_instant
from drumline.core.durable import NOTHING, Record, RecordKind, RecordPage, RecordStatus
from drumline.core.views import Moment

_KINDS: Final = {kind.word: kind for kind in RecordKind}
_STATUSES: Final = {status.word: status for status in RecordStatus}

KindWord = Annotated[str, Meta(extra_json_schema={"enum": list(_KINDS)})]
StatusWord = Annotated[str, Meta(extra_json_schema={"enum": list(_STATUSES)})]


class RecordBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a task has done under a name. `value` is the result; with `failed` and `tried` it is the error."""

    name: str
    key: str = ""
    kind: KindWord = "step"
    status: StatusWord = "done"
    value: Raw = NOTHING
    seq: int
    tries: int = 1
    due_at: Moment | None = None
    """With `tried`: when the step is to be tried again."""


class RecordPageBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Records of a task in the order of `seq`, and whether there are more."""

    records: tuple[RecordBody, ...] = ()
    has_more: bool = False


def record_body(record: Record) -> RecordBody:
    """Return a record as JSON carries it."""
    return RecordBody(
        name=record.name, key=record.key, kind=record.kind.word, status=record.status.word, value=record.value,
        seq=record.seq, tries=record.tries, due_at=None if record.due_at is None else moment_of(record.due_at),
    )  # fmt: skip


def record_of(body: RecordBody) -> Record:
    """Return a record as a worker knows it. One of a kind that only a later version knows is one of a step."""
    due_at = None if body.due_at is None else to_instant(convert(body.due_at, datetime), field="due_at")
    return Record(
        name=body.name, key=body.key, kind=_KINDS.get(body.kind, RecordKind.STEP),
        status=_STATUSES.get(body.status, RecordStatus.FAILED), value=Raw(bytes(body.value)), seq=body.seq,
        tries=body.tries, due_at=due_at,
    )  # fmt: skip


def page_body(page: RecordPage) -> RecordPageBody:
    """Return a page of records as JSON carries it."""
    return RecordPageBody(records=tuple(map(record_body, page.records)), has_more=page.has_more)


def page_of(body: RecordPageBody) -> RecordPage:
    """Return a page of records as a worker knows it."""
    return RecordPage(tuple(map(record_of, body.records)), body.has_more)
