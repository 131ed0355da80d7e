"""One attempt of an async function: what its end means."""

import asyncio
import gc
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from drumline.core.attempt import AttemptOutcome
from drumline.core.ids import TaskId
from drumline.core.state import State
from drumline.sdk.app import Drumline
from drumline.sdk.context import Context, current, inject
from drumline.sdk.signals import Permanent, Retry, Snooze
from drumline.worker.attempt import Attempt
from tests.worker.house import House, result_of, until


class Outlandish(BaseException):
    """What a library might use to end a thread or a test."""


async def test_an_async_function_runs_with_its_arguments(house: House) -> None:
    @house.app.task(name="add")
    async def add(a: int, b: int = 2) -> int:
        await asyncio.sleep(0)
        return a + b

    async with house.worker():
        view = await house.run("add", {"a": 1})

    assert view.state is State.COMPLETED
    assert result_of(view) == 3


async def test_a_function_that_returns_nothing_has_the_result_null(house: House) -> None:
    @house.app.task(name="nothing")
    async def nothing() -> None: ...

    async with house.worker():
        view = await house.run("nothing")

    assert bytes(view.result or b"") == b"null"


async def test_an_unknown_error_is_retried_after_the_backoff(house: House) -> None:
    @house.app.task(name="break")
    async def broken() -> None:
        raise ZeroDivisionError("oops")

    async with house.worker():
        view = await house.try_once("break")

    assert view.state is State.QUEUED
    assert view.due_at == house.clock.now() + 2000
    (attempt,) = await house.engine.queries.attempts(view.id)
    assert attempt.outcome is AttemptOutcome.RETRIED
    assert attempt.error is not None
    assert (attempt.error.kind, attempt.error.message) == ("ZeroDivisionError", "oops")
    assert "test_attempt.py" in attempt.error.traceback
    assert "drumline/worker" not in attempt.error.traceback


async def test_a_retried_task_runs_again_when_it_is_due(house: House) -> None:
    tries = 0

    @house.app.task(name="flaky")
    async def flaky() -> int:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise ConnectionError("away")
        return tries

    async with house.worker():
        task = (await house.try_once("flaky")).id
        house.clock.advance(2)
        await until(lambda: tries == 2)
        await house.requeued(task)
        house.clock.advance(4)
        view = await house.ended(task)

    assert result_of(view) == 3


async def test_retry_says_when_to_try_again(house: House) -> None:
    @house.app.task(name="later")
    async def later() -> None:
        raise Retry("busy", after=30)

    async with house.worker():
        view = await house.try_once("later")

    assert view.due_at == house.clock.now() + 30_000


async def test_a_permanent_error_is_not_retried(house: House) -> None:
    @house.app.task(name="never")
    async def never() -> None:
        raise Permanent("card refused")

    async with house.worker():
        view = await house.run("never")

    assert view.state is State.FAILED
    assert view.attempt == 1
    assert view.error is not None
    assert view.error.message == "card refused"


async def test_snooze_runs_the_attempt_later_without_counting_it(house: House) -> None:
    snoozed = asyncio.Event()

    @house.app.task(name="sleepy")
    async def sleepy(*, ctx: Context[None] = inject()) -> int:
        if not snoozed.is_set():
            snoozed.set()
            raise Snooze(60)
        return ctx.attempt

    async with house.worker():
        task = await house.submit("sleepy")
        await snoozed.wait()
        view = await house.requeued(task)
        assert view.due_at == house.clock.now() + 60_000
        house.clock.advance(60)
        view = await house.ended(task)

    assert result_of(view) == 1
    assert view.failures == 0


@pytest.mark.parametrize(
    ("error", "is_permanent"), [(KeyError, True), (LookupError, False), (TimeoutError, False), (ValueError, True)]
)
async def test_the_definition_says_which_errors_are_worth_a_retry(
    house: House, error: type[Exception], is_permanent: bool
) -> None:
    @house.app.task(name="choosy", retry_on=(LookupError, TimeoutError), give_up_on=(KeyError,))
    async def choosy() -> None:
        raise error("x")

    async with house.worker():
        view = await (house.run("choosy") if is_permanent else house.try_once("choosy"))

    assert view.state is (State.FAILED if is_permanent else State.QUEUED)


