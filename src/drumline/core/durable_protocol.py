"""The messages of the worker protocol about durable tasks (docs/reference/worker-protocol.md).

As in `core.protocol`: a server refuses what it does not know in a request, a worker ignores what it does not know in an
answer. Times are UTC, durations seconds.
"""

from datetime import datetime
from typing import Annotated, ClassVar, Final, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, convert

from drumline.core.clock import Instant, moment_of, to_instant
from drumline.core.durable import (
    LONGEST_RECORD_NAME,
    LONGEST_WAIT_MS,
    MOST_PENDING,
    NOTHING,
    Answered,
    NewRecord,
    RecordStatus,
    RestartRequest,
    Wait,
    WaitKind,
    WaitRequest,
)
from drumline.core.errors import Invalid
from drumline.core.field_schema import LINE_PATTERN, Schema, about, given, moment
from drumline.core.lease import Lease
from drumline.core.problem import Problem
from drumline.core.protocol import LeaseBody, StateWord, lease_body, lease_of
from drumline.core.record_body import RecordBody, record_body, record_of

_STATUSES: Final = {status.word: status for status in RecordStatus}
_WAITS: Final = {kind.word: kind for kind in WaitKind}

WaitWord = Annotated[str, Meta(extra_json_schema={"enum": list(_WAITS)})]
_STATUS_WORDS: Final[dict[RecordStatus, Literal["tried", "done", "failed"]]] = {
    RecordStatus.TRIED: "tried", RecordStatus.DONE: "done", RecordStatus.FAILED: "failed",
}  # fmt: skip
WaitName = Literal["sleep", "signal", "call", "group", "first", "retry", "person", "window"]
_WAIT_WORDS: Final[dict[WaitKind, WaitName]] = {
    WaitKind.SLEEP: "sleep", WaitKind.SIGNAL: "signal", WaitKind.CALL: "call", WaitKind.GROUP: "group",
    WaitKind.FIRST: "first", WaitKind.RETRY: "retry", WaitKind.PERSON: "person", WaitKind.WINDOW: "window",
}  # fmt: skip
_LONGEST: Final = LONGEST_WAIT_MS / 1000
RecordName = Annotated[str, Meta(max_length=LONGEST_RECORD_NAME, pattern=LINE_PATTERN)]
Key = Annotated[str, Meta(max_length=LONGEST_RECORD_NAME, pattern=f"^$|{LINE_PATTERN}")]
_Seconds = Annotated[float, Meta(ge=0, le=_LONGEST)]
_Tries = Annotated[int, Meta(ge=1, le=1_000_000)]


class NewRecordBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A record to keep, under the lease of a task that runs.

    With `tried` it is no record yet: a step has failed, and will be tried again after `delay`.
    """

    lease: LeaseBody
    name: RecordName
    key: Key = ""
    status: Literal["tried", "done", "failed"] = "done"
    value: Raw = NOTHING
    tries: _Tries = 1
    took: _Seconds = 0.0
    delay: _Seconds = 0.0


class RecordRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Records to keep. What is recorded under a name stays: sent again, the first one is the answer."""

    records: list[NewRecordBody]


class RawRecordRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Records to keep, as they come."""

    records: Raw


class RecordedBody(Struct, frozen=True, kw_only=True):
    """What is recorded under the name; or why nothing is, mostly `fenced`: another attempt owns the task."""

    record: RecordBody | UnsetType = UNSET
    error: Problem | UnsetType = UNSET


class RecordAnswers(Struct, frozen=True):
    """The answers to records, in their order."""

    records: list[RecordedBody]


class RecordPageRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The lease of a task whose records are wanted, and the `seq` of the last one that is known."""

    lease: LeaseBody
    after: Annotated[int, Meta(ge=0, le=(1 << 31) - 1)] = 0


class WaitBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something to wait for: `delay` from the first time on, or `until`.

    A `sleep` leaves a record, and so does a `signal`, whose `name` is that of the signal. A `retry` is the wait for the
    next try of a step. With `person` the task waits until somebody reschedules it. A `call` waits for the child that
    was started under the name, a `group` for all of them and `first` for the first that completes; a `window` leaves no
    record, and waits until at most `pending` of them have not ended.
    """

    SCHEMA: ClassVar[Schema] = {
        "allOf": [
            {
                "anyOf": [
                    given("delay"),
                    given("until"),
                    {"properties": {"kind": {"enum": ["signal", "person", "call", "group", "first", "window"]}}},
                ]
            },
            {"not": {"allOf": [given("delay"), given("until")]}},
            {"anyOf": [{"properties": {"pending": {"const": 0}}}, {"properties": {"kind": {"const": "window"}}}]},
        ]
    }

    kind: WaitName
    name: RecordName
    key: Key = ""
    delay: Annotated[float | None, about(minimum=0, maximum=_LONGEST)] = None
    until: Annotated[datetime | None, moment("Wait until this time; not together with delay.")] = None
    reason: Annotated[str, Meta(max_length=4000)] = ""
    correlation: Annotated[str, Meta(max_length=LONGEST_RECORD_NAME, pattern=LINE_PATTERN)] | None = None
    """The key of signals that were sent to no task in particular, and may answer it too."""
    schema: Annotated[
        Raw | UnsetType,
        about("With `signal`: the JSON Schema of the payload that is expected, at most 16 KiB.", type="object"),
    ] = UNSET
    pending: Annotated[int, Meta(ge=0, lt=MOST_PENDING)] = 0
    """With `window`: how many children may be left that have not ended."""


class WaitRequestBody(Struct, frozen=True, forbid_unknown_fields=True):
    """All that an attempt waits for. If nothing of it is there, the attempt ends; the task runs again when it is."""

    lease: LeaseBody
    waits: Annotated[list[WaitBody], about(minItems=1, maxItems=1000)]


class RestartBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The end of a round: the task is queued with another payload and without records. Not for tasks of jobs."""

    lease: LeaseBody
    payload: Annotated[Raw, about("The payload of the next round: its arguments.")]


