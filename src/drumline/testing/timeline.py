"""The time of a world: passes while something happens, is skipped while nothing does, and tells those who wait."""

import asyncio
import math
from collections.abc import Container
from typing import Final

from drumline.core.errors import Invalid
from drumline.testing.installation import Installation
from drumline.testing.loop import Stalled
from drumline.testing.quiet import Look, look, loop_time, missed_firings, untaken

ALL: Final = frozenset({"schedule", "expiry", "task"})
"""The kinds of events that processes of a world wait for."""
STUCK_SECONDS: Final = 5.0
"""Seconds after which a task that is due, and that no worker takes, counts as waiting for something else."""
LONGEST_RUN: Final = 400 * 86_400.0
"""Seconds after which running everything to its end is given up."""

Waiting = list["asyncio.Future[None]"]


class Timeline:
    """Moves the clock of a world."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._loop = installation.loop
        self._database = installation.database
        self._changes = 0
        self._watchers: Waiting = []
        self._calm_waiters: Waiting = []
        self._idle_waiters: Waiting = []
        self._last_move = (0, 0.0)
        self._loop.when_quiet = self._when_quiet

    # -- waiting

    async def changed(self, within: float | None) -> None:
        """Wait until something was committed, at most this long."""
        try:
            async with asyncio.timeout(within):
                await self._when(self._watchers)
        except TimeoutError:
            return

    async def idle(self) -> None:
        """Wait until no task is due or running."""
        await self._when(self._idle_waiters)

    async def calm(self) -> None:
        """Wait until all that happens at the present moment has happened."""
        await self._when(self._calm_waiters)

    async def finish(self) -> None:
        """Wait until every task has ended, also those that are due later."""
        ends_at = self._loop.time() + LONGEST_RUN
        while self._loop.time() < ends_at:
            await self.idle()
            next_task = look(self._database, self._installation.clock.now()).next_task
            # A signal that the test sends later is a timer of its own.
            times = [*([] if next_task is None else [loop_time(next_task)]), self._loop.next_timer()]
            known = [at for at in times if at is not None]
            if not known:
                return
            await asyncio.sleep(min(known) - self._loop.time())

    async def travel(self, seconds: float) -> None:
        """Let time pass; each event happens at its own time."""
        await asyncio.sleep(seconds)
        await self.calm()

    async def stride(self, seconds: float, step: float) -> None:
        """Let time pass in steps; what falls due within one happens at its end."""
        ends_at = self._loop.time() + seconds
        missed = missed_firings(self._database)
        while self._loop.time() < ends_at:
            await self.idle()
            self._loop.skip(min(self._loop.time() + step, ends_at))
            self._wake(ALL)
            await self.calm()
            if missed_firings(self._database) > missed:
                raise Invalid("is too long: a schedule has more firings in it than are caught up with", field="step")

    async def _when(self, waiters: Waiting) -> None:
        future: asyncio.Future[None] = self._loop.create_future()
        waiters.append(future)
        await future

    # -- when nothing is ready

    def _when_quiet(self) -> bool:
        """Tell of changes, tell that all is calm or idle, or skip time; tell whether something is ready then."""
        changes = self._database.connection.total_changes
        if changes != self._changes:
            self._changes = changes
            if _resolve(self._watchers):
                return True
        if _resolve(self._calm_waiters):
            return True
        seen = look(self._database, self._installation.clock.now())
        if seen.is_busy or (seen.is_due and not self._is_stuck(seen)):
            return False
        return _resolve(self._idle_waiters) or self._skip(seen)

    def _is_stuck(self, seen: Look) -> bool:
        """Tell whether what is due waits for something else than a worker: a paused queue, a function, a limit."""
        now = self._loop.time()
        if seen.last_event != self._last_move[0]:
            self._last_move = (seen.last_event, now)
        if seen.is_limited and not self._idle_waiters:
            return False  # it may start at any moment
        return now - self._last_move[1] > STUCK_SECONDS

    def _skip(self, seen: Look) -> bool:
        """Move the clock to the next event, past all that processes do when there is nothing to do."""
        times = {
            kind: loop_time(at)
            for kind, at in (("task", seen.next_task), ("schedule", seen.next_schedule), ("expiry", seen.next_expiry))
            if at is not None
        }
        if min(times.values(), default=math.inf) <= self._loop.time():
            return False  # the scheduler will see to it
        own = self._loop.next_timer()
        if own is None and not times:
            if self._watchers:
                raise Stalled(self._why_stalled())
            return False
        self._loop.skip(min([*times.values(), *([] if own is None else [own])]))
        due = {kind for kind, at in times.items() if at <= self._loop.time()}
        self._wake(due)
        return bool(due)

    def _why_stalled(self) -> str:
        """Return why what is waited for will never end: often a task that this world has no function for."""
        names = untaken(self._database, self._installation.clock.now())
        told = "nothing is left to happen in this world: what is waited for will never end"
        return f"{told}; no worker here takes the tasks {', '.join(names)}" if names else told

    def _wake(self, due: Container[str]) -> None:
        """Let the processes look for what has fallen due while time was skipped."""
        if "schedule" in due:
            self._installation.fire_now.set()
        if "expiry" in due:
            self._installation.expire_now.set()
        if "task" in due:
            self._installation.wake_ups.wake("default", 1)


def _resolve(futures: Waiting) -> bool:
    """Resolve what waits, and tell whether anything did."""
    waiting, futures[:] = [each for each in futures if not each.done()], []
    for each in waiting:
        each.set_result(None)
    return bool(waiting)
