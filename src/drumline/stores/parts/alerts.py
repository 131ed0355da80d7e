"""Alert rules: where they stand, and when they fired."""

from collections.abc import Sequence
from typing import Any, Final

from drumline.core.alert import (
    MOST_INCIDENTS,
    MOST_RULES,
    AlertChange,
    AlertCondition,
    AlertId,
    AlertRule,
    AlertState,
    AlertStep,
    Incident,
    NewAlertRule,
    Severity,
    SloId,
    ended,
)
from drumline.core.clock import Instant
from drumline.core.codec import decode, encode
from drumline.core.errors import Conflict, NotFound
from drumline.ports.alerts import AlertFilter, IncidentFilter
from drumline.stores.driver import ABOVE_ALL, Line, Part, Transaction, tell_facts

NOT_THERE: Final = "there is no such alert"
NAME_TAKEN: Final = "there is an alert of that name already"
END_OF_TIME: Final = 2**62
SOON: Final = 0


class Alerts(Part):
    """`ports.alerts.Alerts`."""

    async def create_alert(self, rule: NewAlertRule) -> AlertRule:
        """Keep a rule; raises `Conflict` if its tenant has another of that name, or as many as it may have."""

        async def work(transaction: Transaction) -> AlertRule:
            return await insert_alert(transaction, rule, now=self._now())

        return await self._database.transact(Line.REQUEST, work, repeat=True, within=rule.tenant)

    async def alert(self, id: AlertId, *, tenant: str | None = None) -> AlertRule | None:
        """Return a rule."""
        rows = await self._database.fetch(Line.REQUEST, "get_alert", repeat=True, within=tenant, id=id, tenant=tenant)
        return rule_of(rows[0]) if rows else None

    async def alerts(self, which: AlertFilter, *, limit: int, before: AlertId | None = None) -> list[AlertRule]:
        """Return rules, newest first, starting below `before`."""
        rows = await self._database.fetch(
            Line.REQUEST,
            "alerts",
            repeat=True,
            within=which.tenant,
            tenant=which.tenant,
            name=which.name,
            state=None if which.state is None else int(which.state),
            slo=which.slo,
            limit=limit,
            before=before or ABOVE_ALL,
        )
        return [rule_of(row) for row in rows]

    async def change_alert(self, id: AlertId, change: AlertChange, *, tenant: str | None = None) -> AlertRule:
        """Change a rule. Another condition, or a pause, resolves what fires."""
        now = await self._time()

        async def work(transaction: Transaction) -> AlertRule:
            rows = await transaction.fetch("lock_alerts", ids=[id], tenant=tenant)
            if not rows:
                raise NotFound(NOT_THERE, field="id")
            rule = rule_of(rows[0])
            name = rule.name if change.name is None else change.name
            if await transaction.fetch("alert_named", id=id, tenant=rule.tenant, name=name):
                raise Conflict(NAME_TAKEN, field="name")
            reason = _ends(rule, change)
            if reason is not None:
                await apply_steps(transaction, [ended(rule, now=now, reason=reason)], now=now)
            condition = change.condition or rule.condition
            is_enabled = rule.is_enabled if change.is_enabled is None else change.is_enabled
            await transaction.fetch(
                "change_alert",
                id=id,
                name=name,
                **_condition_columns(condition),
                due_at=SOON if is_enabled else None,
                muted_until=change.muted_until if change.sets_mute else rule.muted_until,
            )
            (row,) = await transaction.fetch("get_alert", id=id, tenant=None)
            return rule_of(row)

        return await self._database.transact(Line.REQUEST, work, within=tenant)

    async def delete_alert(self, id: AlertId, *, tenant: str | None = None) -> bool:
        """Delete a rule and its incidents; tell whether there was one. What fires is resolved."""
        now = await self._time()

        async def work(transaction: Transaction) -> bool:
            return await remove_alerts(transaction, [id], tenant=tenant, now=now) > 0

        return await self._database.transact(Line.REQUEST, work, within=tenant)

    async def due_alerts(self, *, limit: int) -> list[AlertRule]:
        """Return rules that are due to be evaluated, and put off each by its interval."""
        rows = await self._database.fetch(Line.REQUEST, "due_alerts", limit=limit, now=self._now())
        return [rule_of(row) for row in rows]

    async def record_alerts(self, steps: Sequence[AlertStep]) -> list[bool]:
        """Write where rules stand, with events and incidents; tell of each whether it was still at the same turn."""

        async def work(transaction: Transaction) -> list[bool]:
            rows = await transaction.fetch("lock_alerts", ids=[step.rule.id for step in steps], tenant=None)
            turns = {rule.id: (rule.turn, rule.is_enabled) for rule in map(rule_of, rows)}
            kept = [turns.get(step.rule.id) == (step.rule.turn, True) for step in steps]
            applied = [step for step, is_kept in zip(steps, kept, strict=True) if is_kept]
            await apply_steps(transaction, applied, now=self._now())
            return kept

        return await self._database.transact(Line.REQUEST, work) if steps else []

    async def incidents(
        self, which: IncidentFilter, *, limit: int, before: tuple[Instant, AlertId] | None = None
    ) -> list[Incident]:
        """Return incidents, the latest first, starting below a time and rule."""
        at, rule = before or (END_OF_TIME, ABOVE_ALL)
        rows = await self._database.fetch(
            Line.REQUEST,
            "incidents",
            repeat=True,
            within=which.tenant,
            tenant=which.tenant,
            rule=which.rule,
            limit=limit,
            before_at=at,
            before_rule=rule,
        )
        return [_incident(row) for row in rows]

    async def count_firing(self) -> dict[Severity, int]:
        """Return how many rules of all tenants fire, by severity."""
        rows = await self._database.fetch(Line.REQUEST, "count_firing", repeat=True)
        return {Severity(severity): count for severity, count in rows}


