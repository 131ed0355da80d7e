"""Statistics over time: tasks submitted, ended and failed, waiting and run times, by 1 and by 10 minutes.

They are counted from the log of what changed, so that no list of tasks is ever counted for a chart. How many tasks wait
is a level and no flow: adding up what comes and goes would drift. It is sampled now and then, and its mean is kept.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Final

from msgspec import Struct

from drumline.core.clock import Instant

MINUTE: Final = 60_000
STEPS: Final = (MINUTE, 10 * MINUTE)
"""The widths of the buckets that are kept, in milliseconds."""
TOTAL: Final = 0
"""Stands for a width in which all time is one bucket, at 0: what happened since the beginning."""
BOUNDS: Final = (
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 1_800_000,
)  # fmt: skip
"""The upper bounds of the classes of durations, in milliseconds; the last class has none. Stored: never change one."""


class Measure(IntEnum):
    """What is counted. The numbers are stored: never reuse one."""

    SUBMITTED = 0
    COMPLETED = 3
    FAILED = 4
    CANCELLED = 5
    SKIPPED = 6
    RETRIED = 10
    WAIT = 20
    """How long a task waited from when it was due to its first start, by class of duration."""
    RUN = 21
    """How long an execution took, by class of duration."""


class StatsRange(Struct, frozen=True, kw_only=True):
    """A query for statistics: a period, the width of its buckets, and which tasks.

    What is None does not narrow.
    """

    since: Instant
    until: Instant
    step: int
    """One of `STEPS`."""
    tenant: str | None = None
    queue: str | None = None
    name: str | None = None


class Stat(Struct, frozen=True, kw_only=True):
    """One figure: how often something happened in one bucket of time."""

    at: Instant
    measure: Measure
    duration: int = 0
    """The class of the duration: its place in `BOUNDS`."""
    count: int


class DurationCount(Struct, frozen=True, kw_only=True):
    """How often waiting or running of tasks of one name took as long as a class of durations says."""

    name: str
    measure: Measure
    """`WAIT` or `RUN`."""
    duration: int
    count: int


class UsualDurations(Struct, frozen=True, kw_only=True):
    """How long tasks of one name wait and run, in seconds as exact as the classes of durations are."""

    name: str
    runs: int
    """How many executions that is of."""
    wait_p50: float | None
    wait_p95: float | None
    run_p50: float | None
    run_p95: float | None


class Figure(Struct, frozen=True, kw_only=True):
    """A count of a lane from the event log: how often something happened, and its total duration."""

    queue: str
    name: str
    measure: Measure
    duration: int = 0
    """The class of the durations: their place in `BOUNDS`."""
    count: int
    total_ms: int = 0


class CountedEvents(Struct, frozen=True):
    """The result of one counting pass: how many rows of the log were read, and their counts."""

    rows: int
    figures: tuple[Figure, ...] = ()


class Level(Struct, frozen=True, kw_only=True):
    """How many tasks waited in one bucket of time, summed over the samples that were taken in it."""

    at: Instant
    total: int
    samples: int
    """At least one: a bucket without samples has no level."""


class Series(Struct, frozen=True, kw_only=True):
    """Statistics of one bucket of time, as the API shows them."""

    at: Instant
    submitted: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    skipped: int = 0
    retried: int = 0
    wait_p50: float | None = None
    """Seconds, as exact as the classes of durations are: within a factor of two or so."""
    wait_p95: float | None = None
    run_p50: float | None = None
    run_p95: float | None = None
    depth: float | None = None
    """How many tasks were due and waited to be run, on average; nothing where no sample was taken."""


def series(stretch: StatsRange, stats: list[Stat], levels: list[Level]) -> list[Series]:
    """Return the statistics of every bucket of a period, including empty ones."""
    step = stretch.step
    depths = {level.at: level.total / level.samples for level in levels}
    buckets: dict[int, dict[tuple[Measure, int], int]] = {}
    for stat in stats:
        place = stat.at - stat.at % step
        counts = buckets.setdefault(place, {})
        counts[stat.measure, stat.duration] = counts.get((stat.measure, stat.duration), 0) + stat.count
    first = stretch.since - stretch.since % step
    return [_one(Instant(at), buckets.get(at, {}), depths.get(Instant(at))) for at in range(first, stretch.until, step)]


def _one(at: Instant, counts: dict[tuple[Measure, int], int], depth: float | None) -> Series:
    def of(measure: Measure) -> int:
        return counts.get((measure, 0), 0)

    waits = {duration: count for (measure, duration), count in counts.items() if measure is Measure.WAIT}
    runs = {duration: count for (measure, duration), count in counts.items() if measure is Measure.RUN}
    return Series(
        at=at,
        submitted=of(Measure.SUBMITTED),
        completed=of(Measure.COMPLETED),
        failed=of(Measure.FAILED),
        cancelled=of(Measure.CANCELLED),
        skipped=of(Measure.SKIPPED),
        retried=of(Measure.RETRIED),
        wait_p50=quantile(waits, 0.50),
        wait_p95=quantile(waits, 0.95),
        run_p50=quantile(runs, 0.50),
        run_p95=quantile(runs, 0.95),
        depth=depth,
    )


def usual_durations(names: Sequence[str], counts: Iterable[DurationCount]) -> list[UsualDurations]:
    """Return how long tasks of each name usually wait and run."""
    found: dict[tuple[str, Measure], dict[int, int]] = {}
    for each in counts:
        classes = found.setdefault((each.name, each.measure), {})
        classes[each.duration] = classes.get(each.duration, 0) + each.count
    return [_usual(name, found.get((name, Measure.WAIT), {}), found.get((name, Measure.RUN), {})) for name in names]


def _usual(name: str, waits: dict[int, int], runs: dict[int, int]) -> UsualDurations:
    return UsualDurations(
        name=name,
        runs=sum(runs.values()),
        wait_p50=quantile(waits, 0.50),
        wait_p95=quantile(waits, 0.95),
        run_p50=quantile(runs, 0.50),
        run_p95=quantile(runs, 0.95),
    )


def quantile(classes: dict[int, int], share: float) -> float | None:
    """Return a duration in seconds below which a share of all lies, or nothing if there is none.

    Within a class durations are taken to be spread evenly; the open last class counts as twice its bound.
    """
    total = sum(classes.values())
    if not total:
        return None
    wanted, seen = share * total, 0
    for place in sorted(classes):
        count = classes[place]
        if seen + count >= wanted:
            low = BOUNDS[place - 1] if place else 0
            high = BOUNDS[place] if place < len(BOUNDS) else 2 * BOUNDS[-1]
            return (low + (high - low) * (wanted - seen) / count) / 1000
        seen += count
    raise AssertionError("a share of a whole lies within it")
