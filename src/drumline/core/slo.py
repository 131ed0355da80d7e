"""Service level objectives of task types: which share has to go well, and how fast the rest, the budget, is spent."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from drumline.core.alert import (
    SHORT_WINDOW,
    AlertCondition,
    AlertId,
    AlertMeasure,
    NewAlertRule,
    Severity,
    SloId,
)
from drumline.core.clock import Instant
from drumline.core.stats import BOUNDS, Measure, Stat

MOST_SLOS: Final = 100
"""Objectives of one tenant."""
HOUR: Final = 3_600_000
DAY: Final = 24 * HOUR
KEPT_DAYS: Final = 30
"""The longest period, and how long hours are kept."""
FAST: Final = (HOUR, 14.4)
"""A burn that spends 2 % of the budget of 30 days in an hour."""
SLOW: Final = (6 * HOUR, 6.0)
"""A burn that spends 5 % of it in six hours."""


class Objective(StrEnum):
    """What has to go well."""

    SUCCESS = "success"
    """Tasks that end are completed, not failed."""
    START = "start"
    """Tasks start within a time from when they are due."""


class SloDefinition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An objective: which share of which tasks, over how long. Durations are milliseconds."""

    task: str
    objective: Objective
    target: float
    period: int
    queue: str | None = None
    within: int | None = None
    """For `start`: in what time; one of `core.stats.BOUNDS`."""

    @property
    def budget(self) -> float:
        """The share that may go wrong."""
        return 1.0 - self.target


class Tally(Struct, frozen=True):
    """How many tasks there were, and how many of them went well."""

    good: int = 0
    total: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        """Return both together."""
        return Tally(self.good + other.good, self.total + other.total)

    def burn(self, budget: float) -> float | None:
        """Return how many times faster than allowed the budget is spent; None without tasks."""
        return (self.total - self.good) / self.total / budget if self.total else None

    def budget_left(self, budget: float) -> float:
        """Return the share of the budget that is left: below 0 if more was spent than there was."""
        burn = self.burn(budget)
        return 1.0 if burn is None else 1.0 - burn


class HourTally(Struct, frozen=True):
    """A tally of one hour."""

    at: Instant
    tally: Tally


class Slo(Struct, frozen=True, kw_only=True):
    """An objective, and how its budget was last spent."""

    id: SloId
    tenant: str
    name: str
    definition: SloDefinition
    created_at: Instant
    counted_until: Instant
    """The hours before are counted for good."""
    counted_at: Instant | None = None
    burn_fast: float | None = None
    """The burn rate of the last hour."""
    burn_slow: float | None = None
    """The burn rate of the last six hours."""
    turn: int = 0
    """Rises with every change of the definition: what was counted for an earlier turn is not kept."""


class NewSlo(Struct, frozen=True, kw_only=True):
    """A validated objective on its way into the store, with the rules that watch it."""

    id: SloId
    tenant: str
    name: str
    definition: SloDefinition
    rules: tuple[NewAlertRule, ...] = ()


class SloChange(Struct, frozen=True, kw_only=True):
    """A change of an objective; what is None stays. Another definition is counted anew."""

    name: str | None = None
    definition: SloDefinition | None = None


class SloCount(Struct, frozen=True, kw_only=True):
    """What counting an objective found."""

    slo: Slo
    hours: tuple[HourTally, ...]
    counted_until: Instant
    burn_fast: float | None
    burn_slow: float | None


def tally(definition: SloDefinition, stats: list[Stat]) -> Tally:
    """Return what statistics say about an objective."""
    good = total = 0
    for stat in stats:
        is_counted, is_good = _judged(definition, stat)
        total += stat.count if is_counted else 0
        good += stat.count if is_good else 0
    return Tally(good, total)


def hours(definition: SloDefinition, stats: list[Stat]) -> list[HourTally]:
    """Return the tallies of every hour that statistics are about, in order."""
    by_hour: dict[int, list[Stat]] = {}
    for stat in stats:
        by_hour.setdefault(stat.at - stat.at % HOUR, []).append(stat)
    return [HourTally(Instant(at), tally(definition, by_hour[at])) for at in sorted(by_hour)]


def _judged(definition: SloDefinition, stat: Stat) -> tuple[bool, bool]:
    """Tell whether a figure counts for an objective, and whether it is good."""
    if definition.objective is Objective.SUCCESS:
        is_good = stat.measure is Measure.COMPLETED
        return is_good or stat.measure is Measure.FAILED, is_good
    if stat.measure is not Measure.WAIT:
        return False, False
    return True, stat.duration < len(BOUNDS) and BOUNDS[stat.duration] <= (definition.within or 0)


def burn_of(long: Tally, short: Tally, budget: float) -> float | None:
    """Return the burn rate of two windows: the lesser, so that neither an old nor a short outburst fires."""
    rates = [long.burn(budget), short.burn(budget)]
    return None if None in rates else min(rate for rate in rates if rate is not None)


def short_window(window: int) -> int:
    """Return the short window that belongs to a long one."""
    return window // SHORT_WINDOW


def burn_rules(
    id: SloId, name: str, definition: SloDefinition, *, tenant: str, ids: tuple[str, str]
) -> tuple[NewAlertRule, ...]:
    """Return the two rules that watch an objective: a fast burn, which is critical, and a slow one."""
    return tuple(
        NewAlertRule(
            id=AlertId(rule), tenant=tenant, name=f"{name}: {word}", slo=id,
            condition=AlertCondition(
                measure=AlertMeasure.BURN_RATE, threshold=threshold, window=window, severity=severity,
                task=definition.task, queue=definition.queue,
            ),
        )
        for rule, (window, threshold), word, severity in zip(
            ids, (FAST, SLOW), ("fast burn", "slow burn"), (Severity.CRITICAL, Severity.WARNING), strict=True
        )
    )  # fmt: skip