async def insert_alert(transaction: Transaction, rule: NewAlertRule, *, now: Instant | None) -> AlertRule:
    """Keep a rule, or raise why not. A repeated insertion of the same rule finds it."""
    await transaction.fetch(
        "create_alert",
        id=rule.id,
        tenant=rule.tenant,
        name=rule.name,
        slo=rule.slo,
        **_condition_columns(rule.condition),
        due_at=SOON if rule.is_enabled else None,
        most=MOST_RULES,
        now=now,
    )
    rows = await transaction.fetch("get_alert", id=rule.id, tenant=rule.tenant)
    if rows:
        return rule_of(rows[0])
    if await transaction.fetch("alert_named", id=rule.id, tenant=rule.tenant, name=rule.name):
        raise Conflict(NAME_TAKEN, field="name")
    raise Conflict(f"there are {MOST_RULES} alerts already, as many as there may be")


async def remove_alerts(transaction: Transaction, ids: Sequence[str], *, tenant: str | None, now: Instant) -> int:
    """Delete rules and their incidents, resolving what fires; return how many there were."""
    rules = [rule_of(row) for row in await transaction.fetch("lock_alerts", ids=list(ids), tenant=tenant)]
    if rules:
        found = [rule.id for rule in rules]
        firing = [ended(rule, now=now, reason="deleted") for rule in rules if rule.state is AlertState.FIRING]
        await apply_steps(transaction, firing, now=now)
        await transaction.fetch("delete_incidents", ids=found)
        await transaction.fetch("delete_alerts", ids=found)
    return len(rules)


async def apply_steps(transaction: Transaction, steps: Sequence[AlertStep], *, now: Instant | None) -> None:
    """Write steps of rules that this transaction has locked: where they stand, their incidents and their events."""
    if not steps:
        return
    await transaction.fetch(
        "place_alerts",
        ids=[step.rule.id for step in steps],
        states=[int(step.state) for step in steps],
        since=[step.since for step in steps],
        told=[int(step.is_told) for step in steps],
        values=[step.value for step in steps],
        at=[step.at for step in steps],
        changes=[int(step.changes) for step in steps],
    )
    firing = [step for step in steps if step.state is AlertState.FIRING and step.value is not None]
    await _open([step for step in firing if step.fires], transaction)
    goes_on = [step for step in firing if not step.fires]
    if goes_on:
        await transaction.fetch(
            "raise_incidents",
            rules=[step.rule.id for step in goes_on],
            fired_at=[step.since for step in goes_on],
            values=[step.value for step in goes_on],
        )
    closed = [step for step in steps if step.resolves]
    if closed:
        await transaction.fetch(
            "close_incidents",
            rules=[step.rule.id for step in closed],
            at=[step.at for step in closed],
            reasons=[step.reason for step in closed],
        )
    facts = [fact for fact in (step.fact() for step in steps) if fact is not None]
    await tell_facts(transaction, facts, now=now)


async def _open(steps: Sequence[AlertStep], transaction: Transaction) -> None:
    if steps:
        rules = [step.rule.id for step in steps]
        await transaction.fetch(
            "open_incidents",
            rules=rules,
            fired_at=[step.since for step in steps],
            tenants=[step.rule.tenant for step in steps],
            values=[step.value for step in steps],
        )
        await transaction.fetch("trim_incidents", rules=rules, most=MOST_INCIDENTS)


def _ends(rule: AlertRule, change: AlertChange) -> str | None:
    """Return why a change ends what a rule is doing, if it does."""
    if change.is_enabled is False and rule.is_enabled:
        return "paused"
    return "changed" if change.condition is not None and change.condition != rule.condition else None


def _condition_columns(condition: AlertCondition) -> dict[str, Any]:
    return {
        "condition": encode(condition).decode(),
        "severity": condition.severity.value,
        "every": condition.every,
    }


def rule_of(row: Any) -> AlertRule:
    """Return a row as a rule."""
    (
        id_, tenant, name, condition, created_at, slo, due_at, muted_until, turn, state, since, is_told, value,
        evaluated_at,
    ) = row  # fmt: skip
    return AlertRule(
        id=AlertId(str(id_)),
        tenant=tenant,
        name=name,
        condition=decode(condition, AlertCondition),
        created_at=Instant(created_at),
        slo=None if slo is None else SloId(str(slo)),
        is_enabled=due_at is not None,
        muted_until=None if muted_until is None else Instant(muted_until),
        turn=turn,
        state=AlertState(state),
        since=Instant(since),
        is_told=bool(is_told),
        value=value,
        evaluated_at=None if evaluated_at is None else Instant(evaluated_at),
    )


def _incident(row: Any) -> Incident:
    rule, tenant, name, severity, fired_at, resolved_at, value, peak, reason = row
    return Incident(
        rule=AlertId(str(rule)),
        tenant=tenant,
        name=name,
        severity=Severity(severity),
        fired_at=Instant(fired_at),
        resolved_at=None if resolved_at is None else Instant(resolved_at),
        value=value,
        peak=peak,
        reason=reason,
    )
