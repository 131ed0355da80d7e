"""The contract between the parts of a store and its database.

A part runs named statements, alone or in a transaction, and never sees a connection. PostgreSQL answers over the
network; SQLite runs the same code in its writer thread, where no `await` ever waits.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from drumline.core.clock import Clock, Instant
from drumline.core.codec import encode
from drumline.core.event import Fact
from drumline.core.ids import TaskId
from drumline.core.state import Act, State
from drumline.core.task import Lane

T = TypeVar("T")

ABOVE_ALL: Final = "ffffffff-ffff-ffff-ffff-ffffffffffff"
"""Above every id: where a list that goes from the newest down begins."""
BELOW_ALL: Final = "00000000-0000-0000-0000-000000000000"
"""An id below every task's."""

Rows: TypeAlias = list[Any]
"""Each row can be unpacked and indexed."""


class Line(StrEnum):
    """Kinds of work that must not wait for one another: on PostgreSQL each has connections of its own."""

    __hash__ = str.__hash__  # an enumeration's own is written in Python

    SUBMIT = "submit"
    CLAIM = "claim"
    SETTLE = "settle"  # and heartbeats: a slow claim must not let a lease expire
    FIRE = "fire"  # schedules, which must fire on time
    REQUEST = "desk"  # single requests of people and programs, logs and files; the value is a label of metrics
    EVENTS = "events"  # long pages of the event log
    SWEEP = "sweep"  # reads of queued tasks by index, to refill the queue
    PRUNE = "prune"  # deletes by the thousand, planned like claims: rows are found by key only
    BROAD = "broad"  # statements that read much: reap, counts, lists


class TaskEvent(NamedTuple):
    """A change of a task, as it goes into the outbox."""

    task: TaskId
    act: Act
    state: State
    epoch: int


class Transaction(Protocol):
    """Statements that are committed together or not at all."""

    async def fetch(self, name: str, /, **values: Any) -> Rows:
        """Run a statement."""
        ...

    async def tell(self, events: Sequence[TaskEvent], *, now: Instant | None) -> None:
        """Write changes of tasks into the outbox."""
        ...


class RowVanished(Exception):
    """A row that a statement has just met was deleted by others before the next could read it."""


Work: TypeAlias = Callable[[Transaction], Awaitable[T]]


class Database(Protocol):
    """Runs statements by name. `Unavailable` is raised when the database cannot be reached."""

    async def fetch(
        self, line: Line, name: str, /, *, repeat: bool = False, within: str | None = None, **values: Any
    ) -> Rows:
        """Run one statement, which is a transaction of its own. `repeat` and `within` as in `transact`."""
        ...

    async def transact(self, line: Line, work: Work[T], *, repeat: bool = False, within: str | None = None) -> T:
        """Run `work` in one transaction; it may run again if nothing of the first try was kept.

        With `repeat` it runs again also when the connection was lost: right only for work that recognises what it
        did the first time. `within` a tenant it sees and changes that tenant's rows only, where the database can
        enforce that.
        """
        ...


class Lanes(Protocol):
    """Lanes by number, as each store remembers them. Inside a transaction, hand it in."""

    async def numbers_in_order(self, lanes: Sequence[Lane], transaction: Transaction | None = None) -> list[int]:
        """Return the number of each lane, giving one to those that are new."""
        ...

    async def lanes(self, numbers: Iterable[int], transaction: Transaction | None = None) -> Mapping[int, Lane]:
        """Return the lanes behind numbers."""
        ...


class Part:
    """The base of the parts of a store. Each works with the database and with a clock, if the store has one."""

    def __init__(self, database: Database, clock: Clock | None, lanes: Lanes) -> None:
        self._database = database
        self._clock = clock
        self._lanes = lanes

    def _now(self) -> Instant | None:
        """Return the time to pass to statements; None lets the database's own clock decide."""
        return None if self._clock is None else self._clock.now()

    async def _time(self) -> Instant:
        """Return the store's time."""
        given = self._now()
        if given is not None:
            return given
        ((now,),) = await self._database.fetch(Line.REQUEST, "now", repeat=True, now=None)
        return Instant(now)


async def tell_facts(transaction: Transaction, facts: Sequence[Fact], *, now: Instant | None) -> None:
    """Write changes of anything but tasks into the outbox, in the transaction that makes them.

    Call it after the rows that changed are written or locked: only then do facts about one subject keep their order.
    """
    if facts:
        await transaction.fetch("insert_facts", facts=encode(facts).decode(), now=now)


def storable(text: str) -> str:
    """Return text without what PostgreSQL cannot store: NUL, and halves of surrogate pairs."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
