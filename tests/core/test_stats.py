"""Figures over time: every bucket is there, and quantiles lie within their class."""

import pytest

from drumline.core.clock import Instant
from drumline.core.stats import (
    BOUNDS,
    MINUTE,
    DurationCount,
    Level,
    Measure,
    Series,
    Stat,
    StatsRange,
    UsualDurations,
    quantile,
    series,
    usual_durations,
)

THREE_MINUTES = StatsRange(since=Instant(0), until=Instant(3 * MINUTE), step=MINUTE)


def test_a_quantile_lies_within_the_class_of_its_duration() -> None:
    classes = {3: 50, 9: 45, 12: 5}

    median = quantile(classes, 0.5)
    high = quantile(classes, 0.95)
    highest = quantile(classes, 0.99)

    assert median is not None
    assert high is not None
    assert highest is not None
    assert BOUNDS[2] / 1000 <= median <= BOUNDS[3] / 1000
    assert BOUNDS[8] / 1000 <= high <= BOUNDS[9] / 1000
    assert BOUNDS[11] / 1000 <= highest <= BOUNDS[12] / 1000


def test_nothing_has_no_quantile() -> None:
    assert quantile({}, 0.5) is None


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99, 1.0])
def test_what_took_longer_than_every_bound_has_a_quantile_too(share: float) -> None:
    assert quantile({len(BOUNDS): 1}, share) is not None


def test_empty_buckets_are_shown() -> None:
    stats = [Stat(at=Instant(MINUTE), measure=Measure.COMPLETED, count=3)]

    points = series(THREE_MINUTES, stats, [])

    assert [(point.at, point.completed) for point in points] == [(0, 0), (MINUTE, 3), (2 * MINUTE, 0)]


def test_a_level_is_the_mean_of_its_samples_and_unknown_without_any() -> None:
    levels = [Level(at=Instant(0), total=7, samples=2), Level(at=Instant(2 * MINUTE), total=0, samples=3)]

    points = series(THREE_MINUTES, [], levels)

    assert [point.depth for point in points] == [3.5, None, 0]


@pytest.mark.parametrize(
    ("classes", "share", "seconds"),
    [
        ({0: 4}, 0.5, 0.0005),
        ({1: 4}, 0.25, 0.00125),
        ({1: 4}, 1.0, 0.002),
        ({3: 2}, 0.5, 0.0075),
        ({3: 4, 6: 4}, 0.5, 0.01),
        ({3: 4, 6: 4}, 0.75, 0.075),
        ({6: 4, 3: 4}, 0.75, 0.075),
        ({len(BOUNDS): 4}, 0.5, 2700.0),
    ],
)
def test_durations_are_taken_to_be_spread_evenly_within_their_class(
    classes: dict[int, int], share: float, seconds: float
) -> None:
    assert quantile(classes, share) == pytest.approx(seconds)


def test_what_happened_in_a_bucket_is_added_up_by_what_it_was() -> None:
    step = 10 * MINUTE
    stretch = StatsRange(since=Instant(step + MINUTE), until=Instant(2 * step + 1), step=step)
    numbers = {
        Measure.SUBMITTED: 20, Measure.COMPLETED: 10, Measure.FAILED: 4, Measure.CANCELLED: 3, Measure.SKIPPED: 2,
        Measure.RETRIED: 5,
    }  # fmt: skip
    stats = [Stat(at=Instant(step), measure=measure, count=count) for measure, count in numbers.items()]
    stats += [Stat(at=Instant(step + 3 * MINUTE), measure=measure, count=1) for measure in numbers]
    stats += [Stat(at=Instant(step), measure=Measure.WAIT, duration=1, count=50)]
    stats += [Stat(at=Instant(step + MINUTE), measure=Measure.WAIT, duration=1, count=50)]
    stats += [Stat(at=Instant(step), measure=Measure.RUN, duration=3, count=100)]

    assert series(stretch, stats, []) == [
        Series(
            at=Instant(step),
            submitted=21,
            completed=11,
            failed=5,
            cancelled=4,
            skipped=3,
            retried=6,
            wait_p50=0.0015,
            wait_p95=0.00195,
            run_p50=0.0075,
            run_p95=0.00975,
        ),
        Series(at=Instant(2 * step)),
    ]


def test_the_usual_durations_are_those_of_each_name() -> None:
    def count(name: str, measure: Measure, duration: int, number: int) -> DurationCount:
        return DurationCount(name=name, measure=measure, duration=duration, count=number)

    counts = [
        count("mail", Measure.WAIT, 1, 50),
        count("mail", Measure.WAIT, 1, 50),
        count("mail", Measure.RUN, 3, 20),
        count("report", Measure.RUN, 1, 10),
        count("other", Measure.RUN, 5, 7),
    ]

    assert usual_durations(["report", "mail", "new"], counts) == [
        UsualDurations(name="report", runs=10, wait_p50=None, wait_p95=None, run_p50=0.0015, run_p95=0.00195),
        UsualDurations(name="mail", runs=20, wait_p50=0.0015, wait_p95=0.00195, run_p50=0.0075, run_p95=0.00975),
        UsualDurations(name="new", runs=0, wait_p50=None, wait_p95=None, run_p50=None, run_p95=None),
    ]
