"""Alert rules, incidents and service level objectives, as the store keeps them. A tenant of None means every one.

Any number of schedulers evaluate rules at once. Each change of a rule's state is applied once: it names the turn of the
rule that it was decided for, and is written together with its event and its incident, or not at all.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from drumline.core.alert import (
    AlertChange,
    AlertId,
    AlertRule,
    AlertState,
    AlertStep,
    Incident,
    NewAlertRule,
    Severity,
    SloId,
)
from drumline.core.clock import Instant
from drumline.core.slo import HourTally, NewSlo, Slo, SloChange, SloCount, Tally


class AlertFilter(Struct, frozen=True, kw_only=True):
    """Which rules to list; what is None does not narrow."""

    tenant: str | None = None
    name: str | None = None
    state: AlertState | None = None
    slo: SloId | None = None


class IncidentFilter(Struct, frozen=True, kw_only=True):
    """Which incidents to list; what is None does not narrow."""

    tenant: str | None = None
    rule: AlertId | None = None


class SloFilter(Struct, frozen=True, kw_only=True):
    """Which objectives to list; what is None does not narrow."""

    tenant: str | None = None
    name: str | None = None
    task: str | None = None


class Alerts(Protocol):
    """Alert rules, where they stand, and when they fired."""

    async def create_alert(self, rule: NewAlertRule) -> AlertRule:
        """Keep a rule; raises `Conflict` if its tenant has another of that name, or as many as it may have."""
        ...

    async def alert(self, id: AlertId, *, tenant: str | None = None) -> AlertRule | None:
        """Return a rule."""
        ...

    async def alerts(self, which: AlertFilter, *, limit: int, before: AlertId | None = None) -> list[AlertRule]:
        """Return rules, newest first, starting below `before`."""
        ...

    async def change_alert(self, id: AlertId, change: AlertChange, *, tenant: str | None = None) -> AlertRule:
        """Change a rule. Another condition, or a pause, resolves what fires; raises `NotFound` and `Conflict`."""
        ...

    async def delete_alert(self, id: AlertId, *, tenant: str | None = None) -> bool:
        """Delete a rule and its incidents; tell whether there was one. What fires is resolved."""
        ...

    async def due_alerts(self, *, limit: int) -> list[AlertRule]:
        """Return rules that are due to be evaluated, and put off each by its interval, so that others pass it over."""
        ...

    async def record_alerts(self, steps: Sequence[AlertStep]) -> list[bool]:
        """Write where rules stand, with events and incidents; tell of each whether it was still at the same turn."""
        ...

    async def incidents(
        self, which: IncidentFilter, *, limit: int, before: tuple[Instant, AlertId] | None = None
    ) -> list[Incident]:
        """Return incidents, the latest first, starting below a time and rule."""
        ...

    async def count_firing(self) -> dict[Severity, int]:
        """Return how many rules of all tenants fire, by severity."""
        ...


class Slos(Protocol):
    """Objectives, and their tallies by hour."""

    async def create_slo(self, slo: NewSlo) -> Slo:
        """Keep an objective and its rules; raises `Conflict` if a name is taken, or there are too many."""
        ...

    async def slo(self, id: SloId, *, tenant: str | None = None) -> Slo | None:
        """Return an objective."""
        ...

    async def slos(self, which: SloFilter, *, limit: int, before: SloId | None = None) -> list[Slo]:
        """Return objectives, newest first, starting below `before`."""
        ...

    async def change_slo(self, id: SloId, change: SloChange, *, tenant: str | None = None) -> Slo:
        """Change an objective; with another definition its hours are forgotten. Raises `NotFound` and `Conflict`."""
        ...

    async def delete_slo(self, id: SloId, *, tenant: str | None = None) -> bool:
        """Delete an objective with its hours and its rules; tell whether there was one."""
        ...

    async def due_slos(self, *, limit: int, every_ms: int) -> list[Slo]:
        """Return objectives that were not counted for `every_ms`, and note that they are being counted."""
        ...

    async def record_slos(self, counts: Sequence[SloCount]) -> None:
        """Write tallies of hours in place of what there was, unless the objective was changed meanwhile."""
        ...

    async def slo_tallies(self, slos: Sequence[Slo], *, now: Instant) -> dict[SloId, Tally]:
        """Return the tallies of objectives over their periods."""
        ...

    async def slo_hours(self, id: SloId, *, since: Instant) -> list[HourTally]:
        """Return the hours of an objective from a time on, in order."""
        ...
