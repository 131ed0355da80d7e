"""Functions that run at times: what the decorators note, and what they refuse where it is written."""

import json
import logging
import time
from datetime import UTC, datetime, timedelta
from logging.handlers import QueueHandler
from pathlib import Path
from queue import Queue

import pytest
from msgspec import Raw

from drumline import Context, Drumline, Invalid, NotFound, inject
from drumline.core.app_schedules import AppSchedule, RegisterRequest
from drumline.core.firing_policy import Misfire, Overlap
from drumline.core.schedule import ScheduleRequest
from drumline.core.task import TaskRequest
from drumline.lifecycle.schedule_registration import requests_of
from drumline.sdk.schedules import RegisterSchedules


@pytest.fixture
def app(tmp_path: Path) -> Drumline[None]:
    return Drumline("shop", data=tmp_path)


def registered(app: Drumline[None]) -> RegisterRequest:
    (request,) = requests_of([app])
    return request


def schedule(app: Drumline[None]) -> ScheduleRequest:
    (each,) = registered(app).schedules
    return each.schedule


def test_a_function_becomes_a_task_with_a_schedule(app: Drumline[None]) -> None:
    @app.cron("30 9 * * MON-FRI", tz="Europe/Berlin", overlap="skip", catch_up="all", max_runs=3)
    def report() -> str:
        return "done"

    made = schedule(app)
    assert report() == "done"
    assert app.registry.get(report.name).function is report.__wrapped__
    assert (made.name, made.cron, made.timezone) == (report.name, "30 9 * * MON-FRI", "Europe/Berlin")
    assert (made.overlap, made.misfire, made.max_runs) == (Overlap.SKIP, Misfire.ALL, 3)
    assert made.task is not None
    assert (made.task.name, bytes(made.task.payload)) == (report.name, b"{}")
    assert registered(app).schedules[0].module == __name__


def test_a_task_keeps_its_settings(app: Drumline[None]) -> None:
    @app.cron("@daily", name="nightly", arguments={"region": "eu"})
    @app.task(queue="mail", retries=7)
    async def report(region: str) -> str:
        return region

    made = schedule(app)
    assert made.name == "nightly"
    assert made.task is not None
    assert (made.task.queue, made.task.retries, bytes(made.task.payload)) == ("mail", 7, b'{"region":"eu"}')
    assert len(app.registry) == 1


def test_a_task_may_have_several_schedules(app: Drumline[None]) -> None:
    @app.every(timedelta(minutes=5), name="often", jitter="10s")
    @app.cron("@daily", name="daily")
    def report() -> None: ...

    often, daily = sorted((each.schedule for each in registered(app).schedules), key=lambda one: one.name != "often")
    assert (often.interval, often.jitter) == (300.0, "10s")
    assert daily.cron == "@daily"


@pytest.mark.parametrize(
    ("expression", "options", "reason"),
    [
        ("61 * * * *", {}, "cron: minute 61 is not from 0 to 59"),
        ("@daily", {"tz": "Europe/Berln"}, "did you mean Europe/Berlin"),
        ("@daily", {"max_runs": 0}, "max_runs: must be from 1"),
    ],
)
def test_what_is_wrong_shows_where_it_is_written(
    app: Drumline[None], expression: str, options: dict[str, object], reason: str
) -> None:
    with pytest.raises(Invalid, match=reason):
        app.cron(expression, **options)  # type: ignore[arg-type]


def test_an_unknown_option_is_named(app: Drumline[None]) -> None:
    with pytest.raises(TypeError, match="no option 'timezone'"):
        app.cron("@daily", timezone="UTC")  # type: ignore[call-arg]


def test_a_function_that_needs_arguments_must_get_them(app: Drumline[None]) -> None:
    with pytest.raises(TypeError, match="cannot run on a schedule"):

        @app.cron("@daily")
        def report(region: str) -> None: ...


