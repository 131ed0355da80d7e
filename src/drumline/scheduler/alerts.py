"""Alerts: evaluate the rules that are due, and count what objectives have spent.

Any number of schedulers do so. A rule that is due is handed to one of them and put off by its interval; if that one
dies, the next evaluation is another's. What was found is written only if the rule is still at the turn that it was read
at, with its event and its incident in the same transaction: each change of state is told once.

While a shard is away, rules of measures that can only grow with it are evaluated by what the others have: they may
begin to fire, or go on, and are not resolved. Other rules, and objectives, wait.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import structlog

from drumline.core.alert import GROWING, AlertRule, AlertStep, Severity, decide
from drumline.core.clock import Instant
from drumline.core.errors import Unavailable
from drumline.core.metrics import Metrics
from drumline.engine.alert_values import AlertValues
from drumline.engine.incomplete import noting_missing
from drumline.ports.store import Store

AT_ONCE: Final = 100
MOST_BATCHES: Final = 20
"""Batches in one pass; the rest waits for the next one, so that a pass has an end."""
COUNT_EVERY_MS: Final = 60_000
PASS_SECONDS: Final = 60.0
SIDE_BY_SIDE: Final = 20
"""Rules whose values are read at the same time: a shard that does not answer holds up each for ten seconds."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class AlertEvaluator:
    """Evaluates alert rules and objectives: a duty."""

    name = "alerts"

    def __init__(self, store: Store, *, metrics: Metrics | None = None, every: float = 5.0) -> None:
        self.every = every
        self._store = store
        self._metrics = metrics or Metrics()
        self._postponed_by = ""

    async def pass_once(self) -> int:
        """Evaluate what is due, and return how many rules that were."""
        async with asyncio.timeout(PASS_SECONDS):
            evaluated = 0
            for _ in range(MOST_BATCHES):
                rules = await self._store.alerts.due_alerts(limit=AT_ONCE)
                await self._evaluate(rules)
                evaluated += len(rules)
                if len(rules) < AT_ONCE:
                    break
            firing = await self._store.alerts.count_firing()
        self._metrics.alerts_firing.replace({(severity.value,): firing.get(severity, 0) for severity in Severity})
        async with asyncio.timeout(PASS_SECONDS):
            await self._count()
        return evaluated

    async def _evaluate(self, rules: list[AlertRule]) -> None:
        if not rules:
            return
        now = await self._store.queries.now()
        values = AlertValues(self._store, now=now)
        growing = [rule for rule in rules if rule.condition.measure in GROWING]
        for first in range(0, len(growing), SIDE_BY_SIDE):
            group = growing[first : first + SIDE_BY_SIDE]
            found = await asyncio.gather(*(self._by_what_is_known(rule, values, now) for rule in group))
            await self._store.alerts.record_alerts([step for step in found if step is not None])
        others = [rule for rule in rules if rule.condition.measure not in GROWING]
        await self._store.alerts.record_alerts(await self._by_all(others, values, now))

    async def _by_what_is_known(self, rule: AlertRule, values: AlertValues, now: Instant) -> AlertStep | None:
        """Return the step of a rule; None if a shard that is away may make a difference."""
        with noting_missing() as missing:
            step = decide(rule, await values.of(rule), now=now)
        return None if missing and not step.is_breached else step

    async def _by_all(self, rules: list[AlertRule], values: AlertValues, now: Instant) -> list[AlertStep]:
        """Return the steps of rules, up to the first that cannot be told because a shard is away."""
        steps: list[AlertStep] = []
        with self._postponing():
            for rule in rules:
                steps.append(decide(rule, await values.of(rule), now=now))
                self._postponed_by = ""
        return steps

    async def _count(self) -> None:
        with self._postponing():
            slos = await self._store.slos.due_slos(limit=AT_ONCE, every_ms=COUNT_EVERY_MS)
            if slos:
                values = AlertValues(self._store, now=await self._store.queries.now())
                await self._store.slos.record_slos([await values.count(slo) for slo in slos])
                self._postponed_by = ""

    @contextmanager
    def _postponing(self) -> Iterator[None]:
        """Leave the rest for later if a shard is away; that is logged once."""
        try:
            yield
        except Unavailable as error:
            if str(error) != self._postponed_by:
                log.warning("alerts.postponed", error=str(error))
            self._postponed_by = str(error)
