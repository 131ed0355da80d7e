"""Heartbeats of workers, and freeing the tasks of dead ones."""

from collections.abc import Sequence
from typing import Final

from drumline.core.clock import Clock, Instant
from drumline.core.codec import decode
from drumline.core.dead_letter import POISON
from drumline.core.event import worker_reaped
from drumline.core.ids import SessionId, TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.session import Beat, BeatReply, SessionSpec
from drumline.core.state import Act, State
from drumline.ports.hint import NO_EFFECTS, Effects
from drumline.ports.store import Hint, Reaped
from drumline.stores.driver import Database, Lanes, Line, Transaction, tell_facts
from drumline.stores.endings import Ending, is_queued
from drumline.stores.parts.sessions import SessionTables
from drumline.stores.postgres.cursors import Cursors, LanePosition
from drumline.stores.postgres.endings import Held, bury, end, record
from drumline.stores.postgres.following import PostgresFollowing

REAPING: Final = 0x6472_756D_7265_6170
"""The advisory lock of the one reap that is under way."""
MOST_REAPED: Final = 5000
"""Tasks freed in one transaction."""


Freed = tuple[Ending, bool]
"""How an orphan ends, and whether it was a ghost."""


class Sessions(SessionTables):
    """`ports.sessions.Sessions` on PostgreSQL."""

    def __init__(
        self,
        database: Database,
        clock: Clock | None,
        lanes: Lanes,
        following: PostgresFollowing,
        cursors: Cursors,
    ) -> None:
        super().__init__(database, clock, lanes)
        self._following = following
        self._cursors = cursors

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
        again = [session for session in sessions if newest[session].again]
        if again:
            await self._database.fetch(Line.SETTLE, "excuse_claims", sessions=again)
        # Not repeated when the answer was lost: each beat counts, and two in a row would make claims look forgotten.
        rows = await self._database.fetch(
            Line.SETTLE,
            "beat",
            sessions=sessions,
            firsts=firsts,
            lasts=lasts,
            memories=[newest[session].usage.memory for session in sessions],
            cpus=[newest[session].usage.cpu for session in sessions],
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
        specs = [(SessionId(session), decode(text, SessionSpec)) for session, text in rows]
        facts = [worker_reaped(session, spec) for session, spec in specs if not spec.is_copy]
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
