"""The registry of workers, and freeing what the dead held."""

import sqlite3
from collections.abc import Sequence

from drumline.aio.threads import off_loop
from drumline.core.clock import Instant
from drumline.core.codec import decode, encode
from drumline.core.dead_letter import POISON
from drumline.core.errors import NotFound
from drumline.core.event import worker_closed, worker_draining, worker_opened, worker_reaped
from drumline.core.ids import SessionId, TaskId, session_text
from drumline.core.lease import Lease
from drumline.core.outcome import ErrorInfo
from drumline.core.session import Beat, BeatReply, SessionSpec, SessionView
from drumline.core.state import Act, State
from drumline.ports.store import Hint, Reaped
from drumline.stores.parts.task_types import publish_types
from drumline.stores.sqlite.access import Access
from drumline.stores.sqlite.batches import batch_of, tell_facts
from drumline.stores.sqlite.database import Statements, finish
from drumline.stores.sqlite.settling import Ends, Held, held_by
from drumline.stores.sqlite.statements import SQL

CLOSED_FOR_MS = 24 * 3_600_000
"""How long a closed session is still shown."""


class Sessions(Access):
    """`ports.store.Sessions` on SQLite."""

    async def open_session(self, session: SessionId, spec: SessionSpec) -> None:
        """Register a worker under an id that was never used before."""
        now = self._now()
        row = (session, encode(spec).decode(), now, now, now)

        def open_(connection: sqlite3.Connection) -> None:
            connection.execute(SQL["open_session"], row)
            finish(publish_types(Statements(connection), spec, now))
            tell_facts(connection, now, [worker_opened(session, spec)])

        await self._database.write(open_)

    async def beat(self, beats: Sequence[Beat]) -> list[BeatReply]:
        """Note signs of life, and tell each session which leases it lost and which tasks should stop."""
        return await self._database.write(lambda connection: [self._beat(connection, beat) for beat in beats])

    async def change_session(self, session: SessionId, *, queues: Sequence[str], capacity: int) -> None:
        """Note what a worker serves from now on, and how much; one that is not open is left as it is."""
        given = {"session": session, "queues": encode(list(queues)).decode(), "capacity": capacity}
        await self._change("change_session", given)

    async def pause_in_session(self, session: SessionId, *, names: Sequence[str]) -> None:
        """Note which task names a worker is not handed; one that is not open is left as it is."""
        await self._change("pause_in_session", {"session": session, "names": encode(list(names)).decode()})

    async def drain_session(self, session: SessionId) -> None:
        """Ask a worker to finish what it holds and take nothing more; raises `NotFound`."""
        if not await self._database.write(lambda connection: self._drain(connection, session)):
            raise NotFound(f"worker {session_text(session)} has no open session", field="id")

    async def close_session(self, session: SessionId) -> None:
        """Note that a worker has left in order."""
        await self._database.write(lambda connection: self._close(connection, session, None))

    async def sessions(self, *, closed: bool = False, tenant: str | None = None) -> list[SessionView]:
        """Return the open sessions, and with `closed` those that ended lately too."""
        since = self._now() - CLOSED_FOR_MS if closed else None
        rows = await self._database.read(
            lambda connection: connection.execute(SQL["sessions"], {"closed_since": since}).fetchall()
        )
        views = await off_loop(sum(len(row[1]) for row in rows), lambda: [
            SessionView(
                id=SessionId(session), spec=decode(spec, SessionSpec), opened_at=Instant(opened_at),
                beat_at=Instant(beat_at), beat=beat, should_drain=bool(should_drain), closed_at=closed_at, held=held,
            )
            for session, spec, opened_at, beat_at, beat, should_drain, closed_at, held in rows
        ])  # fmt: skip
        return [view for view in views if view.spec.serves(tenant)]

    async def session_specs(self, sessions: Sequence[SessionId]) -> list[SessionSpec | None]:
        """Return what each of these sessions can run; None for one that is not open."""
        rows = await self._database.read(
            lambda connection: connection.execute(SQL["session_specs"], {"sessions": batch_of(sessions)}).fetchall()
        )
        specs = await off_loop(
            sum(len(spec) for _, spec in rows),
            lambda: {session: decode(spec, SessionSpec) for session, spec in rows},
        )
        return [specs.get(session) for session in sessions]

    async def beat_numbers(self) -> dict[SessionId, int]:
        """Return the beat number of every open session."""
        rows = await self._database.read(lambda connection: connection.execute(SQL["beat_numbers"]).fetchall())
        return {SessionId(session): beat for session, beat in rows}

    async def reap(self, dead: Sequence[tuple[SessionId, int]], *, poison_after: int) -> Reaped:
        """Close the sessions whose beat number is still the one given, and free what no live session holds."""
        return await self._database.write(lambda connection: self._reap(connection, dead, poison_after))

    def _drain(self, connection: sqlite3.Connection, session: SessionId) -> bool:
        row = connection.execute(SQL["drain_session"], {"session": session}).fetchone()
        if row is not None:
            tell_facts(connection, self._now(), [worker_draining(session, decode(row[0], SessionSpec))])
        return row is not None

    def _close(self, connection: sqlite3.Connection, session: SessionId, beat: int | None) -> bool:
        """Close a session, in order or (with the beat number that was observed) as dead; tell whether it was open."""
        now = self._now()
        row = connection.execute(SQL["close_session"], {"session": session, "beat": beat, "now": now}).fetchone()
        if row is not None:
            closed = worker_closed if beat is None else worker_reaped
            tell_facts(connection, now, [closed(session, decode(row[0], SessionSpec))])
        return row is not None

    def _beat(self, connection: sqlite3.Connection, beat: Beat) -> BeatReply:
        held = [lease.task for lease in beat.held]
        row = {"session": beat.session, "now": self._now(), "held": batch_of(held)}
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
        closed = [session for session, beat in dead if self._close(connection, session, beat)]
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
