import asyncio
import inspect
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from drumline import Backoff, Drumline, Invalid, Mode, NotifyTarget, Task
from drumline.sdk.options import Options


def request_of(task: Any, *args: Any) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(msgspec.json.encode(task.call(*args).request))
    return decoded


def test_a_task_stays_the_function_it_was() -> None:
    app = Drumline("test")

    @app.task(queue="sums")
    def add(a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    assert add(1) == 3
    assert (add.__name__, add.__doc__) == ("add", "Add.")  # type: ignore[attr-defined]
    assert str(inspect.signature(add)) == "(a: int, b: int = 2) -> int"
    assert app.registry.get(add.name).function is add.__wrapped__


async def test_an_async_task_stays_the_function_it_was() -> None:
    app = Drumline("test")

    @app.task
    async def double(n: int) -> int:
        await asyncio.sleep(0)
        return n * 2

    assert await double(4) == 8
    assert double.definition.mode is Mode.ASYNC


def test_what_the_definition_says_goes_with_every_submission() -> None:
    app = Drumline("test")

    @app.task(
        name="charge",
        queue="billing",
        priority="high",
        max_attempts=8,
        timeout="30s",
        backoff=Backoff.exponential(2, cap=600),
        tags=["money"],
    )
    def charge(order: int) -> None: ...

    assert request_of(charge, 7) == {
        "name": "charge",
        "payload": {"order": 7},
        "queue": "billing",
        "priority": 50,
        "retries": 7,
        "timeout": 30.0,
        "backoff": {"base": 2, "cap": 600},
        "tags": ["money"],
    }


def test_a_plain_task_submits_its_name_and_payload_only() -> None:
    app = Drumline("test")

    @app.task(name="ping")
    def ping() -> None: ...

    assert request_of(ping) == {"name": "ping", "payload": {}}


def ping() -> None: ...


@pytest.fixture
def task() -> Task[[], None]:
    return Drumline("test").task(name="ping", queue="mail", retries=1)(ping)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (Options(delay=timedelta(minutes=1)), {"delay": 60.0}),
        (Options(delay="1m"), {"delay": "1m"}),
        (Options(run_at=datetime(2030, 1, 1, tzinfo=UTC)), {"run_at": "2030-01-01T00:00:00Z"}),
        (Options(queue="slow", priority=5), {"queue": "slow", "priority": 5}),
        (Options(retries=0), {"retries": 0}),
        (Options(timeout=timedelta(seconds=2)), {"timeout": 2.0}),
        (Options(backoff=5), {"backoff": 5}),
        (Options(key="once"), {"idempotency_key": "once"}),
        (Options(tags=["a", "b"]), {"tags": ["a", "b"]}),
        (Options(notify=[NotifyTarget(email="a@example.org")]), {"notify": [{"email": "a@example.org"}]}),
    ],
)
def test_options_change_one_submission(task: Task[[], None], options: Options, said: dict[str, object]) -> None:
    plain = request_of(task)

    assert request_of(task.options(**options)) == plain | said
    assert request_of(task) == plain


def test_later_options_have_the_last_word(task: Task[[], None]) -> None:
    first = task.options(delay=5, queue="a")

    assert request_of(first.options(run_at=datetime(2030, 1, 1, tzinfo=UTC))).keys() >= {"run_at"}
    assert "delay" not in request_of(first.options(run_at=datetime(2030, 1, 1, tzinfo=UTC)))
    assert request_of(first.options(queue="b"))["queue"] == "b"


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"retries": 2, "max_attempts": 3}, TypeError),
        ({"mode": Mode.THREAD, "process": True}, TypeError),
        ({"retries": -1}, Invalid),
        ({"max_attempts": 0}, Invalid),
        ({"priority": 1000}, Invalid),
        ({"queue": "no spaces"}, Invalid),
        ({"timeout": 0}, Invalid),
        ({"backoff": Backoff(factor=0)}, Invalid),
        ({"tags": ["x" * 65]}, Invalid),
        ({"name": ""}, Invalid),
    ],
)
def test_settings_that_make_no_sense_fail_where_they_are_written(
    settings: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        Drumline("test").task(**settings)(ping)


def test_a_misspelt_word_is_refused_with_the_one_that_was_meant(task: Task[[], None]) -> None:
    with pytest.raises(TypeError, match="no setting 'retires'; did you mean retries"):
        Drumline("test").task(retires=3)(lambda: None)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="no option 'dely'; did you mean delay"):
        task.options(dely=3)  # type: ignore[call-arg]


def test_a_time_is_a_datetime(task: Task[[], None]) -> None:
    with pytest.raises(TypeError, match="run_at must be a datetime"):
        task.options(run_at="tomorrow")  # type: ignore[arg-type]


def test_process_is_short_for_the_mode() -> None:
    assert Drumline("test").task(process=True)(ping).definition.mode is Mode.PROCESS
