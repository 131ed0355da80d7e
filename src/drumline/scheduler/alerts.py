"""Alerts: evaluate the rules that are due, and count what objectives have spent.

Any number of schedulers do so. A rule that is due is handed to one of them and put off by its interval; if that one
dies, the next evaluation is another's. What was found is written only if the rule is still at the turn that it was read
at, with its event and its incident in the same transaction: each change of state is told once.
"""

import asyncio
from typing import Final

from drumline.core.alert import AlertRule, Severity, decide
from drumline.core.metrics import Metrics
from drumline.engine.alert_values import AlertValues
from drumline.ports.store import Store

AT_ONCE: Final = 100
MOST_BATCHES: Final = 20
"""Batches in one pass; the rest waits for the next one, so that a pass has an end."""
COUNT_EVERY_MS: Final = 60_000
PASS_SECONDS: Final = 60.0


class AlertEvaluator:
    """Evaluates alert rules and objectives: a duty."""

    name = "alerts"

    def __init__(self, store: Store, *, metrics: Metrics | None = None, every: float = 5.0) -> None:
        self.every = every
        self._store = store
        self._metrics = metrics or Metrics()

    async def pass_once(self) -> int:
        """Evaluate what is due, and return how many rules that were."""
        async with asyncio.timeout(PASS_SECONDS):
            await self._count()
            evaluated = 0
            for _ in range(MOST_BATCHES):
                rules = await self._store.alerts.due_alerts(limit=AT_ONCE)
                await self._evaluate(rules)
                evaluated += len(rules)
                if len(rules) < AT_ONCE:
                    break
            firing = await self._store.alerts.count_firing()
        self._metrics.alerts_firing.replace({(severity.value,): firing.get(severity, 0) for severity in Severity})
        return evaluated

    async def _evaluate(self, rules: list[AlertRule]) -> None:
        if not rules:
            return
        now = await self._store.queries.now()
        values = AlertValues(self._store, now=now)
        steps = [decide(rule, await values.of(rule), now=now) for rule in rules]
        await self._store.alerts.record_alerts(steps)

    async def _count(self) -> None:
        slos = await self._store.slos.due_slos(limit=AT_ONCE, every_ms=COUNT_EVERY_MS)
        if slos:
            values = AlertValues(self._store, now=await self._store.queries.now())
            await self._store.slos.record_slos([await values.count(slo) for slo in slos])
