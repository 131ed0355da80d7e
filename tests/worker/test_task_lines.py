"""What the logs of processes say of tasks: submitted, processing, completed, failed."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from drumline.core.task_log import COMPLETED, SUBMITTED, TASK_LOG, TaskLog
from drumline.observe.logging import set_level, set_up_logging
from tests.factories import request
from tests.worker.house import House


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    """Give what was written as events, once the test logs as a process does."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield lambda: [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)
    TASK_LOG.set_up(None)


def about_tasks(events: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {event["event.action"]: event for event in events if event.get("event.action", "").startswith("task.")}


async def test_a_task_leaves_a_line_when_it_is_submitted_begun_and_completed(house: House, lines: Any) -> None:
    set_up_logging("info", "json", tasks="auto")

    @house.app.task(name="pay")
    async def pay() -> None: ...

    async with house.worker():
        view = await house.run("pay", queue="till")

    found = about_tasks(lines())
    assert list(found) == ["task.submitted", "task.processing", "task.completed"]
    for event in found.values():
        assert (event["log.level"], event["log.logger"]) == ("info", "drumline.tasks")
        facts = event["drumline"]
        assert (facts["task_id"], facts["task"], facts["queue"]) == (view.id, "pay", "till")
        assert event["message"].startswith(f"{event['event.action']}: pay {view.id}")
    assert found["task.submitted"]["drumline"]["tenant"] == "default"
    assert found["task.processing"]["drumline"]["attempt"] == 1
    completed = found["task.completed"]
    assert completed["event.outcome"] == "success"
    assert completed["event.duration"] == round(completed["drumline"]["seconds"] * 1_000_000_000)


async def test_a_failed_task_has_its_error_beside_those_lines(house: House, lines: Any) -> None:
    set_up_logging("info", "json", tasks="info")

    @house.app.task(name="pay")
    async def pay() -> None:
        raise ConnectionError("the till is closed")

    async with house.worker():
        await house.try_once("pay")

    found = about_tasks(lines())
    assert list(found) == ["task.submitted", "task.processing", "task.failed"]
    assert found["task.failed"]["event.outcome"] == "failure"
    assert "the till is closed" in found["task.failed"]["error.message"]


@pytest.mark.parametrize(
    ("level", "tasks", "is_on"),
    [
        ("info", "off", False), ("info", "debug", False), ("debug", "debug", True), ("warning", "info", False),
        ("warning", "warning", True), ("info", "auto", True),
    ],
)  # fmt: skip
async def test_the_lines_have_a_level_of_their_own(
    house: House, lines: Any, level: str, tasks: Any, is_on: bool
) -> None:
    set_up_logging(level, "json", tasks=tasks)

    await house.engine.submissions.submit(request("pay"))

    assert TASK_LOG.is_on is is_on
    assert ("task.submitted" in about_tasks(lines())) is is_on


def test_on_a_terminal_only_failures_are_told_unless_somebody_asks(lines: Any) -> None:
    set_up_logging("info", "text", tasks="auto")
    before = TASK_LOG.is_on

    set_level("debug")

    assert (before, TASK_LOG.is_on) == (False, True), "the level may change while a process runs"
    assert lines() == []


async def test_under_load_a_part_is_written_and_how_many_were_left_out(caplog: pytest.LogCaptureFixture) -> None:
    now = [10.0]
    log = TaskLog(lambda: now[0])
    log.set_up(logging.INFO, per_second=5)

    with caplog.at_level(logging.INFO, "drumline.tasks"):
        for batch in range(3):
            facts = ({"task_id": f"{batch}-{number}", "task": "pay"} for number in range(4))
            log.write(SUBMITTED, facts, count=4)
        log.write(COMPLETED, [{"task_id": "x", "task": "pay", "seconds": 0.5}])
        now[0] += 1
        log.write(SUBMITTED, [{"task_id": "later", "task": "pay"}])

    words = [record.getMessage() for record in caplog.records]
    assert words == [
        *(f"task.submitted: pay 0-{number}" for number in range(4)), "task.submitted: pay 1-0",
        "task.completed: pay x, after 0.5 s", "task.lines_left_out: 7 of task.submitted",
        "task.submitted: pay later",
    ]  # fmt: skip


def test_what_was_left_out_is_said_though_no_task_comes_any_more(caplog: pytest.LogCaptureFixture) -> None:
    log = TaskLog(lambda: 10.0)
    log.set_up(logging.INFO, per_second=1)
    waiting: list[Any] = []

    def later(say: Any) -> bool:
        waiting.append(say)
        return True

    log.later = later

    with caplog.at_level(logging.INFO, "drumline.tasks"):
        log.write(SUBMITTED, ({"task_id": str(number), "task": "pay"} for number in range(3)), count=3)
        log.write(SUBMITTED, [{"task_id": "3", "task": "pay"}])
        (say,) = waiting
        say()

    assert [record.getMessage() for record in caplog.records][-1] == "task.lines_left_out: 3 of task.submitted"


async def test_tasks_of_a_job_and_repetitions_are_told_once(house: House, lines: Any) -> None:
    set_up_logging("info", "json", tasks="info")

    for _ in range(2):
        await house.engine.submissions.submit(request("pay", idempotency_key="once"))

    submitted = [event for event in lines() if event.get("event.action") == "task.submitted"]
    assert len(submitted) == 1
