"""Flow limits: setting them, and knowing at once what is under one.

Limits are few and change seldom, so each process remembers them for a second. That decides only where it is worth while
to ask: whether a task may be leased is decided by the store.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import structlog
from msgspec.structs import replace

from drumline.core.clock import Clock, Instant
from drumline.core.errors import NotFound, Unavailable
from drumline.core.flow import FlowLimit, LimitRequest, accept_limit
from drumline.core.limit_shares import LimitHolder
from drumline.core.task import Lane
from drumline.engine.limit_shares import ShareMover
from drumline.engine.waiting import Kind, Waiters
from drumline.ports.flow import FlowLimitStore
from drumline.ports.hint import Hint
from drumline.ports.queue import Queue
from drumline.ports.store import Claim, ClaimRequest

LASTS: Final = 1.0
"""Seconds for which limits are remembered."""
QUIET: Final = 0.1
"""Seconds after which tasks under limits are asked for again, when there were fewer than wanted."""
MOST_LANES: Final = 10_000

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class FlowLimits:
    """Sets flow limits, and caches them for a second."""

    def __init__(self, store: FlowLimitStore, queue: Queue, waiters: Waiters, *, clock: Clock) -> None:
        self._store = store
        self._queue = queue
        self._waiters = waiters
        self._clock = clock
        self._limits: list[FlowLimit] = []
        self._read_at: float | None = None
        self._reading: asyncio.Task[None] | None = None
        self._lanes: dict[Lane, bool] = {}
        self._quiet: dict[Kind, float] = {}
        self.mover: ShareMover | None = None
        """Where there are several databases: tells them of limits, and knows their shares."""

    async def set(self, name: str, request: LimitRequest, *, tenant: str) -> tuple[FlowLimit, FlowLimit | None]:
        """Set a limit, and return it with what it was before, if it was there. What is so already is left alone."""
        wanted = accept_limit(name, request, tenant=tenant)
        for limit in await self._store.limits(tenant=tenant):
            if replace(limit, id=0, created_at=Instant(0), split=wanted.split) == wanted:
                await self._tell_shards()
                return limit, limit
        kept, before = await self._store.set_limit(wanted)
        await self._tell_shards()
        await self._changed()
        return kept, before

    async def delete(self, name: str, *, tenant: str) -> FlowLimit:
        """Delete a limit and return it; raises `NotFound`."""
        gone = await self._store.delete_limit(name, tenant=tenant)
        await self._tell_shards()
        await self._queue.doubt()  # it has no hints at what was under the limit
        await self._changed()
        return gone

    async def list_limits(self, *, tenant: str | None = None) -> list[tuple[FlowLimit, int]]:
        """Return the limits there are, each with how many tasks run under it."""
        limits = await self._store.limits(tenant=tenant)
        running = await self._store.running_under([limit.id for limit in limits]) if limits else {}
        return [(limit, running.get(limit.id, 0)) for limit in limits]

    async def holders(self, limits: Sequence[FlowLimit]) -> Mapping[int, tuple[LimitHolder, ...]]:
        """Return what each shard has of limits, by their numbers; nothing where there is one database."""
        return {} if self.mover is None else await self.mover.holders(limits)

    async def get(self, name: str, *, tenant: str) -> tuple[FlowLimit, int]:
        """Return a limit and how many tasks run under it; raises `NotFound`."""
        for limit, running in await self.list_limits(tenant=tenant):
            if limit.name == name:
                return limit, running
        raise NotFound(f"there is no limit {name}", field="name")

    async def may_meet_limits(self, request: ClaimRequest) -> bool:
        """Tell whether a claim may meet tasks under limits. Nearly always not, and at once."""
        await self.refresh()
        return bool(self._limits) and any(
            limit.may_concern(request.queues, request.names, request.tenant) for limit in self._limits
        )

    def split(self, hints: Sequence[Hint]) -> tuple[Sequence[Hint], Sequence[Hint]]:
        """Return the hints at tasks that are under no limit, and the others, as far as is known.

        Limits that are not known here yet are read meanwhile: no hint waits for that, and a wrong one does no harm.
        """
        self._read_meanwhile()
        if not self._limits:
            return hints, ()
        limited = [hint for hint in hints if self._lane_is_limited(hint.lane)]
        if not limited:
            return hints, ()
        self.invalidate()
        return [hint for hint in hints if not self._lane_is_limited(hint.lane)], limited

    def is_limited(self, lane: Lane) -> bool:
        """Tell whether tasks of a lane are under a limit, as far as is known: as `split` knows it."""
        self._read_meanwhile()
        return bool(self._limits) and self._lane_is_limited(lane)

    async def refresh(self) -> None:
        """Read the limits again if that was a while ago. With the store away they stay as they were."""
        if not self._is_old():
            return
        self._read_at = self._clock.monotonic()
        try:
            limits = await self._store.limits()
        except Unavailable:
            return
        if limits != self._limits:
            self._limits = limits
            self._lanes.clear()
            self.invalidate()

    async def drained(self) -> None:
        """Wait until limits that are being read have been."""
        if self._reading is not None:
            await asyncio.wait({self._reading})

    def quiet_until(self, request: ClaimRequest) -> Instant | None:
        """Return until when it is not worth while to ask for tasks under limits; None if it is now."""
        until = self._quiet.get(_kind(request))
        left = 0.0 if until is None else until - self._clock.monotonic()
        return Instant(self._clock.now() + round(left * 1000) + 1) if left > 0 else None

    def answered(self, request: ClaimRequest, claim: Claim) -> None:
        """Note how a claim under limits went."""
        if len(claim.tasks) < request.limit:
            self._quiet[_kind(request)] = self._clock.monotonic() + QUIET

    def invalidate(self) -> None:
        """Forget which claims found no task under limits: something has changed."""
        self._quiet.clear()

    def freed(self, queues: Sequence[str]) -> None:
        """Wake claimers of these queues: tasks under limits have ended, so there are free slots."""
        self.invalidate()
        for queue in queues:
            self._waiters.wake(queue, 1)

    def rose(self) -> None:
        """Wake claimers: more may run under limits than before."""
        self.invalidate()
        self._waiters.wake_all()

    async def _tell_shards(self) -> None:
        if self.mover is not None and (late := await self.mover.changed()):
            log.warning("limits.not_everywhere", shards=late)

    def _is_old(self) -> bool:
        return self._read_at is None or self._clock.monotonic() - self._read_at > LASTS

    def _read_meanwhile(self) -> None:
        if self._is_old() and self._reading is None:
            self._reading = asyncio.get_running_loop().create_task(self.refresh(), name="read limits")
            self._reading.add_done_callback(self._was_read)

    def _was_read(self, _reading: "asyncio.Task[None]") -> None:
        self._reading = None

    async def _changed(self) -> None:
        self._read_at = None
        await self.refresh()
        self.rose()

    def _lane_is_limited(self, lane: Lane) -> bool:
        known = self._lanes.get(lane)
        if known is None:
            if len(self._lanes) > MOST_LANES:
                self._lanes.clear()
            known = self._lanes[lane] = any(limit.concerns(lane) for limit in self._limits)
        return known


def _kind(request: ClaimRequest) -> Kind:
    return request.queues, request.names, request.tenant
