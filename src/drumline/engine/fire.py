"""Making runs of schedules, and letting workers and watchers know of what came of them."""

from collections.abc import Sequence
from typing import Final

from drumline.core.firing import Absence
from drumline.core.ids import IdSource, ScheduleId
from drumline.core.limits import Limits
from drumline.core.retry import DEFAULT_RETRY
from drumline.core.state import State
from drumline.core.task import Submitted
from drumline.core.tuning import Tuning
from drumline.engine.effects import EffectFollower
from drumline.ports.hint import Effects, Hint
from drumline.ports.schedules import Fired, FireOrder, NewRun
from drumline.ports.store import Store

AT_ONCE: Final = 500
"""Schedules, or waiting runs, in one transaction."""


class Firings:
    """What the duty of the same name does, and those who ask for a run."""

    def __init__(
        self,
        store: Store,
        effects: EffectFollower,
        *,
        ids: IdSource,
        limits: Limits,
        parallel: int = 1,
    ) -> None:
        self._store = store
        self.schedules = store.schedules
        self._effects = effects
        self.parallel = parallel
        """How many transactions may be under way at once: one is prepared here while the server writes another."""
        self._ids = ids
        self._limits = limits
        self._retry = DEFAULT_RETRY

    @property
    def is_shut(self) -> bool:
        """Whether no slot is open in this database: what is due waits until its schedule has been moved."""
        slots = self._ids.open.slots
        return slots is not None and not slots

    def tune(self, tuning: Tuning) -> None:
        """Go by other defaults from now on."""
        self._retry = tuning.retry

    async def fire(self, *, absence: Absence | None = None, limit: int = AT_ONCE) -> Fired:
        """Make the runs of schedules that are due."""
        return self._told(await self._store.firing.fire(self._order(limit, absence)))

    async def start_runs(self, *, limit: int = AT_ONCE) -> Fired:
        """Start runs that have waited for long enough."""
        return self._told(await self._store.firing.start_runs(self._order(limit)))

    async def add_runs(self, schedule: ScheduleId, runs: Sequence[NewRun]) -> Fired:
        """Make runs that were requested."""
        return self._told(await self._store.firing.add_runs(schedule, runs, self._order(len(runs))))

    def _order(self, limit: int, absence: Absence | None = None) -> FireOrder:
        return FireOrder(limit=limit, ids=self._ids, absence=absence, limits=self._limits, retry=self._retry)

    def _told(self, fired: Fired) -> Fired:
        """Note and offer what was made. It is committed: what is lost here is found by the sweep."""
        tasks = [task for task, _ in fired.tasks]
        self._effects.submitted(tasks, [Submitted(task.id, due_at) for task, due_at in fired.tasks])
        for job, status in fired.jobs:
            self._effects.job_submitted(job, status)
        hints = tuple(Hint(task.id, task.lane, due_at) for task, due_at in fired.tasks)
        cancelled = tuple((task, State.CANCELLED) for task in fired.cancelled)
        self._effects.follow(fired.effects + Effects(released=hints, moved=cancelled))
        return fired
