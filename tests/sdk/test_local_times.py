"""Times without a zone are by the clock of the program, never by chance those of UTC."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from drumline import Drumline

NAIVE = datetime(2030, 7, 1, 12)  # noqa: DTZ001 - that is the point


@pytest.fixture(autouse=True)
def _new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as there:
        there.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


def work() -> None: ...


def run_at_of(call: Any) -> datetime:
    moment: datetime = call.request.run_at
    return moment


def test_a_time_without_a_zone_is_by_the_clock_of_the_machine() -> None:
    app = Drumline("test")
    task = app.task(work)

    with app.dag("job") as dag:
        dag.add(task.options(run_at=NAIVE))
    times = [run_at_of(task.options(run_at=NAIVE).call()), dag.request.tasks["work"].run_at]

    assert times == [datetime(2030, 7, 1, 16, tzinfo=UTC)] * 2


def test_in_an_hour_is_in_an_hour() -> None:
    task = Drumline("test").task(work)
    soon = datetime.now() + timedelta(hours=1)  # noqa: DTZ005 - what people write

    left = run_at_of(task.options(run_at=soon).call()) - datetime.now(UTC)

    assert timedelta(minutes=59) < left <= timedelta(hours=1)


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=5, minutes=30))])
def test_a_time_with_a_zone_is_taken_at_its_word(zone: timezone) -> None:
    moment = NAIVE.replace(tzinfo=zone)

    assert run_at_of(Drumline("test").task(work).options(run_at=moment).call()) == moment


def test_times_of_a_schedule_are_by_its_own_zone_wherever_its_workers_are() -> None:
    app = Drumline("test")
    app.cron("@daily", tz="Asia/Tokyo", start=NAIVE)(work)
    app.every("1h", name="other", end=NAIVE)(work)

    tokyo, other = (each.schedule for each in app.schedules.request("test", []).schedules)

    assert tokyo.start == datetime(2030, 7, 1, 3, tzinfo=UTC)
    assert other.end == datetime(2030, 7, 1, 12, tzinfo=UTC)