class RestartedBody(Struct, frozen=True, kw_only=True):
    """The task's state: `queued`, or `cancelled` if that was asked for. The attempt has ended, report nothing more."""

    state: StateWord


class AnswerBody(Struct, frozen=True, kw_only=True):
    """What is there of what was waited for, by its place in the request; a `retry` leaves no record."""

    place: int
    record: RecordBody | None = None


class WaitedBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Either answers, and the attempt goes on; or the task's state: the attempt has ended, report nothing more."""

    answers: list[AnswerBody] = []
    state: StateWord | UnsetType = UNSET


def new_record_body(new: NewRecord) -> NewRecordBody:
    """Return a new record as JSON carries it."""
    return NewRecordBody(
        lease=lease_body(new.lease), name=new.name, key=new.key, status=_STATUS_WORDS[new.status], value=new.value,
        tries=new.tries, took=new.took_ms / 1000, delay=new.delay_ms / 1000,
    )  # fmt: skip


def new_record_of(body: NewRecordBody, *, field: str) -> NewRecord:
    """Return a new record behind its JSON form, or raise `Invalid`."""
    return NewRecord(
        lease=lease_of(body.lease, field=f"{field}.lease"), name=body.name, key=body.key,
        status=_STATUSES[body.status],
        value=body.value, tries=body.tries, took_ms=round(body.took * 1000), delay_ms=round(body.delay * 1000),
    )  # fmt: skip


def wait_request_body(request: WaitRequest) -> WaitRequestBody:
    """Return what an attempt waits for as JSON carries it."""
    return WaitRequestBody(lease_body(request.lease), [_wait_body(wait) for wait in request.waits])


def wait_request_of(body: WaitRequestBody) -> WaitRequest:
    """Return what an attempt waits for behind its JSON form, or raise `Invalid`."""
    waits = tuple(_wait_of(wait, field=f"waits[{number}]") for number, wait in enumerate(body.waits))
    return WaitRequest(lease=lease_of(body.lease, field="lease"), waits=waits)


def answered_body(answered: Answered) -> WaitedBody:
    """Return answers as JSON carries them."""
    return WaitedBody(
        answers=[
            AnswerBody(place=place, record=None if record is None else record_body(record))
            for place, record in answered.answers
        ]
    )


def answered_of(body: WaitedBody) -> Answered:
    """Return answers as a worker knows them."""
    return Answered(
        tuple((each.place, None if each.record is None else record_of(each.record)) for each in body.answers)
    )


def restart_body(request: RestartRequest) -> RestartBody:
    """Return the end of a round as JSON carries it."""
    return RestartBody(lease_body(request.lease), request.payload)


def restart_of(body: RestartBody) -> RestartRequest:
    """Return the end of a round behind its JSON form, or raise `Invalid`."""
    return RestartRequest(lease=lease_of(body.lease, field="lease"), payload=body.payload)


def page_request(lease: Lease, after: int) -> RecordPageRequest:
    """Return the request for a page of records."""
    return RecordPageRequest(lease_body(lease), after)


def _wait_body(wait: Wait) -> WaitBody:
    return WaitBody(
        kind=_WAIT_WORDS[wait.kind], name=wait.name, key=wait.key, reason=wait.reason,
        correlation=wait.correlation, pending=wait.pending,
        schema=UNSET if wait.schema is None else Raw(wait.schema.encode()),
        delay=None if wait.delay_ms is None else wait.delay_ms / 1000,
        until=None if wait.until is None else convert(moment_of(wait.until), datetime),
    )  # fmt: skip


def _wait_of(body: WaitBody, *, field: str) -> Wait:
    if body.delay is not None and not 0 <= body.delay <= _LONGEST:
        raise Invalid("must be from 0 to 3,660 days", field=f"{field}.delay")
    until: Instant | None = None if body.until is None else to_instant(body.until, field=f"{field}.until")
    return Wait(
        kind=_WAITS[body.kind], name=body.name, key=body.key, reason=body.reason, until=until,
        correlation=body.correlation, pending=body.pending,
        schema=None if body.schema is UNSET else bytes(body.schema).decode("utf-8", "replace"),
        delay_ms=None if body.delay is None else round(body.delay * 1000),
    )  # fmt: skip
