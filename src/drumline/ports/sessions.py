"""The registry of workers, and what becomes of the tasks of those that died."""

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from msgspec import Struct

from drumline.core.ids import SessionId, TaskId
from drumline.core.session import Beat, BeatReply, SessionSpec, SessionView
from drumline.ports.hint import NO_EFFECTS, Effects, Hint


class Reaped(Struct, frozen=True, kw_only=True):
    """What a reap did: sessions closed, tasks queued again, tasks failed as poison, ghosts given back."""

    sessions: tuple[SessionId, ...] = ()
    requeued: tuple[Hint, ...] = ()
    poisoned: tuple[TaskId, ...] = ()
    ghosts: int = 0
    effects: Effects = NO_EFFECTS


class Left(Enum):
    """What became of a session that wanted to leave because it was asked to drain."""

    CLOSED = "closed"
    """It is closed: now, or in order before."""
    KEPT = "kept"
    """It is open: it is not asked to drain any more."""
    NOT_OPEN = "not open"
    """It was reaped, or never opened."""


class Sessions(Protocol):
    """The registry of workers."""

    async def open_session(self, session: SessionId, spec: SessionSpec) -> None:
        """Register a worker under an id that was never used before, and publish the types of tasks that it runs."""
        ...

    async def ensure_session(self, session: SessionId, spec: SessionSpec) -> bool:
        """Register a worker that has a session elsewhere, or open its session again; tell whether it is open now.

        A session that was reaped is opened again with a higher beat number, so that no reaper that has watched the old
        number closes it; what it held before is released. One that was closed in order stays closed.
        """
        ...

    async def beat(self, beats: Sequence[Beat]) -> list[BeatReply]:
        """Note signs of life, and tell each session which leases it lost and which tasks should stop.

        What the last beat says of the worker's usage is kept, also that it is not known: no older figure is shown.
        """
        ...

    async def change_session(self, session: SessionId, *, queues: Sequence[str], capacity: int) -> None:
        """Note what a worker serves from now on, and how much; one that is not open is left as it is."""
        ...

    async def pause_in_session(self, session: SessionId, *, names: Sequence[str]) -> None:
        """Note which task names a worker is not handed; one that is not open is left as it is."""
        ...

    async def drain_session(self, session: SessionId) -> None:
        """Ask a worker to finish what it holds and take nothing more; raises `NotFound`."""
        ...

    async def undrain_session(self, session: SessionId) -> None:
        """Let a worker that was asked to drain go on; one that was not asked goes on anyway.

        From now on `leave_session` does not close it. Raises `Conflict` if it has left already, and `NotFound` if it is
        unknown or was reaped.
        """
        ...

    async def leave_session(self, session: SessionId) -> Left:
        """Close a session that was asked to drain, unless that was undone; asked again, it answers the same."""
        ...

    async def close_session(self, session: SessionId) -> None:
        """Note that a worker has left in order."""
        ...

    async def sessions(
        self, *, closed: bool = False, tenant: str | None = None, only: SessionId | None = None
    ) -> list[SessionView]:
        """Return the open sessions, and with `closed` those that ended lately too; of a tenant, those that serve it.

        With `only` just that one is looked for.
        """
        ...

    async def session_specs(self, sessions: Sequence[SessionId]) -> list[SessionSpec | None]:
        """Return what each of these sessions can run; None for one that is not open."""
        ...

    async def beat_numbers(self) -> dict[SessionId, int]:
        """Return the beat number of every open session."""
        ...

    async def reap(self, dead: Sequence[tuple[SessionId, int]], *, poison_after: int) -> Reaped:
        """Close the sessions whose beat number is still the one given, and free what no live session holds.

        Running tasks of sessions that died are queued again with one crash more, or failed as poison when that
        makes `poison_after`. Tasks that a session closed in order without settling, and tasks that an open session
        was given but did not list in its last beat although it has beaten twice since, are released without
        counting: their claim's answer was lost.
        """
        ...
