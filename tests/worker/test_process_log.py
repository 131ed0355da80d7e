"""What the worker's own log says of attempts that failed, and of what tasks log with fields."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from drumline.core.outcome import ErrorInfo, Failed
from drumline.observe.logging import set_up_logging
from drumline.worker.capture import abandon_capture, captured
from drumline.worker.process_log import MOST_A_SECOND, FailureLog
from tests.worker import process_tasks
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


def failures(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event.get("event.action") == "task.failed"]


@pytest.mark.parametrize("kind", ["async", "thread", "timeout", "unknown"])
async def test_a_failed_attempt_leaves_a_line_with_task_attempt_error_and_duration(
    house: House, lines: Any, kind: str
) -> None:
    async def broken() -> None:
        raise ConnectionError("the till is closed")

    def broken_in_thread() -> None:
        raise ConnectionError("the till is closed")

    async def slow() -> None:
        import asyncio  # noqa: PLC0415

        await asyncio.Event().wait()

    set_up_logging("info", "json")
    function = {"async": broken, "thread": broken_in_thread, "timeout": slow, "unknown": broken}[kind]
    options = {"timeout": 0.05} if kind == "timeout" else {}
    house.app.task(name="pay", **options)(function)  # type: ignore[call-overload]

    async with house.worker():
        view = await house.try_once("pay", queue="till")

    (event,) = failures(lines())
    assert event["log.level"] == "warning"
    facts = event["drumline"]
    assert (facts["task_id"], facts["task"], facts["queue"], facts["attempt"]) == (view.id, "pay", "till", 1)
    assert facts["seconds"] >= 0
    expected = "timeout: " if kind == "timeout" else "ConnectionError: the till is closed"
    assert event["error.message"].startswith(expected)
    assert view.id in event["message"]


async def test_the_fields_that_a_task_logs_are_kept_in_both_logs(house: House, lines: Any) -> None:
    set_up_logging("info", "json")

    @house.app.task(name="note")
    def note() -> None:
        extra = {"order": 7, "customer": {"name": "Ada L", "password": "hunter2"}, "event": "mine", "level": "deep"}
        logging.getLogger("shop").warning("paid", extra=extra)

    async with house.worker():
        view = await house.run("note")
        log = await house.log(view.id)

    (event,) = [each for each in lines() if each["message"] == "paid"]
    assert event["drumline"]["extra"]["order"] == 7
    assert event["drumline"]["extra"]["customer"] == {"name": "Ada L", "password": "[redacted]"}
    assert event["drumline"]["extra"]["event"] == "mine"
    assert event["log.level"] == "warning"
    assert ' paid order=7 customer={"name": "Ada L", "password": "[redacted]"} event=mine level=deep\n' in log


async def test_the_fields_that_a_child_process_logs_are_kept(house: House) -> None:
    house.app = process_tasks.app
    async with house.worker(processes=1):
        view = await house.run("log-fields")
        log = await house.log(view.id)

    assert 'paid order=7 note="with spaces"' in log


async def test_a_mistake_in_a_logging_call_does_not_fail_the_task(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest's own raise

    class Nasty:
        def __repr__(self) -> str:
            raise RuntimeError

    @house.app.task(name="clumsy")
    async def clumsy() -> int:
        log = logging.getLogger("shop")
        log.warning("%d orders", "seven")
        log.warning("%s", Nasty(), extra={"nasty": Nasty()})
        log.warning("fine", extra={"nasty": Nasty()})
        return 1

    async with house.worker():
        view = await house.run("clumsy")
        log = await house.log(view.id)

    assert view.error is None
    assert "'%d orders' (cannot be formatted: TypeError" in log
    assert "fine nasty=" in log


async def test_a_storm_of_failures_is_counted_instead_of_written(lines: Any) -> None:
    set_up_logging("info", "json")
    now = 10.0
    log = FailureLog(lambda: now)
    facts: dict[str, str | int] = {"task_id": "t-1", "task": "pay", "queue": "till", "attempt": 1, "worker": "w-1"}
    for _ in range(10_000):
        log.write(facts, Failed(ErrorInfo("ValueError", "x" * 100_000)), seconds=0.1)
    now += 1
    log.write(facts, Failed(ErrorInfo("ValueError", "y")), seconds=0.1)

    events = lines()
    assert len(failures(events)) == MOST_A_SECOND + 1
    assert max(len(event["message"]) for event in events) < 1_000
    assert f"{10_000 - MOST_A_SECOND} more attempts failed" in json.dumps(events)


async def test_a_worker_captures_logs_after_others_were_left_behind_without_an_end(house: House) -> None:
    left = captured()
    left.__enter__()
    abandon_capture()
    abandon_capture()
    left.__exit__(None, None, None)  # too late: it is not counted twice

    @house.app.task(name="note")
    async def note() -> None:
        logging.getLogger("shop").warning("heard")

    async with house.worker():
        view = await house.run("note")
        log = await house.log(view.id)

    assert "heard" in log
