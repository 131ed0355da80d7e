"""Signals by correlation over several shards: part of the store, with its general promises (`ports/store.py`).

A signal is kept in the shard of its key. A task that waits for it is *registered* in every shard, and marked as
registered in its own. Where both are, the signal is *given* to the task that came first: nobody else takes it. The task
is told, in its own shard, and decides once for each giving: it *takes* the signal, which is its record then, or
*refuses* it, since it does not wait any more. The shard of the signal is told, and gives a refused one to the next. Any
process may do each step, any number of times.
"""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from msgspec import Raw, Struct

from drumline.core.ids import TaskId
from drumline.ports.changed import Changed


class KeyWait(Struct, frozen=True, kw_only=True):
    """A task that waits for a signal by a key."""

    task: TaskId
    tenant: str
    name: str
    key: str
    version: int = 0
    """How often its registration was undone."""


class SignalWatch(Struct, frozen=True, kw_only=True):
    """The registration of a task."""

    number: int
    """Its place in the order of all of its store."""
    version: int
    task: TaskId
    tenant: str
    name: str
    key: str


class GivenSignal(Struct, frozen=True, kw_only=True):
    """A signal that is given to a task."""

    number: int
    """Its place in the order of all of its store."""
    no: int
    """How often it was given by now."""
    watch: int
    """The version of the registration of the task."""
    task: TaskId
    tenant: str
    name: str
    key: str
    id: str
    payload: Raw


class Answer(Enum):
    """What a task says to a signal that it is given."""

    TAKEN = "taken"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """There is no such task here."""


class Decided(NamedTuple):
    """The answer of a task, and the task if it has become due."""

    answer: Answer
    woken: tuple[Changed, ...] = ()


class SignalExchange(Protocol):
    """Signals by correlation between shards."""

    async def unregistered(self, *, number: int, limit: int, after: TaskId | None = None) -> list[KeyWait]:
        """Return waits of queued tasks of this store that are not registered by a map of this number."""
        ...

    async def register(self, waits: Sequence[KeyWait]) -> None:
        """Let this store know of waits, and give what it has for them; the same wait again is another version."""
        ...

    async def mark_registered(self, waits: Sequence[KeyWait], *, number: int) -> None:
        """Mark waits of this store; one whose registration was undone since stays unregistered."""
        ...

    async def give_left(self, *, older_than_ms: int, limit: int) -> int:
        """Give signals that tasks of this store have left though it is their turn; return of how many keys."""
        ...

    async def given(self, *, limit: int, after: int = 0) -> list[GivenSignal]:
        """Return signals of this store whose tasks have to be told, in their order, above a number."""
        ...

    async def decide(self, given: Sequence[GivenSignal]) -> list[Decided]:
        """Let tasks of this store say whether they take signals; the same giving gets the same answer.

        A task that is parked and waits for the signal takes it: the record is written, and the task is due. Each
        other refuses, and has to be registered anew if it waits.
        """
        ...

    async def settle(self, given: Sequence[GivenSignal], answers: Sequence[Answer]) -> tuple[Changed, ...]:
        """Note what tasks said to signals of this store: a refused one is given to the next. Return tasks that woke."""
        ...

    async def watches(self, *, older_than_ms: int, limit: int, after: int = 0) -> list[SignalWatch]:
        """Return registrations of some age, in their order, above a number."""
        ...

    async def waiting(self, watches: Sequence[SignalWatch]) -> list[bool]:
        """Tell which tasks of this store still wait for what they are registered for."""
        ...

    async def drop(self, watches: Sequence[SignalWatch]) -> None:
        """Forget registrations in this store, but for those that were made anew."""
        ...
