"""Figures over time: every bucket is there, and quantiles lie within their class."""

import pytest

from drumline.core.clock import Instant
from drumline.core.stats import BOUNDS, MINUTE, Level, Measure, Stat, StatsRange, quantile, series

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