@pytest.mark.parametrize("is_async", [True, False])
async def test_an_exit_is_retried_only_if_the_definition_names_it(house: House, is_async: bool) -> None:
    def leave() -> None:
        raise SystemExit(3)

    async def leave_later() -> None:
        raise SystemExit(3)

    function: Any = leave_later if is_async else leave
    house.app.task(name="choosy", retry_on=(LookupError,))(function)
    house.app.task(name="stubborn", retry_on=(SystemExit,))(function)

    async with house.worker():
        choosy, stubborn = await house.run("choosy"), await house.try_once("stubborn")

    assert (choosy.state, stubborn.state) == (State.FAILED, State.QUEUED)


@pytest.mark.parametrize("payload", [{"a": "text"}, {}, {"a": 1, "b": 2}, {"a": 1, "c": 3}, [1, 2, 3], "text"])
async def test_arguments_that_do_not_fit_fail_the_task_for_good(house: House, payload: Any) -> None:
    @house.app.task(name="typed")
    async def typed(a: int, *, c: str = "") -> None: ...

    async with house.worker():
        view = await house.run("typed", payload)

    assert view.state is State.FAILED
    assert view.error is not None
    assert view.error.kind == "Invalid"
    assert view.error.message.startswith("payload")


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
async def test_a_result_with_a_number_that_json_has_not_fails_the_task_for_good(house: House, number: float) -> None:
    @house.app.task(name="strange")
    async def strange() -> dict[str, float]:
        return {"mean": number}

    async with house.worker():
        view = await house.run("strange")

    assert view.state is State.FAILED
    assert view.attempt == 1
    assert view.error is not None
    assert view.error.message.startswith("result.mean: is NaN or infinite")


async def test_a_result_that_is_no_json_fails_the_task_for_good(house: House) -> None:
    @house.app.task(name="strange")
    async def strange() -> object:
        return object()

    async with house.worker():
        view = await house.run("strange")

    assert view.state is State.FAILED
    assert view.error is not None
    assert "cannot be written as JSON" in view.error.message


@pytest.mark.parametrize("kind", ["long", "deep"])
async def test_a_result_that_is_too_large_fails_the_task_for_good(house: House, kind: str) -> None:
    @house.app.task(name="large")
    async def large() -> Any:
        deep: list[Any] = []
        for _ in range(200):
            deep = [deep]
        return "x" * 2_000_000 if kind == "long" else deep

    async with house.worker():
        view = await house.run("large")

    assert view.state is State.FAILED
    assert view.error is not None
    assert view.error.message.startswith("result: ")


async def test_a_timeout_stops_the_attempt_and_is_retried(house: House) -> None:
    cleaned_up = asyncio.Event()

    @house.app.task(name="slow", timeout=60)
    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned_up.set()

    async with house.worker():
        view = await house.try_once("slow", timeout=2)  # long enough to begin

    assert cleaned_up.is_set()
    (attempt,) = await house.engine.queries.attempts(view.id)
    assert attempt.error is not None
    assert attempt.error.kind == "timeout"
    assert "2 s" in attempt.error.message


async def test_the_definitions_timeout_holds_for_tasks_without_one(house: House) -> None:
    @house.app.task(name="slow", timeout=0.03)
    async def slow() -> None:
        await asyncio.Event().wait()

    async with house.worker():
        view = await house.try_once("slow")

    (attempt,) = await house.engine.queries.attempts(view.id)
    assert attempt.error is not None
    assert attempt.error.kind == "timeout"


async def test_a_cancelled_task_is_stopped_at_the_next_beat(house: House) -> None:
    started = asyncio.Event()

    @house.app.task(name="endless")
    async def endless() -> None:
        started.set()
        await asyncio.Event().wait()

    async with house.worker(beat_every=0.02):
        task = await house.submit("endless")
        await started.wait()
        await house.engine.control.cancel(task)
        view = await house.ended(task)

    assert view.state is State.CANCELLED


@pytest.mark.parametrize("error", [SystemExit, asyncio.CancelledError, Outlandish, StopIteration])
async def test_no_error_of_user_code_ends_the_worker(house: House, error: type[BaseException]) -> None:
    @house.app.task(name="rude")
    async def rude() -> None:
        raise error

    @house.app.task(name="fine")
    async def fine() -> int:
        return 1

    async with house.worker():
        await house.try_once("rude")
        view = await house.run("fine")

    assert result_of(view) == 1


