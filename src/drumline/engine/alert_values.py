"""The values that alert rules compare: from statistics and indexes of the store, never from the history of tasks."""

from typing import Final

from drumline.core.alert import AlertCondition, AlertMeasure, AlertRule, SloId
from drumline.core.clock import Instant
from drumline.core.slo import (
    FAST,
    HOUR,
    SLOW,
    Slo,
    SloCount,
    SloDefinition,
    Tally,
    burn_of,
    hours,
    short_window,
    tally,
)
from drumline.core.stats import STEPS, Measure, Stat, StatsRange, quantile
from drumline.ports.store import Store

FINE_UNTIL: Final = HOUR
"""Windows up to this are read by minutes, longer ones by ten minutes."""
SETTLED: Final = 600_000
"""After so long, no event of an hour is still to be counted."""


class AlertValues:
    """Reads the values of one pass. What several rules ask for is read once."""

    def __init__(self, store: Store, *, now: Instant) -> None:
        self._store = store
        self._now = now
        self._stats: dict[StatsRange, list[Stat]] = {}
        self._slos: dict[SloId, Slo | None] = {}

    async def of(self, rule: AlertRule) -> float | None:
        """Return the value of a rule; None if there is nothing to measure."""
        condition = rule.condition
        match condition.measure:
            case AlertMeasure.FAILURE_RATE:
                return await self._failure_rate(rule)
            case AlertMeasure.WAIT_P95 | AlertMeasure.RUN_P95:
                return await self._p95(rule)
            case AlertMeasure.BACKLOG:
                return await self._backlog(rule)
            case AlertMeasure.BURN_RATE:
                return await self._burn(rule)
            case AlertMeasure.OLDEST_WAIT:
                stats, tenant = self._store.stats, rule.tenant
                return self._age(await stats.oldest_due(tenant=tenant, queue=condition.queue, name=condition.task))
            case AlertMeasure.LATE_SCHEDULE:
                stats, since = self._store.stats, Instant(self._now - condition.window)
                return self._age(await stats.oldest_fire(tenant=rule.tenant, schedule=condition.schedule, since=since))

    async def count(self, slo: Slo) -> SloCount:
        """Count the hours of an objective that are not counted for good, and how fast it burns now."""
        definition = slo.definition
        first = slo.counted_until - slo.counted_until % HOUR
        stretch = StatsRange(
            since=Instant(first), until=Instant(self._now + 1), step=STEPS[1], tenant=slo.tenant,
            queue=definition.queue, name=definition.task,
        )  # fmt: skip
        found = hours(definition, await self._store.stats.read_stats(stretch))
        settled = self._now - SETTLED
        return SloCount(
            slo=slo,
            hours=tuple(found),
            counted_until=Instant(settled - settled % HOUR),
            burn_fast=await self._burn_of(slo, FAST[0]),
            burn_slow=await self._burn_of(slo, SLOW[0]),
        )

    def _age(self, since: Instant | None) -> float:
        return 0.0 if since is None else max(0, self._now - since) / 1000

    async def _failure_rate(self, rule: AlertRule) -> float | None:
        completed = failed = 0
        for stat in await self._read(rule.tenant, rule.condition, rule.condition.window):
            completed += stat.count if stat.measure is Measure.COMPLETED else 0
            failed += stat.count if stat.measure is Measure.FAILED else 0
        ended = completed + failed
        return failed / ended if ended >= rule.condition.least else None

    async def _p95(self, rule: AlertRule) -> float | None:
        wanted = Measure.WAIT if rule.condition.measure is AlertMeasure.WAIT_P95 else Measure.RUN
        classes: dict[int, int] = {}
        for stat in await self._read(rule.tenant, rule.condition, rule.condition.window):
            if stat.measure is wanted:
                classes[stat.duration] = classes.get(stat.duration, 0) + stat.count
        return quantile(classes, 0.95) if sum(classes.values()) >= rule.condition.least else None

    async def _backlog(self, rule: AlertRule) -> float | None:
        stretch = self._stretch(rule.tenant, rule.condition, rule.condition.window)
        levels = await self._store.stats.read_depth(stretch)
        samples = sum(level.samples for level in levels)
        return sum(level.total for level in levels) / samples if samples else None

    async def _burn(self, rule: AlertRule) -> float | None:
        if rule.slo is None:
            return None
        if rule.slo not in self._slos:
            self._slos[rule.slo] = await self._store.slos.slo(rule.slo)
        slo = self._slos[rule.slo]
        if slo is None:
            return None
        window = rule.condition.window
        long = await self._tally(slo, window)
        if long.total < rule.condition.least:
            return None
        return burn_of(long, await self._tally(slo, short_window(window)), slo.definition.budget)

    async def _burn_of(self, slo: Slo, window: int) -> float | None:
        return (await self._tally(slo, window)).burn(slo.definition.budget)

    async def _tally(self, slo: Slo, window: int) -> Tally:
        return tally(slo.definition, await self._read(slo.tenant, slo.definition, window))

    async def _read(self, tenant: str, scope: AlertCondition | SloDefinition, window: int) -> list[Stat]:
        stretch = self._stretch(tenant, scope, window)
        if stretch not in self._stats:
            self._stats[stretch] = await self._store.stats.read_stats(stretch)
        return self._stats[stretch]

    def _stretch(self, tenant: str, scope: AlertCondition | SloDefinition, window: int) -> StatsRange:
        step = STEPS[0] if window <= FINE_UNTIL else STEPS[1]
        since = self._now - window
        return StatsRange(
            since=Instant(since - since % step), until=Instant(self._now + 1), step=step, tenant=tenant,
            queue=scope.queue, name=scope.task,
        )  # fmt: skip
