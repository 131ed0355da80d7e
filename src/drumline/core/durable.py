"""Durable tasks: named records of what a task has done, and what it waits for.

After a crash, a wait or a retry a task's function runs from its first line; a call whose name is recorded returns its
record. A record is written under the task's current lease and never changes. What has to be waited for is kept as a
row, and the attempt ends: the next one begins when there may be an answer.
"""

from enum import IntEnum
from typing import Final

from msgspec import Raw, Struct

from drumline.core.clock import LATEST, Instant
from drumline.core.codec import read_json
from drumline.core.errors import Invalid
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.names import check_text

LONGEST_RECORD_NAME: Final = 255
MOST_WAITS: Final = 1000
"""Things that one attempt waits for at the same time."""
LARGEST_WAIT_SCHEMA: Final = 16 * 1024
"""Bytes of JSON that tell what a wait expects."""
MOST_PENDING: Final = 1_000_000
"""Children that one wait counts."""
LONGEST_WAIT_MS: Final = 3660 * 86_400_000
"""About ten years."""
KEPT_ROUNDS: Final = 20
"""Rounds of a task that are over and are kept, with what belongs to them; earlier ones are forgotten."""
SIGNAL_REPEATED_MS: Final = 86_400_000
"""For how long a signal that a forgotten round has taken is known, when its sender repeats it."""
KEPT_SIGNALS: Final = 10_000
"""Signals of one task that were taken and are kept for that, but for those of rounds that are kept."""
NOTHING: Final = Raw(b"null")


class RecordKind(IntEnum):
    """What a record is of. The numbers are stored: never reuse one."""

    STEP = 1
    SLEEP = 2
    SIGNAL = 3
    CALL = 4
    """The outcome of a child."""
    GROUP = 5
    """How many children ended, and how many of them badly."""
    FIRST = 6
    """The result of the first of several children that completed."""

    @property
    def word(self) -> str:
        """The kind as people read it."""
        return self.name.lower()


class RecordStatus(IntEnum):
    """What became of what a record is about. The numbers are stored: never reuse one."""

    TRIED = 0
    """A step failed and will be tried again: no record yet, but how often it was tried."""
    DONE = 1
    FAILED = 2
    """A step has failed for good, by its own retries: its error is the record."""
    TIMED_OUT = 3
    """A wait for a signal is over, and none came."""

    @property
    def word(self) -> str:
        """The status as people read it."""
        return self.name.lower()


class WaitKind(IntEnum):
    """What a task waits for. The numbers are stored: never reuse one."""

    SLEEP = 2
    SIGNAL = 3
    CALL = 4
    """The end of a child."""
    GROUP = 5
    """The ends of all children under a name."""
    FIRST = 6
    """The first of several children that completes."""
    RETRY = 20
    """The time of the next try of a step."""
    PERSON = 21
    """A person: a record cannot be read by the code as it is now."""
    WINDOW = 22
    """The end of some of the children under a name, so that others can be started."""

    @property
    def word(self) -> str:
        """The kind as people read it."""
        return self.name.lower()


CHILD_KINDS: Final = frozenset({WaitKind.CALL, WaitKind.GROUP, WaitKind.FIRST, WaitKind.WINDOW})
"""The waits that are answered by ends of children."""
RECORD_OF: Final = {
    WaitKind.SLEEP: RecordKind.SLEEP, WaitKind.SIGNAL: RecordKind.SIGNAL, WaitKind.CALL: RecordKind.CALL,
    WaitKind.GROUP: RecordKind.GROUP, WaitKind.FIRST: RecordKind.FIRST,
}  # fmt: skip
"""The kind of record that an answered wait leaves; waits of the other kinds leave none."""


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a task has done under a name: its result, or the error of a step that failed."""

    name: str
    key: str = ""
    kind: RecordKind = RecordKind.STEP
    status: RecordStatus = RecordStatus.DONE
    value: Raw = NOTHING
    """JSON: the result, or an `ErrorInfo`."""
    seq: int = 0
    """Its place among the records of its task, counted from 1."""
    tries: int = 1
    started_at: Instant | None = None
    at: Instant = Instant(0)
    due_at: Instant | None = None
    """When a step is tried again."""


class RecordPage(Struct, frozen=True, omit_defaults=True):
    """Some records of a task in their order, and whether there are others after them."""

    records: tuple[Record, ...] = ()
    has_more: bool = False


NO_RECORDS: Final = RecordPage()


class NewRecord(Struct, frozen=True, kw_only=True):
    """A record as its attempt reports it."""

    lease: Lease
    name: str
    key: str = ""
    status: RecordStatus = RecordStatus.DONE
    value: Raw = NOTHING
    tries: int = 1
    took_ms: int = 0
    """How long the step took."""
    delay_ms: int = 0
    """With `TRIED`: how far from now the next try is."""


class Wait(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that an attempt waits for. The time counts from the first attempt that waited for it."""

    kind: WaitKind
    name: str
    key: str = ""
    delay_ms: int | None = None
    """How long at most, from the first time on."""
    until: Instant | None = None
    """Until when at most."""
    reason: str = ""
    """With `PERSON`: what is wrong."""
    correlation: str | None = None
    """With `SIGNAL`: the key of signals that are sent to no task in particular, and may answer it too."""
    schema: str | None = None
    """With `SIGNAL`: the JSON Schema of the payload that is expected, as JSON; people are shown a form for it."""
    pending: int = 0
    """With `WINDOW`: how many children may be left that have not ended."""


