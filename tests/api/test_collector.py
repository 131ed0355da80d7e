"""The garbage collector of a server with thousands of connections runs in small steps."""

import gc
from collections.abc import Callable, Iterator

import pytest

from drumline.api.collector import FULL_EVERY, MANY, MIDDLE_EVERY, PacedCollector


@pytest.fixture
def thresholds() -> Iterator[tuple[int, int, int]]:
    """What the thresholds are; they are the same again after a test."""
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)


def noting(looked: list[int]) -> Callable[[int], int]:
    def collect(generation: int) -> int:
        looked.append(generation)
        return 0

    return collect


@pytest.fixture
def connections() -> set[int]:
    return set(range(MANY))


def test_new_objects_are_looked_at_in_each_step_and_all_only_seldom(
    connections: set[int], thresholds: tuple[int, int, int]
) -> None:
    looked: list[int] = []
    collector = PacedCollector(connections, collect=noting(looked))

    for _ in range(FULL_EVERY):
        collector.step()

    assert looked[: MIDDLE_EVERY + 1] == [0] * (MIDDLE_EVERY - 1) + [1, 0]
    assert (looked.count(2), looked[-1]) == (1, 2)
    assert gc.get_threshold()[:2] == thresholds[:2]
    assert gc.get_threshold()[2] > FULL_EVERY  # by itself it would go through all of them within seconds


def test_with_few_connections_it_is_left_to_itself(connections: set[int], thresholds: tuple[int, int, int]) -> None:
    looked: list[int] = []
    collector = PacedCollector(connections, collect=noting(looked))
    collector.step()
    connections.pop()

    collector.step()

    assert looked == [0]
    assert gc.get_threshold() == thresholds


def test_a_collector_that_is_switched_off_stays_so(connections: set[int], thresholds: tuple[int, int, int]) -> None:
    looked: list[int] = []
    collector = PacedCollector(connections, collect=noting(looked))
    gc.disable()
    try:
        collector.step()
    finally:
        gc.enable()

    assert looked == []
    assert gc.get_threshold() == thresholds
