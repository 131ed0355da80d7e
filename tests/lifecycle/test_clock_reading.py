import time

from drumline.stores.clock_reading import READINGS, clock_distance


async def test_a_slow_first_answer_says_nothing_about_the_clock() -> None:
    answers = 0

    async def ask() -> float:
        nonlocal answers
        answers += 1
        now = time.time()
        if answers == 1:
            _busy(0.2)
        return now

    distance = await clock_distance(ask)

    assert answers == READINGS
    assert abs(distance) < 0.05


async def test_a_clock_that_is_ahead_is_found_out_whatever_the_way_costs() -> None:
    async def ask() -> float:
        _busy(0.01)
        there = time.time() + 3
        _busy(0.01)
        return there

    assert abs(await clock_distance(ask) - 3) < 0.05


def _busy(seconds: float) -> None:
    """Let time pass as a busy machine does."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass
