"""Hooks of an app: before each submission, around each execution."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Generator
from contextvars import ContextVar
from pathlib import Path

import pytest
from msgspec.structs import replace

from drumline import Drumline, DrumlineError, Execution, ExecutionEnd, Invalid, Snooze, TaskFailed, TaskRequest
from drumline.core.outcome import Failed, Snoozed, Succeeded

SEEN: ContextVar[str] = ContextVar("seen", default="nothing")


@pytest.fixture
def local(tmp_path: Path) -> Drumline[None]:
    return Drumline("hooked", data=tmp_path)


def tagged(request: TaskRequest) -> TaskRequest:
    return replace(request, tags=(*(request.tags or ()), "hooked"))


async def tagged_later(request: TaskRequest) -> TaskRequest:
    await asyncio.sleep(0)
    return replace(request, tags=(*(request.tags or ()), "later"))


def test_every_way_to_submit_passes_the_hooks_in_their_order(app: Drumline[None]) -> None:
    app.before_submit(tagged)
    app.before_submit(tagged_later)
    app.before_submit(lambda _request: None)
    task = app.task(name="t")(lambda: None)

    many = app.submit_many([task.call()])
    handles = [task.submit(), app.submit_task("t"), *(each for each in many if not isinstance(each, DrumlineError))]

    assert [handle.info().tags for handle in handles] == [("hooked", "later")] * 3


async def test_every_async_way_to_submit_passes_them_too(app: Drumline[None]) -> None:
    app.before_submit(tagged_later)
    app.before_submit(tagged)
    task = app.task(name="t")(lambda: None)

    many = await app.asubmit_many([task.call()])
    handles = [await task.asubmit(), await app.asubmit_task("t")]
    handles += [each for each in many if not isinstance(each, DrumlineError)]

    assert [(await handle.ainfo()).tags for handle in handles] == [("later", "hooked")] * 3


async def test_an_async_hook_serves_a_blocking_call_on_a_loop(app: Drumline[None]) -> None:
    app.before_submit(tagged_later)

    with pytest.warns(RuntimeWarning, match="asubmit"):
        handle = app.submit_task("t")

    assert (await handle.ainfo()).tags == ("later",)


def test_what_a_hook_raises_refuses_the_submission(app: Drumline[None]) -> None:
    @app.before_submit
    def refuse(_request: TaskRequest) -> None:
        raise Invalid("is not sold today", field="name")

    with pytest.raises(Invalid, match="not sold today"):
        app.submit_task("t")


def test_a_hook_that_returns_something_else_is_named(app: Drumline[None]) -> None:
    app.before_submit(lambda request: request.name)

    with pytest.raises(TypeError, match="a TaskRequest or None"):
        app.submit_task("t")


def test_only_generators_go_around(local: Drumline[None]) -> None:
    with pytest.raises(TypeError, match="yields once"):
        local.around(lambda _execution: None)  # type: ignore[type-var]
    with pytest.raises(TypeError, match="TaskRequest"):
        local.before_submit(5)  # type: ignore[type-var]


def test_hooks_see_the_execution_and_how_it_ended(local: Drumline[None]) -> None:
    seen: list[tuple[str, object]] = []

    @local.around
    def outer(execution: Execution) -> Generator[None, ExecutionEnd]:
        seen.append(("outer begins", (execution.name, execution.arguments, execution.attempt)))
        end = yield
        seen.append(("outer ends", (type(end.outcome), end.value, end.is_completed)))

    @local.around
    async def inner(execution: Execution) -> AsyncGenerator[None, ExecutionEnd]:
        seen.append(("inner begins", execution.tags))
        end = yield
        await asyncio.sleep(0)
        seen.append(("inner ends", end.value))

    @local.task(name="add")
    def add(a: int, b: int) -> int:
        return a + b

    with local.running():
        assert add.options(tags=["x"]).submit(2, 3).result(timeout=20) == 5

    assert seen == [
        ("outer begins", ("add", {"a": 2, "b": 3}, 1)),
        ("inner begins", ("x",)),
        ("inner ends", 5),
        ("outer ends", (Succeeded, 5, True)),
    ]


def test_hooks_get_the_error_itself_and_what_it_means(local: Drumline[None]) -> None:
    ends: dict[str, ExecutionEnd] = {}

    @local.around
    def watch(execution: Execution) -> Generator[None, ExecutionEnd]:
        ends[execution.name] = yield

    @local.task(name="thread", retries=0)
    def in_thread() -> None:
        raise ValueError("thread")

    @local.task(name="loop", give_up_on=KeyError)
    async def on_loop() -> None:
        raise KeyError("loop")

    @local.task(name="given-up", give_up_on=KeyError)
    def given_up() -> None:
        raise KeyError("thread")

    @local.task(name="slow", timeout=0.05, retries=0)
    async def slow() -> None:
        await asyncio.Event().wait()

    with local.running():
        for task in (in_thread, on_loop, given_up, slow):
            with pytest.raises(TaskFailed):
                task.submit().result(timeout=20)

    assert [type(ends[name].error) for name in ("thread", "loop", "given-up")] == [ValueError, KeyError, KeyError]
    outcome = ends["slow"].outcome
    assert isinstance(outcome, Failed)
    assert outcome.error.kind == "timeout"


def test_a_snooze_is_no_failure(local: Drumline[None]) -> None:
    ends: list[ExecutionEnd] = []

    @local.around
    def watch(_execution: Execution) -> Generator[None, ExecutionEnd]:
        ends.append((yield))

    @local.task
    def snoozed() -> int:
        if not ends:
            raise Snooze(0)
        return 1

    with local.running():
        assert snoozed.submit().result(timeout=20) == 1

    assert isinstance(ends[0].outcome, Snoozed)
    assert [end.is_failed for end in ends] == [False, False]


def test_a_function_runs_in_the_context_that_a_hook_made(local: Drumline[None]) -> None:
    @local.around
    def set_it(execution: Execution) -> Generator[None, ExecutionEnd]:
        SEEN.set(execution.name)
        yield

    @local.task(name="in-thread")
    def in_thread() -> str:
        return SEEN.get()

    @local.task(name="on-loop")
    async def on_loop() -> str:
        return SEEN.get()

    with local.running():
        assert (in_thread.submit().result(timeout=20), on_loop.submit().result(timeout=20)) == ("in-thread", "on-loop")
    assert SEEN.get() == "nothing"


def test_what_a_hook_raises_before_the_task_fails_the_attempt(local: Drumline[None]) -> None:
    ended: list[ExecutionEnd] = []
    ran: list[int] = []

    @local.around
    def outer(_execution: Execution) -> Generator[None, ExecutionEnd]:
        ended.append((yield))

    @local.around
    def refuse(execution: Execution) -> Generator[None, ExecutionEnd]:
        if execution.attempt:
            raise PermissionError("not here")
        yield

    @local.task(retries=0)
    def work() -> None:
        ran.append(1)

    with local.running(), pytest.raises(TaskFailed, match="PermissionError: not here"):
        work.submit().result(timeout=20)

    assert ran == []
    assert [type(end.error) for end in ended] == [PermissionError]


def test_a_hook_must_yield(local: Drumline[None]) -> None:
    @local.around
    def silent(execution: Execution) -> Generator[None, ExecutionEnd]:
        if execution.attempt > 99:
            yield

    @local.task(retries=0)
    def work() -> None: ...

    with local.running(), pytest.raises(TaskFailed, match="silent did not yield"):
        work.submit().result(timeout=20)


def test_what_a_hook_raises_after_the_task_is_logged_and_changes_nothing(
    local: Drumline[None], caplog: pytest.LogCaptureFixture
) -> None:
    @local.around
    def clumsy(_execution: Execution) -> Generator[None, ExecutionEnd]:
        yield
        raise ValueError("too late")

    @local.around
    def twice(_execution: Execution) -> Generator[None, ExecutionEnd]:
        yield
        yield

    @local.task
    def work() -> int:
        return 1

    with caplog.at_level(logging.ERROR, "drumline.hooks"), local.running():
        assert work.submit().result(timeout=20) == 1

    lines = " ".join(record.getMessage() + str(record.exc_info) for record in caplog.records)
    assert "clumsy raised" in lines
    assert "too late" in lines
    assert "yielded twice" in lines
