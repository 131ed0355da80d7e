"""The registry of workers, and freeing what the dead held."""

from collections.abc import Sequence
from typing import Any, Final

from drumline.aio.threads import off_loop
from drumline.core.clock import Instant
from drumline.core.codec import decode, encode
from drumline.core.dead_letter import POISON
from drumline.core.errors import NotFound
from drumline.core.event import worker_closed, worker_draining, worker_opened, worker_reaped
from drumline.core.ids import SessionId, TaskId, session_text
from drumline.core.outcome import ErrorInfo
from drumline.core.session import Beat, BeatReply, SessionSpec, SessionView
from drumline.core.state import Act, State
from drumline.ports.hint import NO_EFFECTS, Effects
from drumline.ports.store import Hint, Reaped
from drumline.stores.driver import Line, tell_facts
from drumline.stores.endings import Ending, is_queued
from drumline.stores.parts.task_types import publish_types
from drumline.stores.postgres.access import Access
from drumline.stores.postgres.cursors import LanePosition
from drumline.stores.postgres.database import Transaction
from drumline.stores.postgres.endings import Held, bury, end, record

CLOSED_FOR_MS: Final = 24 * 3_600_000
"""How long a closed session is still shown."""
REAPING: Final = 0x6472_756D_7265_6170
"""The advisory lock of the one reap that is under way."""
MOST_REAPED: Final = 5000
"""Tasks freed in one transaction."""


Freed = tuple[Ending, bool]
"""How an orphan ends, and whether it was a ghost."""