@pytest.mark.parametrize("worse", [RuntimeError, SystemExit])
async def test_errors_that_cannot_be_shown_are_reported_all_the_same(house: House, worse: type[BaseException]) -> None:
    class Nasty(Exception):
        def __str__(self) -> str:
            raise worse

    @house.app.task(name="nasty")
    async def nasty() -> None:
        raise Nasty

    @house.app.task(name="surrogate")
    async def surrogate() -> None:
        raise ValueError("\ud800 \x00")

    async with house.worker():
        await house.try_once("nasty")
        view = await house.try_once("surrogate")

    (attempt,) = await house.engine.queries.attempts(view.id)
    assert attempt.error is not None
    assert attempt.error.message == "? \ufffd"


async def test_a_task_knows_its_attempt(house: House) -> None:
    @house.app.task(name="self")
    async def itself(*, ctx: Context[None] = inject()) -> list[Any]:
        assert current() is ctx
        return [ctx.id, ctx.name, ctx.attempt, ctx.queue, ctx.deadline is not None, ctx.is_cancelled]

    async with house.worker():
        view = await house.run("self", queue="mail", timeout=60)

    assert result_of(view) == [view.id, "self", 1, "mail", True, False]


async def test_the_apps_lifespan_is_open_while_the_worker_works(house: House) -> None:
    @dataclass
    class Pantry:
        is_open: bool = True

    pantry = Pantry()

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[Pantry]:
        yield pantry
        pantry.is_open = False

    house.app = Drumline("tests", lifespan=lifespan)

    @house.app.task(name="look")
    async def look(*, ctx: Context[Pantry] = inject()) -> bool:
        return ctx.state.is_open

    async with house.worker():
        view = await house.run("look")

    assert result_of(view) is True
    assert not pantry.is_open


async def test_a_file_that_a_task_makes_is_stored_before_it_is_completed(house: House) -> None:
    @house.app.task(name="make")
    async def make(*, ctx: Context[None] = inject()) -> None:
        ctx.put_artifact("hello.txt", "hello", "text/plain")

    async with house.worker():
        view = await house.run("make")

    artifact = await house.engine.queries.artifact(view.id, "hello.txt")
    assert (artifact.data, artifact.content_type) == (b"hello", "text/plain")


@pytest.mark.parametrize("name", ["../etc/passwd", "a/b", "a\\b", "..", "", "a\nb", "x" * 300])
async def test_a_file_name_is_no_path(house: House, name: str) -> None:
    @house.app.task(name="make")
    async def make(*, ctx: Context[None] = inject()) -> None:
        ctx.put_artifact(name, b"")

    async with house.worker():
        view = await house.try_once("make")

    assert await house.engine.queries.artifacts(view.id) == []


async def test_cleaning_up_may_take_its_time_when_an_attempt_is_stopped(house: House) -> None:
    @house.app.task(name="tidy", timeout=timedelta(seconds=0.02))
    async def tidy() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0.05)
        return "never mind"

    async with house.worker():
        view = await house.try_once("tidy")

    assert view.result is None


async def test_an_attempt_is_a_task_of_the_loop_that_bears_its_id(house: House) -> None:
    @house.app.task(name="who")
    async def who() -> str:
        task = asyncio.current_task()
        return task.get_name() if task else ""

    async with house.worker():
        view = await house.run("who")

    assert result_of(view) == view.id


async def test_attempts_are_made_by_the_loops_task_factory_if_it_has_one(house: House) -> None:
    class Marked(asyncio.Task[Any]):
        """A task as a library makes it that follows tasks."""

    @house.app.task(name="who")
    async def who() -> str:
        return type(asyncio.current_task()).__name__

    asyncio.get_running_loop().set_task_factory(lambda loop, coro, **how: Marked(coro, loop=loop, **how))
    async with house.worker():
        view = await house.run("who")

    assert result_of(view) == "Marked"


async def test_an_attempt_that_has_ended_leaves_nothing_to_collect(house: House) -> None:
    @house.app.task(name="ask")
    async def ask(*, ctx: Context[None] = inject()) -> None:
        assert current() is ctx

    gc.collect()
    gc.disable()
    try:
        async with house.worker():
            view = await house.run("ask")
            await until(lambda: view.id not in _attempted())
    finally:
        gc.enable()


def _attempted() -> set[TaskId]:
    """Return the tasks whose attempts are still in memory."""
    return {each.task.lease.task for each in gc.get_objects() if type(each) is Attempt}
