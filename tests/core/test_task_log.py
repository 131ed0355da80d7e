"""Lines about tasks: as many of each kind as a second has room for, and then how many were left out."""

import logging
from collections.abc import Callable

import pytest

from drumline.core.log_fields import extra_of, facts_of
from drumline.core.task_log import COMPLETED, SUBMITTED, TaskLog


class Second:
    """A clock that is moved by hand, and what is to be called when a second is over."""

    def __init__(self) -> None:
        self.now = 100.0
        self.due: list[Callable[[], None]] = []

    def later(self, say: Callable[[], None]) -> bool:
        self.due.append(say)
        return True


def facts(number: int, **more: str | float | None) -> dict[str, str | int | float | None]:
    return {"task": "mail", "task_id": f"t-{number}", **more}


@pytest.fixture
def second() -> Second:
    return Second()


@pytest.fixture
def log(second: Second) -> TaskLog:
    log = TaskLog(lambda: second.now)
    log.set_up(logging.INFO, per_second=2)
    return log


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


@pytest.fixture(autouse=True)
def captured(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, "drumline.tasks")
    return caplog


def test_a_line_has_the_task_and_how_long_it_took(log: TaskLog, caplog: pytest.LogCaptureFixture) -> None:
    log.write(COMPLETED, [facts(1, seconds=0.12345, worker=None)])
    log.write(SUBMITTED, [facts(2)])

    assert lines(caplog) == ["task.completed: mail t-1, after 0.123 s", "task.submitted: mail t-2"]
    assert facts_of(caplog.records[0]) == {"task": "mail", "task_id": "t-1", "seconds": 0.12345}
    assert [record.levelno for record in caplog.records] == [logging.INFO, logging.INFO]


def test_of_each_kind_only_so_many_are_written_in_a_second(
    log: TaskLog, second: Second, caplog: pytest.LogCaptureFixture
) -> None:
    log.write(SUBMITTED, [facts(number) for number in range(5)], count=5)
    log.write(COMPLETED, [facts(9)])
    second.now += 0.999
    log.write(SUBMITTED, [facts(6)])

    assert [line.split(": ")[0] for line in lines(caplog)] == [SUBMITTED, SUBMITTED, COMPLETED]


def test_what_was_left_out_is_said_in_the_next_second(
    log: TaskLog, second: Second, caplog: pytest.LogCaptureFixture
) -> None:
    log.write(SUBMITTED, [facts(number) for number in range(5)], count=5)
    log.write(SUBMITTED, [facts(6)])
    second.now += 1
    log.write(SUBMITTED, [facts(7)])

    assert lines(caplog)[2:] == ["task.lines_left_out: 4 of task.submitted", "task.submitted: mail t-7"]
    assert facts_of(caplog.records[2]) == {"action": SUBMITTED, "left_out": 4}


def test_what_was_left_out_is_said_when_the_second_is_over_if_that_is_awaited(
    log: TaskLog, second: Second, caplog: pytest.LogCaptureFixture
) -> None:
    log.later = second.later
    log.write(SUBMITTED, [facts(number) for number in range(3)], count=3)
    log.write(SUBMITTED, [facts(4)])
    (say,) = second.due

    second.now += 1
    log.write(SUBMITTED, [facts(5)])
    assert lines(caplog)[2:] == ["task.submitted: mail t-5"]
    say()
    assert lines(caplog)[3:] == ["task.lines_left_out: 2 of task.submitted"]

    log.write(SUBMITTED, [facts(number) for number in range(3)], count=3)
    assert len(second.due) == 2


def test_lines_are_written_at_their_level_and_only_if_the_process_writes_that(caplog: pytest.LogCaptureFixture) -> None:
    log = TaskLog()
    seen = [log.is_on]
    for level, threshold in (
        (logging.INFO, logging.INFO),
        (logging.INFO, logging.WARNING),
        (None, logging.INFO),
        (logging.WARNING, logging.WARNING),
    ):
        log.set_up(level)
        log.set_threshold(threshold)
        seen.append(log.is_on)
    log.write(SUBMITTED, [facts(number) for number in range(21)], count=21)
    log.say_left_out()
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    assert len(caplog.records) == 21
    assert seen == [False, True, False, False, True]


def record(**extra: object) -> logging.LogRecord:
    return logging.makeLogRecord({"name": "app", "msg": "hello", **extra})


def test_what_a_logging_call_adds_is_told_as_json_can_say_it() -> None:
    given = {"number": 7, "real": 1.5, "none": None, "yes": True, "list": [1, ("a",)], "map": {1: {"b": 2}}, "_own": 1}

    assert extra_of(record(**given)) == {
        "number": 7, "real": 1.5, "none": None, "yes": True, "list": [1, ["a"]], "map": {"1": {"b": 2}},
    }  # fmt: skip


def test_there_is_a_limit_to_what_is_told() -> None:
    many = extra_of(record(**{f"f{number}": number for number in range(101)}))
    large = extra_of(record(text="x" * 8193, items=list(range(101)), map=dict.fromkeys(range(101), 1)))

    assert len(many) == 100
    assert (len(large["text"]), len(large["items"]), len(large["map"])) == (8192, 100, 100)


def test_deep_values_are_told_as_text() -> None:
    deep: object = "x"
    for _ in range(7):
        deep = [deep]

    assert extra_of(record(deep=deep))["deep"] == [[[[["[['x']]"]]]]]


class Broken:
    def __str__(self) -> str:
        raise ValueError("no")


def test_a_value_that_cannot_be_shown_does_no_harm() -> None:
    assert extra_of(record(it=Broken())) == {"it": "(Broken that cannot be shown: ValueError)"}


def test_facts_are_told_of_our_own_records_only() -> None:
    assert facts_of(record(drumline_facts={"a": 1})) == {"a": 1}
    assert facts_of(record()) == {}
    assert facts_of(record(drumline_facts="x")) == {}
    assert extra_of(record(drumline_facts={"a": 1})) == {}
