"""Records of durable tasks, and what they wait for (`core.durable`)."""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from msgspec import Struct

from drumline.core.durable import (
    Answered,
    NewRecord,
    NewSignal,
    Record,
    RecordPage,
    RestartRequest,
    StepsView,
    WaitKind,
    WaitRequest,
)
from drumline.core.errors import Conflict, Fenced, KeyReused, Moved, NotFound, QuotaExceeded
from drumline.core.ids import TaskId
from drumline.core.limits import DEFAULT_LIMITS
from drumline.ports.changed import Changed
from drumline.ports.execution import Settled

Recorded = Record | Fenced | QuotaExceeded
"""What became of a record: itself, or the one that was there first; or why it was not written."""
Restarted = Settled | Fenced | Conflict
"""What became of the end of a round: the end of its attempt, or why it goes on."""
Waited = Answered | Settled | Fenced | QuotaExceeded
"""What became of a wait: answers, or the end of the attempt; or why neither."""

MOST_SIGNALS: Final = 1000
"""Signals to one task, or by one key, that nobody has taken yet."""
PAGE_BYTES: Final = 256 * 1024
"""Bytes of records in one page; the first of them is there whatever it has."""


class RecordLimits(NamedTuple):
    """How many records a task may have, and how many bytes of them."""

    records: int = DEFAULT_LIMITS.records
    size: int = DEFAULT_LIMITS.record_bytes


DEFAULT_RECORD_LIMITS: Final = RecordLimits()


class Signalled(Struct, frozen=True):
    """A signal that is kept: whether it is new, and the tasks that it woke."""

    created: bool
    woken: tuple[Changed, ...] = ()


SignalAnswer = Signalled | NotFound | Conflict | KeyReused | QuotaExceeded | Moved
"""What became of a signal: it is kept, or why it is not."""


class DurableTasks(Protocol):
    """Keeps what tasks have done and what they wait for."""

    async def record(
        self, records: Sequence[NewRecord], *, limits: RecordLimits = DEFAULT_RECORD_LIMITS
    ) -> list[Recorded]:
        """Write records of current leases, each in the order of its task; a record under one name stays as it was.

        One statement locks the live row where epoch and nonce match, and inserts. A new record makes the failures and
        crashes of its task count anew; one that only says that a step was tried does not. A task has at most as many
        records, and bytes of them, as the limits say.
        """
        ...

    async def wait(self, request: WaitRequest, *, limits: RecordLimits = DEFAULT_RECORD_LIMITS) -> Waited:
        """Answer what an attempt waits for, or else end the attempt until there may be an answer.

        Under the locks of the task and of its lease it is looked whether a wait can be answered: a signal for it is
        there, or its time has come, in this order. Then its record is written, and its row is gone. If none can be
        answered, each wait is kept as a row, whose time is that of the first attempt that waited for it, and the task
        is queued, due at the earliest of them; the attempt does not count. If the cancellation of the task was asked
        for, it ends as cancelled.

        The same request repeated gets the same answer.
        """
        ...

    async def restart(self, request: RestartRequest) -> Restarted:
        """End the round of a task under its current lease: it is queued with another payload and without records.

        In one transaction: the attempt ends, and its task counts attempts, failures and crashes anew; what the round
        was given and has recorded is set aside, and so are its children, which are cancelled by a note unless they are
        to be left alone; what it waited for is forgotten. Signals that no wait has taken stay. If the cancellation of
        the task was asked for, it ends as cancelled. A task of a job is refused (`Conflict`): others wait for its end.

        The same request repeated gets the same answer. Of the rounds that are over the last `KEPT_ROUNDS` are kept.
        """
        ...

    async def wait_all(
        self, requests: Sequence[WaitRequest], *, limits: RecordLimits = DEFAULT_RECORD_LIMITS
    ) -> list[Waited]:
        """Do the same for many attempts; of those that only sleep, many are ended by a few statements."""
        ...

    async def signal(self, signal: NewSignal) -> SignalAnswer:
        """Keep a signal, and make every queued task due that waits for it; an attempt that comes then takes it.

        The same id again changes nothing, also after the signal was taken, until the round that took it is forgotten
        and a day has passed; with another name or payload it is `KeyReused`. A task that has ended takes no new ones:
        `Conflict`. A signal with a key whose slot is not open here, by the entry that it names, is answered by `Moved`
        unless it is kept already.
        """
        ...

    async def known_signal(self, signal: NewSignal) -> Signalled | KeyReused | None:
        """Return the answer for a signal by correlation that is kept already, by its id; None if it is not."""
        ...

    async def pages(self, tasks: Sequence[tuple[TaskId, int]]) -> list[RecordPage]:
        """Return the records of tasks after a place each, all together about `PAGE_BYTES`."""
        ...

    async def count_waiting(self, *, most: int) -> dict[WaitKind, int]:
        """Return how many tasks that are not due wait for something, by its kind, looking at up to `most` waits."""
        ...

    async def steps(
        self, task: TaskId, *, after: int, limit: int, round: int | None = None, tenant: str | None = None
    ) -> StepsView | NotFound:
        """Return the records of a task after a place, in their order, and what it waits for; or those of a round."""
        ...
