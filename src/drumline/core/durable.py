"""Durable tasks: named records of what a task has done, and what it waits for.

After a crash, a wait or a retry a task's function runs from its first line; a call whose name is recorded returns its
record. A record is written under the task's current lease and never changes. What has to be waited for is kept as a
row, and the attempt ends: the next one begins when there may be an answer.
"""

from enum import IntEnum
from typing import Final

from msgspec import Raw, Struct

from drumline.core.clock import LATEST, Instant
from drumline.core.errors import Invalid
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.names import check_text

LONGEST_RECORD_NAME: Final = 255
MOST_WAITS: Final = 1000
"""Things that one attempt waits for at the same time."""
LONGEST_WAIT_MS: Final = 3660 * 86_400_000
"""About ten years."""
NOTHING: Final = Raw(b"null")


class RecordKind(IntEnum):
    """What a record is of. The numbers are stored: never reuse one."""

    STEP = 1
    SLEEP = 2
    SIGNAL = 3

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
    RETRY = 20
    """The time of the next try of a step."""
    PERSON = 21
    """A person: a record cannot be read by the code as it is now."""

    @property
    def word(self) -> str:
        """The kind as people read it."""
        return self.name.lower()


RECORD_OF: Final = {WaitKind.SLEEP: RecordKind.SLEEP, WaitKind.SIGNAL: RecordKind.SIGNAL}
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


class StepsView(Struct, frozen=True, kw_only=True):
    """The records of a task, a page of them, and what it waits for."""

    task: TaskId
    page: RecordPage
    waits: tuple[WaitView, ...] = ()


def check_record_name(name: str, key: str, *, field: str = "") -> None:
    """Raise `Invalid` for a name or key that no record can have."""
    check_text(name, field=f"{field}name", longest=LONGEST_RECORD_NAME)
    if key:
        check_text(key, field=f"{field}key", longest=LONGEST_RECORD_NAME)


def check_wait(wait: Wait, *, field: str = "") -> Wait:
    """Return a wait, or raise `Invalid` naming what is wrong with it."""
    check_record_name(wait.name, wait.key, field=field)
    if wait.correlation is not None:
        check_text(wait.correlation, field=f"{field}correlation", longest=LONGEST_RECORD_NAME)
    if wait.delay_ms is not None and wait.until is not None:
        raise Invalid("cannot be given together with until", field=f"{field}delay")
    if wait.delay_ms is not None and not 0 <= wait.delay_ms <= LONGEST_WAIT_MS:
        raise Invalid("must be from 0 to 3,660 days", field=f"{field}delay")
    if wait.until is not None and not 0 <= wait.until < LATEST:
        raise Invalid("must be between the years 1970 and 9999", field=f"{field}until")
    if wait.kind in {WaitKind.SLEEP, WaitKind.RETRY} and wait.delay_ms is None and wait.until is None:
        raise Invalid("must have a delay or a time", field=f"{field}until")
    return wait
