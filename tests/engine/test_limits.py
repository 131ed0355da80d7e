"""How often a key may ask: exactly so often, in any stretch of time."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumline.core.clock import ManualClock
from drumline.core.errors import Invalid
from drumline.core.rate import Rate, parse_rate
from drumline.engine.limits import MOST_KEYS, MOST_LOTS, LocalLimiter

MINUTE = Rate(100, 60.0)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def limiter(clock: ManualClock) -> LocalLimiter:
    return LocalLimiter(clock)


def test_a_hundred_pass_and_the_next_is_told_when_to_come_again(limiter: LocalLimiter, clock: ManualClock) -> None:
    taken = []
    for _ in range(100):
        taken.append(limiter.take_now("ada", MINUTE))
        clock.advance(0.1)
    refused = limiter.take_now("ada", MINUTE)

    assert all(turn.is_allowed for turn in taken)
    assert [turn.remaining for turn in taken] == list(range(99, -1, -1))
    assert not refused.is_allowed
    assert refused.seconds == pytest.approx(50.0)
    clock.advance(49.9)
    assert not limiter.take_now("ada", MINUTE).is_allowed
    clock.advance(0.2)
    assert limiter.take_now("ada", MINUTE).is_allowed


def test_knocking_while_refused_does_not_prolong_it(limiter: LocalLimiter, clock: ManualClock) -> None:
    for _ in range(100):
        limiter.take_now("ada", MINUTE)
    for _ in range(59):
        clock.advance(1)
        assert not limiter.take_now("ada", MINUTE).is_allowed

    clock.advance(1.1)

    assert all(limiter.take_now("ada", MINUTE).is_allowed for _ in range(100))


def test_keys_do_not_take_each_others_turns(limiter: LocalLimiter) -> None:
    for _ in range(101):
        limiter.take_now("ada", MINUTE)

    assert limiter.take_now("bob", MINUTE).is_allowed


def test_another_rate_begins_anew(limiter: LocalLimiter) -> None:
    for _ in range(101):
        limiter.take_now("ada", MINUTE)

    assert limiter.take_now("ada", Rate(200, 60.0)).is_allowed


def test_memory_is_bounded_by_keys_and_by_times(limiter: LocalLimiter) -> None:
    for number in range(MOST_KEYS + 50):
        limiter.take_now(str(number), MINUTE)
    large = Rate(60_000, 60.0)
    allowed = sum(limiter.take_now("fleet", large).is_allowed for _ in range(61_000))

    assert len(limiter._turns_of_keys._turns_of_keys) == MOST_KEYS
    assert allowed == 60_000
    assert len(limiter._turns_of_keys.of("fleet", large).window._times) <= MOST_LOTS


def test_turns_in_hand_do_not_outlive_their_window(limiter: LocalLimiter, clock: ManualClock) -> None:
    large = Rate(60_000, 60.0)
    limiter.take_now("fleet", large)

    clock.advance(3600)
    allowed = sum(limiter.take_now("fleet", large).is_allowed for _ in range(61_000))

    assert allowed == 60_000


@given(
    rate=st.builds(Rate, st.integers(1, 30), st.sampled_from([1.0, 7.5, 60.0])),
    pauses=st.lists(st.floats(0, 20, allow_nan=False), max_size=200),
)
def test_no_stretch_of_the_window_ever_has_more(rate: Rate, pauses: list[float]) -> None:
    clock = ManualClock()
    limiter = LocalLimiter(clock)
    given_at: deque[float] = deque()

    for pause in pauses:
        clock.advance(pause)
        now = clock.monotonic()
        while given_at and given_at[0] <= now - rate.seconds:
            given_at.popleft()
        taken = limiter.take_now("ada", rate)
        assert taken.is_allowed is (len(given_at) < rate.requests)
        if taken.is_allowed:
            given_at.append(now)


@pytest.mark.parametrize(
    ("text", "rate"),
    [("100/60s", Rate(100, 60.0)), (" 5 / 1m ", Rate(5, 60.0)), ("7/1h", Rate(7, 3600.0)), ("Unlimited", None)],
)
def test_rates_are_written_as_people_say_them(text: str, rate: Rate | None) -> None:
    assert parse_rate(text, field="rate") == rate


@pytest.mark.parametrize("text", ["", "100", "0/60s", "100/0s", "100/2d", "-1/60s", "a/b", "1e9/60s", "100/60s/2"])
def test_a_rate_that_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as error:
        parse_rate(text, field="rate_limit")

    assert error.value.field == "rate_limit"