class Sessions(Access):
    """`ports.store.Sessions` on PostgreSQL."""

    async def open_session(self, session: SessionId, spec: SessionSpec) -> None:
        """Register a worker under an id that was never used before."""
        text = encode(spec).decode()

        async def open_(transaction: Transaction) -> None:
            if await transaction.fetch("open_session", session=session, spec=text, now=self._now()):
                await publish_types(transaction, spec, self._now())
                await tell_facts(transaction, [worker_opened(session, spec)], now=self._now())

        await self._database.transact(Line.SETTLE, open_, repeat=True)

    async def beat(self, beats: Sequence[Beat]) -> list[BeatReply]:
        """Note signs of life, and tell each session which leases it lost and which tasks should stop."""
        newest = {beat.session: beat for beat in beats}
        sessions = sorted(newest)
        leases = [(session, lease) for session in sessions for lease in newest[session].held]
        firsts, lasts, seen = [], [], 0
        for session in sessions:
            firsts.append(seen + 1)
            seen += len(newest[session].held)
            lasts.append(seen)
        # Not repeated when the answer was lost: each beat counts, and two in a row would make claims look forgotten.
        rows = await self._database.fetch(
            Line.SETTLE,
            "beat",
            sessions=sessions,
            firsts=firsts,
            lasts=lasts,
            owners=[session for session, _ in leases],
            tasks=[lease.task for _, lease in leases],
            epochs=[lease.epoch for _, lease in leases],
            nonces=[lease.nonce for _, lease in leases],
            now=self._now(),
        )
        drains = {session: should_drain for session, place, should_drain, _, _ in rows if place is None}
        lost = {leases[place - 1] for _, place, _, is_lost, _ in rows if place is not None and is_lost}
        cancelled = {leases[place - 1] for _, place, _, _, is_cancelled in rows if place is not None and is_cancelled}
        return [
            BeatReply(
                is_open=True,
                lost=tuple(lease.task for lease in newest[beat.session].held if (beat.session, lease) in lost),
                cancelled=tuple(
                    lease.task for lease in newest[beat.session].held if (beat.session, lease) in cancelled
                ),
                should_drain=drains[beat.session],
            )
            if beat.session in drains
            else BeatReply(is_open=False, lost=tuple(lease.task for lease in beat.held))
            for beat in beats
        ]

    async def change_session(self, session: SessionId, *, queues: Sequence[str], capacity: int) -> None:
        """Note what a worker serves from now on, and how much; one that is not open is left as it is."""
        given: dict[str, Any] = {"session": session, "queues": encode(list(queues)).decode(), "capacity": capacity}
        await self._database.fetch(Line.DESK, "change_session", repeat=True, **given)

    async def pause_in_session(self, session: SessionId, *, names: Sequence[str]) -> None:
        """Note which task names a worker is not handed; one that is not open is left as it is."""
        text = encode(list(names)).decode()
        await self._database.fetch(Line.DESK, "pause_in_session", repeat=True, session=session, names=text)

    async def drain_session(self, session: SessionId) -> None:
        """Ask a worker to finish what it holds and take nothing more; raises `NotFound`."""

        async def drain(transaction: Transaction) -> bool:
            rows = await transaction.fetch("drain_session", session=session)
            facts = [worker_draining(session, decode(spec, SessionSpec)) for (spec,) in rows]
            await tell_facts(transaction, facts, now=self._now())
            return bool(rows)

        if not await self._database.transact(Line.DESK, drain, repeat=True):
            raise NotFound(f"worker {session_text(session)} has no open session", field="id")

    async def close_session(self, session: SessionId) -> None:
        """Note that a worker has left in order."""

        async def close(transaction: Transaction) -> None:
            rows = await transaction.fetch("close_session", session=session, now=self._now())
            facts = [worker_closed(session, decode(spec, SessionSpec)) for (spec,) in rows]
            await tell_facts(transaction, facts, now=self._now())

        await self._database.transact(Line.SETTLE, close, repeat=True)

    async def sessions(self, *, closed: bool = False, tenant: str | None = None) -> list[SessionView]:
        """Return the open sessions, and with `closed` those that ended lately too; `held` is as of the last beat."""
        since = await self._time() - CLOSED_FOR_MS if closed else None
        rows = await self._database.fetch(Line.BROAD, "sessions", repeat=True, within=tenant, closed_since=since)
        views = await off_loop(sum(len(row[1]) for row in rows), lambda: [
            SessionView(
                id=SessionId(session), spec=decode(spec, SessionSpec), opened_at=Instant(opened_at),
                beat_at=Instant(beat_at), beat=beat, should_drain=should_drain, closed_at=closed_at, held=held,
            )
            for session, spec, opened_at, beat_at, beat, should_drain, closed_at, held in rows
        ])  # fmt: skip
        return [view for view in views if view.spec.serves(tenant)]

    async def session_specs(self, sessions: Sequence[SessionId]) -> list[SessionSpec | None]:
        """Return what each of these sessions can run; None for one that is not open."""
        rows = await self._database.fetch(Line.CLAIM, "session_specs", repeat=True, sessions=sessions)
        specs = await off_loop(
            sum(len(spec) for _, spec in rows),
            lambda: {session: decode(spec, SessionSpec) for session, spec in rows},
        )
        return [specs.get(session) for session in sessions]

    async def beat_numbers(self) -> dict[SessionId, int]:
        """Return the beat number of every open session."""
        rows = await self._database.fetch(Line.BROAD, "beat_numbers", repeat=True)
        return {SessionId(session): beat for session, beat in rows}

    async def reap(self, dead: Sequence[tuple[SessionId, int]], *, poison_after: int) -> Reaped:
        """Close the sessions whose beat number is still the one given, and free what no live session holds."""
        closed: list[SessionId] = []
        freed: list[Freed] = []

        async def free(transaction: Transaction) -> tuple[list[SessionId], list[Freed]]:
            ((is_alone,),) = await transaction.fetch("reap_alone", key=REAPING)
            return await self._free(transaction, dead, poison_after) if is_alone else ([], [])

        while True:
            sessions, endings = await self._database.transact(Line.BROAD, free)
            closed += sessions
            freed += endings
            if len(endings) < MOST_REAPED:
                break
        in_jobs, effects = await self._free_in_jobs(poison_after)
        return await self._reaped(closed, freed + in_jobs, effects)

    async def _free_in_jobs(self, poison_after: int) -> tuple[list[Freed], Effects]:
        """Free what belongs to jobs, in transactions that lock the jobs before anything else."""
        freed: list[Freed] = []
        effects = NO_EFFECTS
        while True:
            rows = await self._database.fetch(
                Line.BROAD, "orphans", repeat=True, limit=MOST_REAPED, in_job=True, only=None
            )
            found = [TaskId(str(task)) for (task,) in rows]

            async def free(transaction: Transaction, found: list[TaskId] = found) -> tuple[list[Freed], Effects]:
                ((is_alone,),) = await transaction.fetch("reap_alone", key=REAPING)
                members = await self._following.lock_members(transaction, found) if is_alone else None
                if members is None:
                    return [], NO_EFFECTS
                freed = await self._orphans(transaction, poison_after, only=found)
                effects = await self._following.record_in_jobs(transaction, [ending for ending, _ in freed], members)
                await transaction.fetch("forget_claims")
                return freed, effects

            endings, led_to = await self._database.transact(Line.BROAD, free) if found else ([], NO_EFFECTS)
            freed += endings
            effects += led_to
            if len(endings) < MOST_REAPED:
                return freed, effects

    async def _orphans(
        self, transaction: Transaction, poison_after: int, *, only: Sequence[TaskId] | None = None
    ) -> list[Freed]:
        """Lock what no open session holds, and decide about it: what belongs to no job, or of those only these."""
        rows = await transaction.fetch("lock_orphans", limit=MOST_REAPED, in_job=only is not None, only=only)
        return [(_freed(Held(*row), bool(is_ghost), poison_after), bool(is_ghost)) for *row, is_ghost in rows]

    async def _free(
        self, transaction: Transaction, dead: Sequence[tuple[SessionId, int]], poison_after: int
    ) -> tuple[list[SessionId], list[Freed]]:
        rows = await transaction.fetch(
            "reap_sessions",
            sessions=[session for session, _ in dead],
            beats=[beat for _, beat in dead],
            now=self._now(),
        )
        facts = [worker_reaped(SessionId(session), decode(spec, SessionSpec)) for session, spec in rows]
        await tell_facts(transaction, facts, now=self._now())
        # First what has ended long ago, nearly all of it: then there are few claims in which to look for orphans.
        await transaction.fetch("forget_claims")
        freed = await self._orphans(transaction, poison_after)
        await record(transaction, [ending for ending, _ in freed], now=self._now())
        if freed:
            await transaction.fetch("forget_claims")
        await bury(transaction, [ending for ending, _ in freed])
        return [SessionId(session) for session, _ in rows], freed

    async def _reaped(self, closed: list[SessionId], freed: list[Freed], effects: Effects) -> Reaped:
        lanes = await self._lanes.lanes({ending.lane for ending, _ in freed})
        elsewhere = {task for task, _ in effects.moved}
        queued = [
            (each, each.due_at)
            for each, _ in freed
            if is_queued(each) and each.due_at is not None and each.id not in elsewhere
        ]
        for ending, due_at in queued:
            self._cursors.queued(ending.lane, LanePosition(due_at, ending.id))
        return Reaped(
            sessions=tuple(closed),
            requeued=tuple(Hint(ending.id, lanes[ending.lane], Instant(due_at)) for ending, due_at in queued),
            poisoned=tuple(ending.id for ending, _ in freed if ending.state is State.FAILED),
            ghosts=sum(is_ghost for _, is_ghost in freed),
            effects=effects,
        )


def _freed(held: Held, is_ghost: bool, poison_after: int) -> Ending:
    if is_ghost:
        return end(held, Act.RELEASE, due_at=held.due_at)
    crashes = held.crashes + 1
    if crashes >= poison_after and not held.cancel_requested:
        poison = ErrorInfo(POISON, f"its worker died {crashes} times while running it")
        return end(held, Act.FAIL, due_at=held.due_at, error=poison)
    return end(held, Act.REAP, due_at=held.due_at)