def test_a_schedule_can_be_previewed_by_the_clock_of_its_zone(app: Drumline[None]) -> None:
    @app.cron("30 2 * * *", tz="Europe/Berlin", name="nightly")
    def report() -> None: ...

    after = datetime(2026, 10, 24, 12, 0)  # noqa: DTZ001 - by the clock of the schedule
    times = app.schedules.preview(report, count=2, after=after)

    assert [time.isoformat() for time in times] == ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]
    assert app.schedules.preview("nightly", count=2, after=times[0]) == [times[1], times[1] + timedelta(days=1)]
    assert len(app.schedules.preview(report)) == 5
    assert min(app.schedules.preview(report)) > datetime.now(UTC)


def test_a_preview_says_which_schedule_is_meant(app: Drumline[None]) -> None:
    @app.cron("@daily", name="early", arguments={"region": "eu"})
    @app.cron("@hourly", name="often", arguments={"region": "us"})
    @app.task(name="clean")
    def clean(region: str) -> None: ...

    with pytest.raises(Invalid, match="schedule: clean has several: name one of often, early"):
        app.schedules.preview(clean)
    with pytest.raises(NotFound, match="no schedule named 'oftn' is in the code of this app; did you mean often"):
        app.schedules.preview("oftn")
    for count in (0, 1001):
        with pytest.raises(Invalid, match="count: must be from 1 to 1,000"):
            app.schedules.preview("often", count=count)


def test_a_schedule_that_is_registered_is_logged_and_not_printed(
    app: Drumline[None], capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    @app.cron("@yearly", name="rarely")
    def report() -> None: ...

    records: Queue[logging.LogRecord] = Queue()
    handler = QueueHandler(records)
    logger = logging.getLogger("drumline.schedules")
    logger.addHandler(handler)
    try:
        with caplog.at_level("INFO", "drumline.schedules"), app.running():
            message = records.get(timeout=30).getMessage()
    finally:
        logger.removeHandler(handler)

    assert message == "schedules.registered: shop: created rarely"
    assert "registered" not in capsys.readouterr().out


def test_an_app_without_schedules_still_says_which_modules_it_has(app: Drumline[None]) -> None:
    @app.task
    def report() -> None: ...

    assert registered(app) == RegisterRequest(app="shop", modules=(__name__,))


def test_parts_of_an_app_are_registered_together(app: Drumline[None], tmp_path: Path) -> None:
    other = Drumline("shop", data=tmp_path)

    @app.cron("@daily", name="one")
    def one() -> None: ...

    @other.cron("@daily", name="two")
    def two() -> None: ...

    (request,) = requests_of([app, other])
    assert [each.schedule.name for each in request.schedules] == ["one", "two"]
    assert request.modules == (__name__,)


def test_a_running_app_fires_and_each_task_knows_its_time(app: Drumline[None]) -> None:
    ticks: Queue[datetime | None] = Queue()

    @app.every(1)
    def tick(*, ctx: Context[None] = inject()) -> None:
        ticks.put(ctx.fire_time)

    with app.running():
        times = [ticks.get(timeout=30) for _ in range(2)]

    first, second = sorted(moment for moment in times if moment is not None)  # two that are late may run side by side
    assert second - first == timedelta(seconds=1)


def test_a_command_knows_its_time(app: Drumline[None], tmp_path: Path) -> None:
    request = ScheduleRequest(
        name="shell",
        interval=1,
        task=TaskRequest(
            name="shell", payload=Raw(json.dumps({"shell": f"echo $DRUMLINE_FIRE_TIME >> {tmp_path}/times"}).encode())
        ),
    )
    deadline = time.monotonic() + 30

    with app.running():
        app.schedules.add(AppSchedule(module="m", schedule=request))
        app.client.transport.send(RegisterSchedules(app.schedules.request(app.name, ())))
        while not (tmp_path / "times").exists() or not (tmp_path / "times").read_text().endswith("Z\n"):
            assert time.monotonic() < deadline, "the schedule did not fire"
            time.sleep(0.05)

    assert datetime.fromisoformat((tmp_path / "times").read_text().splitlines()[0]).tzinfo is not None
