"""Heartbeats of workers, and freeing the tasks of dead ones."""

import sqlite3
from collections.abc import Sequence

from drumline.core.clock import Clock, Instant
from drumline.core.dead_letter import POISON
from drumline.core.event import worker_reaped
from drumline.core.ids import SessionId, TaskId
from drumline.core.lease import Lease
from drumline.core.outcome import ErrorInfo
from drumline.core.session import Beat, BeatReply
from drumline.core.state import Act, State
from drumline.ports.store import Hint, Reaped
from drumline.stores.parts.sessions import SessionTables, told_specs
from drumline.stores.sqlite.batches import batch_of, tell_facts
from drumline.stores.sqlite.database import Database
from drumline.stores.sqlite.following import SqliteFollowing
from drumline.stores.sqlite.lanes import Lanes
from drumline.stores.sqlite.settling import Ends, Held, held_by
from drumline.stores.sqlite.statements import SQL


class Sessions(SessionTables):
    """`ports.sessions.Sessions` on SQLite."""

    _database: Database
    _clock: Clock
    _lanes: Lanes

    def __init__(self, database: Database, clock: Clock, lanes: Lanes, following: SqliteFollowing) -> None:
        super().__init__(database, clock, lanes)
        self._following = following

    def _now(self) -> Instant:
        return self._clock.now()

    async def beat(self, beats: Sequence[Beat]) -> list[BeatReply]:
        """Note signs of life, and tell each session which leases it lost and which tasks should stop."""
        return await self._database.write(lambda connection: [self._beat(connection, beat) for beat in beats])

    async def reap(self, dead: Sequence[tuple[SessionId, int]], *, poison_after: int) -> Reaped:
        """Close the sessions whose beat number is still the one given, and free what no live session holds."""
        return await self._database.write(lambda connection: self._reap(connection, dead, poison_after))

    def _close_dead(self, connection: sqlite3.Connection, session: SessionId, beat: int) -> bool:
        """Close a session as dead, if its beat number is still the one observed; return whether it was closed."""
        now = self._now()
        row = connection.execute(SQL["reap_session"], {"session": session, "beat": beat, "now": now}).fetchone()
        if row is not None:
            tell_facts(connection, now, [worker_reaped(session, spec) for spec in told_specs([row])])
        return row is not None

    def _beat(self, connection: sqlite3.Connection, beat: Beat) -> BeatReply:
        held = [lease.task for lease in beat.held]
        row = {
            "session": beat.session,
            "now": self._now(),
            "held": batch_of(held),
            "memory": beat.usage.memory,
            "cpu": beat.usage.cpu,
            "again": beat.again,
        }
        if not connection.execute(SQL["beat"], row).rowcount:
            return BeatReply(is_open=False, lost=tuple(held))
        mine = held_by(connection, beat.held)
        current = {held.place for held in mine if held.session == beat.session}
        (should_drain,) = connection.execute(SQL["session_drains"], {"session": beat.session}).fetchone()
        return BeatReply(
            is_open=True,
            lost=tuple(lease.task for place, lease in enumerate(beat.held) if place not in current),
            cancelled=tuple(beat.held[held.place].task for held in mine if held.cancel_requested),
            should_drain=bool(should_drain),
        )

    def _reap(self, connection: sqlite3.Connection, dead: Sequence[tuple[SessionId, int]], poison_after: int) -> Reaped:
        now = self._now()
        closed = [session for session, beat in dead if self._close_dead(connection, session, beat)]
        ends = Ends(now)
        queued: list[tuple[TaskId, int, Instant]] = []
        poisoned: list[TaskId] = []
        ghosts = 0
        for task, epoch, nonce, is_ghost, *row in connection.execute(SQL["orphans"]).fetchall():
            held = Held(0, *row)
            lease = Lease(TaskId(task), epoch, nonce)
            poison = not is_ghost and held.crashes + 1 >= poison_after and not held.cancel_requested
            error = ErrorInfo(POISON, f"its worker died {held.crashes + 1} times while running it") if poison else None
            act = Act.RELEASE if is_ghost else Act.FAIL if poison else Act.REAP
            state, due_at = ends.end(lease, held, act, error=error)
            ghosts += is_ghost
            if state is State.FAILED:
                poisoned.append(lease.task)
            if due_at is not None:
                queued.append((lease.task, held.lane, due_at))
        ends.write(connection)
        effects = self._following.follow_ends(connection, ends.in_jobs, ends.queued_in_jobs)
        elsewhere = {task for task, _ in effects.moved}
        lanes = self._lanes.lanes_in(connection, [lane for _, lane, _ in queued])
        return Reaped(
            sessions=tuple(closed),
            requeued=tuple(Hint(task, lanes[lane], due_at) for task, lane, due_at in queued if task not in elsewhere),
            poisoned=tuple(poisoned),
            ghosts=ghosts,
            effects=effects,
        )
