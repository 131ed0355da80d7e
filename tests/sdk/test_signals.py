import pickle
from datetime import timedelta

import pytest

from drumline import Cancelled, DrumlineError, Invalid, Permanent, Retry, Snooze
from drumline.core.duration import Duration


@pytest.mark.parametrize("after", [90, 90.0, "1m30s", "PT1M30S", timedelta(seconds=90)])
def test_retry_and_snooze_take_durations_as_people_write_them(after: Duration) -> None:
    assert Retry("busy", after=after).after == timedelta(seconds=90)
    assert Snooze(after).delay == timedelta(seconds=90)


def test_a_retry_without_a_time_leaves_it_to_the_backoff() -> None:
    assert Retry().after is None


def test_a_signal_with_a_senseless_time_says_so() -> None:
    with pytest.raises(Invalid) as caught:
        Snooze(-1)

    assert caught.value.field == "delay"


@pytest.mark.parametrize("signal", [Retry("busy", after=3), Permanent("never"), Snooze("3s")])
def test_signals_are_not_swallowed_with_drumline_errors_and_survive_a_process_border(signal: Exception) -> None:
    assert not isinstance(signal, DrumlineError)

    copy = pickle.loads(pickle.dumps(signal))

    assert type(copy) is type(signal)
    assert vars(copy) == vars(signal)


def test_a_cancellation_passes_a_tasks_own_except_exception() -> None:
    assert not issubclass(Cancelled, Exception)