class WaitRequest(Struct, frozen=True, kw_only=True):
    """An attempt has nothing to do but wait: answer it, or end it until there may be an answer."""

    lease: Lease
    waits: tuple[Wait, ...]


class Answered(Struct, frozen=True):
    """Some of what an attempt waits for is there: the attempt goes on.

    Each is named by its place in the request; a wait that leaves no record has none.
    """

    answers: tuple[tuple[int, Record | None], ...]


class WaitView(Struct, frozen=True, kw_only=True):
    """What a task waits for, for people."""

    kind: WaitKind
    name: str
    key: str
    since: Instant
    until: Instant | None
    reason: str = ""
    epoch: int = 0
    """The epoch of the last attempt that waited for it."""
    schema: str | None = None
    """The JSON Schema of the payload of the signal that is expected, as JSON."""
    pending: int | None = None
    """With a wait for children: how many of them have not ended."""
    children: tuple[TaskId, ...] = ()
    """Some of those."""


class NewSignal(Struct, frozen=True, kw_only=True):
    """A signal on its way into the store: to a task, or by a key to whichever task of the tenant takes it first."""

    id: str
    """The sender's: the same signal sent twice is kept once."""
    name: str
    payload: Raw = NOTHING
    task: TaskId | None = None
    key: str = ""
    tenant: str | None = None
    """Whose tasks it may reach; None means every tenant's, which only a signal to a task may be."""
    slot_version: int = 0
    """The entry of the map by which a signal with a key is placed."""


class RestartRequest(Struct, frozen=True, kw_only=True):
    """An attempt ends the round of its task: the next one begins with another payload, and without records."""

    lease: Lease
    payload: Raw


class RoundView(Struct, frozen=True, kw_only=True):
    """A round of a task that is over."""

    round: int
    """Counted from 1."""
    ended_at: Instant
    records: int


class StepsView(Struct, frozen=True, kw_only=True):
    """The records of a round of a task, a page of them, and what the task waits for."""

    task: TaskId
    page: RecordPage
    waits: tuple[WaitView, ...] = ()
    round: int = 1
    """The round that the records are of; only the last one waits for anything."""
    rounds: tuple[RoundView, ...] = ()
    """The rounds that are over and are kept, in their order."""
    payload: Raw | None = None
    """What the round was given, if it is over."""


def check_record_name(name: str, key: str, *, field: str = "") -> None:
    """Raise `Invalid` for a name or key that no record can have."""
    check_text(name, field=f"{field}name", longest=LONGEST_RECORD_NAME)
    if key:
        check_text(key, field=f"{field}key", longest=LONGEST_RECORD_NAME)


def check_wait(wait: Wait, *, field: str = "") -> Wait:
    """Return a wait, or raise `Invalid` naming what is wrong with it."""
    check_record_name(wait.name, wait.key, field=field)
    _check_signal(wait, field=field)
    if wait.delay_ms is not None and wait.until is not None:
        raise Invalid("cannot be given together with until", field=f"{field}delay")
    if wait.delay_ms is not None and not 0 <= wait.delay_ms <= LONGEST_WAIT_MS:
        raise Invalid("must be from 0 to 3,660 days", field=f"{field}delay")
    if wait.until is not None and not 0 <= wait.until < LATEST:
        raise Invalid("must be between the years 1970 and 9999", field=f"{field}until")
    if wait.kind in {WaitKind.SLEEP, WaitKind.RETRY} and wait.delay_ms is None and wait.until is None:
        raise Invalid("must have a delay or a time", field=f"{field}until")
    if not 0 <= wait.pending < (MOST_PENDING if wait.kind is WaitKind.WINDOW else 1):
        raise Invalid(f"must be from 0 to {MOST_PENDING - 1:,}, and 0 unless it is a window", field=f"{field}pending")
    return wait


def _check_signal(wait: Wait, *, field: str) -> None:
    if wait.correlation is not None:
        check_text(wait.correlation, field=f"{field}correlation", longest=LONGEST_RECORD_NAME)
    if wait.schema is not None:
        _check_schema(wait.schema, field=f"{field}schema")


def _check_schema(schema: str, *, field: str) -> None:
    size = len(schema.encode("utf-8", "surrogatepass"))
    if size > LARGEST_WAIT_SCHEMA:
        raise Invalid(f"has {size:,} bytes of JSON; at most {LARGEST_WAIT_SCHEMA:,} are kept", field=field)
    if not isinstance(read_json(schema.encode("utf-8", "surrogatepass"), field=field), dict):
        raise Invalid("must be an object", field=field)
