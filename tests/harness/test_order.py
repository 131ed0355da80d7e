"""Tests that take long begin early, and each test is still run once."""

from random import Random

import pytest

from tests.harness.order import arranged


@pytest.mark.parametrize("processes", [1, 2, 5, 40])
def test_every_block_is_there_once(processes: int) -> None:
    chance = Random(7)
    sizes = [chance.randint(1, 90) for _ in range(300)]
    long = [chance.random() < 0.2 for _ in sizes]

    assert sorted(arranged(sizes, long, processes)) == list(range(300))


def test_each_process_has_a_part_of_the_long_ones_and_none_at_its_end() -> None:
    sizes, long = [1] * 60, [place >= 50 for place in range(60)]

    order = arranged(sizes, long, 2)

    for part in (order[:30], order[30:]):
        assert [place >= 50 for place in part].count(True) == 5
        assert max(part[20:]) < 50


def test_nothing_moves_where_nothing_takes_long() -> None:
    assert arranged([3, 1, 2, 5], [False] * 4, 2) == [0, 1, 2, 3]
