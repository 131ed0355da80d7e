"""Alert rules and service level objectives: creating, changing, muting and looking at them."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from drumline.core.accept_alert import AlertPatch, AlertRequest, accept_condition, patched
from drumline.core.accept_slo import LONGEST_SLO_NAME, SloPatch, SloRequest, accept_definition, accept_slo_patch
from drumline.core.alert import AlertChange, AlertCondition, AlertId, AlertMeasure, AlertRule, NewAlertRule, SloId
from drumline.core.clock import Instant
from drumline.core.errors import Invalid, NotFound
from drumline.core.names import check_name, check_text
from drumline.core.slo import DAY, HOUR, HourTally, NewSlo, Slo, SloChange, Tally, burn_rules
from drumline.ports.store import Store

MOST_POINTS: Final = 180


class SloStatus(Struct, frozen=True, kw_only=True):
    """An objective, and what it has spent."""

    slo: Slo
    tally: Tally
    points: tuple[HourTally, ...] | None = None
    """Tallies of equal stretches of its period, `step` long, the earliest first; None if not asked for."""
    step: int = HOUR


class AlertService:
    """What people do about alert rules. A `tenant` of None means every tenant's."""

    def __init__(self, store: Store, *, new_id: Callable[[], str]) -> None:
        self._store = store
        self._new_id = new_id

    async def create(self, request: AlertRequest, *, tenant: str) -> AlertRule:
        """Keep a rule, or raise the reason why not."""
        condition = await self._condition(request, tenant=tenant)
        return await self._store.alerts.create_alert(
            NewAlertRule(
                id=AlertId(self._new_id()),
                tenant=tenant,
                name=check_name(request.name),
                condition=condition,
                slo=None if request.slo is None else SloId(request.slo),
                is_enabled=request.enabled,
            )
        )

    async def get(self, id: AlertId, *, tenant: str | None = None) -> AlertRule:
        """Return a rule, or raise `NotFound`."""
        found = await self._store.alerts.alert(id, tenant=tenant)
        if found is None:
            raise NotFound(f"there is no alert {id}", field="id")
        return found

    async def change(
        self, id: AlertId, patch: AlertPatch, *, muted_until: Instant | None, tenant: str | None = None
    ) -> AlertRule:
        """Change a rule, or raise the reason why not."""
        if patch == AlertPatch():
            raise Invalid("must have something to change", field="body")
        rule = await self.get(id, tenant=tenant)
        request = patched(rule, patch)
        condition = await self._condition(request, tenant=rule.tenant)
        return await self._store.alerts.change_alert(
            id,
            AlertChange(
                name=None if patch.name is UNSET else check_name(patch.name),
                condition=None if condition == rule.condition else condition,
                is_enabled=None if patch.enabled is UNSET else patch.enabled,
                sets_mute=patch.muted_until is not UNSET,
                muted_until=muted_until,
            ),
            tenant=tenant,
        )

    async def delete(self, id: AlertId, *, tenant: str | None = None) -> None:
        """Delete a rule, or raise `NotFound`."""
        if not await self._store.alerts.delete_alert(id, tenant=tenant):
            raise NotFound(f"there is no alert {id}", field="id")

    async def _condition(self, request: AlertRequest, *, tenant: str) -> AlertCondition:
        condition = accept_condition(request)
        if condition.measure is not AlertMeasure.BURN_RATE or request.slo is None:
            return condition
        slo = await self._store.slos.slo(SloId(request.slo), tenant=tenant)
        if slo is None:
            raise Invalid("there is no such objective", field="slo")
        return replace(condition, task=slo.definition.task, queue=slo.definition.queue)


class SloService:
    """What people do about objectives. A `tenant` of None means every tenant's."""

    def __init__(self, store: Store, *, new_id: Callable[[], str]) -> None:
        self._store = store
        self._new_id = new_id

    async def create(self, request: SloRequest, *, tenant: str) -> SloStatus:
        """Keep an objective and its alerts, or raise the reason why not."""
        name, definition = _slo_name(request.name), accept_definition(request)
        id_ = SloId(self._new_id())
        ids = (self._new_id(), self._new_id())
        rules = burn_rules(id_, name, definition, tenant=tenant, ids=ids) if request.alerts else ()
        slo = NewSlo(id=id_, tenant=tenant, name=name, definition=definition, rules=rules)
        return SloStatus(slo=await self._store.slos.create_slo(slo), tally=Tally())

    async def get(self, id: SloId, *, tenant: str | None = None) -> SloStatus:
        """Return an objective with its points, or raise `NotFound`."""
        slo = await self._found(id, tenant=tenant)
        now = await self._store.queries.now()
        period = slo.definition.period
        found = await self._store.slos.slo_hours(id, since=Instant(now - period))
        step = _step(period)
        points = _points(found, now=now, period=period, step=step)
        return SloStatus(slo=slo, tally=sum((hour.tally for hour in found), Tally()), points=points, step=step)

    async def statuses(self, slos: Sequence[Slo]) -> list[SloStatus]:
        """Return what objectives have spent."""
        if not slos:
            return []
        tallies = await self._store.slos.slo_tallies(slos, now=await self._store.queries.now())
        return [SloStatus(slo=slo, tally=tallies.get(slo.id, Tally())) for slo in slos]

    async def change(self, id: SloId, patch: SloPatch, *, tenant: str | None = None) -> SloStatus:
        """Change an objective, or raise the reason why not."""
        if patch == SloPatch():
            raise Invalid("must have something to change", field="body")
        old = await self._found(id, tenant=tenant)
        definition = accept_slo_patch(patch, old.definition, name=old.name)
        change = SloChange(name=None if patch.name is UNSET else _slo_name(patch.name), definition=definition)
        await self._store.slos.change_slo(id, change, tenant=tenant)
        return await self.get(id, tenant=tenant)

    async def delete(self, id: SloId, *, tenant: str | None = None) -> None:
        """Delete an objective with its alerts, or raise `NotFound`."""
        if not await self._store.slos.delete_slo(id, tenant=tenant):
            raise NotFound(f"there is no objective {id}", field="id")

    async def _found(self, id: SloId, *, tenant: str | None) -> Slo:
        found = await self._store.slos.slo(id, tenant=tenant)
        if found is None:
            raise NotFound(f"there is no objective {id}", field="id")
        return found


def _slo_name(name: str) -> str:
    return check_text(name, field="name", longest=LONGEST_SLO_NAME)


def _step(period: int) -> int:
    """Return the width of points: whole hours, such that there are not too many."""
    return HOUR * max(1, -(-period // HOUR // MOST_POINTS)) if period <= 7 * DAY else 6 * HOUR


def _points(found: list[HourTally], *, now: Instant, period: int, step: int) -> tuple[HourTally, ...]:
    tallies: dict[int, Tally] = {}
    for hour in found:
        place = hour.at - hour.at % step
        tallies[place] = tallies.get(place, Tally()) + hour.tally
    first = now - period
    return tuple(HourTally(Instant(at), tallies.get(at, Tally())) for at in range(first - first % step, now, step))
