"""Files whose tests take long begin early, and each file is still run once."""

from random import Random

from tests.harness.order import LONG_SECONDS, USUAL_SECONDS, arranged


def test_every_file_is_there_once() -> None:
    chance = Random(7)
    sizes = [chance.randint(1, 90) for _ in range(300)]
    seconds = [chance.choice([USUAL_SECONDS, USUAL_SECONDS, LONG_SECONDS, 1200]) for _ in sizes]

    assert sorted(arranged(sizes, seconds)) == list(range(300))


def test_what_takes_long_is_spread_over_the_first_half_and_what_takes_longest_is_first() -> None:
    seconds = [USUAL_SECONDS] * 50 + [LONG_SECONDS] * 9 + [1200]

    order = arranged([1] * 60, seconds)

    assert order[0] == 59
    assert [place >= 50 for place in order[:20]].count(True) in {6, 7}
    assert max(order[36:]) < 50


def test_nothing_moves_where_nothing_takes_long() -> None:
    assert arranged([3, 1, 2, 5], [USUAL_SECONDS] * 4) == [0, 1, 2, 3]
