"""Whatever user code raises ends the attempt, counts, and is retried by the task's policy."""

import asyncio
import concurrent.futures
from collections.abc import AsyncIterator
from typing import Any

import pytest

from drumline.core.attempt import AttemptOutcome
from drumline.core.state import State
from tests.worker import process_tasks
from tests.worker.house import House, result_of, until


class Outlandish(BaseException):
    """What a library might use to end a thread or a test."""


RAISED = {
    "KeyboardInterrupt": KeyboardInterrupt(),
    "GeneratorExit": GeneratorExit(),
    "SystemExit": SystemExit(0),
    "asyncio.CancelledError": asyncio.CancelledError(),
    "futures.CancelledError": concurrent.futures.CancelledError(),
    "StopIteration": StopIteration(),
    "StopAsyncIteration": StopAsyncIteration(),
    "BaseException": BaseException("bare"),
    "Outlandish": Outlandish("subclass"),
    "group": BaseExceptionGroup("several", [KeyboardInterrupt(), GeneratorExit(), ValueError("x")]),
}


async def failed_for_good(house: House, name: str) -> Any:
    """Submit a task with one retry, see both attempts fail, and return its attempts."""
    task = await house.submit(name, retries=1)
    await until(lambda: house._has_failed(task))
    house.clock.advance(3600)
    view = await house.ended(task)
    assert view.state is State.FAILED
    assert view.attempt == 2
    attempts = await house.engine.queries.attempts(task)
    assert [attempt.outcome for attempt in attempts] == [AttemptOutcome.RETRIED, AttemptOutcome.FAILED]
    return attempts


@pytest.mark.parametrize("kind", RAISED)
@pytest.mark.parametrize("where", ["async", "thread"])
async def test_whatever_a_function_raises_is_counted_and_retried(house: House, kind: str, where: str) -> None:
    def rude() -> None:
        raise RAISED[kind]

    async def rude_async() -> None:
        await asyncio.sleep(0)
        raise RAISED[kind]

    house.app.task(name="rude")(rude_async if where == "async" else rude)

    @house.app.task(name="fine")
    async def fine() -> int:
        return 1

    async with house.worker():
        attempts = await failed_for_good(house, "rude")
        assert result_of(await house.run("fine")) == 1

    assert attempts[0].error is not None


@pytest.mark.parametrize("kind", ["KeyboardInterrupt", "GeneratorExit", "SystemExit", "CancelledError", "group"])
async def test_whatever_a_function_raises_in_a_child_process_is_counted_and_retried(house: House, kind: str) -> None:
    house.app = process_tasks.app
    async with house.worker(processes=1):
        task = await house.submit("raise-base", {"kind": kind}, retries=1)
        await until(lambda: house._has_failed(task))
        house.clock.advance(3600)
        view = await house.ended(task)

    assert (view.state, view.attempt) == (State.FAILED, 2)


@pytest.mark.parametrize("then", ["waits", "returns", "logs"])
async def test_a_function_that_cancels_its_own_task_has_failed(house: House, then: str) -> None:
    @house.app.task(name="cancel")
    async def cancel() -> None:
        task = asyncio.current_task()
        assert task is not None
        if then == "logs":
            print("so that something is left to send")  # noqa: T201
        task.cancel()
        if then == "waits":
            await asyncio.sleep(0)

    async with house.worker():
        if then == "waits":
            await failed_for_good(house, "cancel")
        else:
            view = await house.run("cancel")
            assert view.state is State.COMPLETED


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
async def test_an_error_on_the_way_out_of_a_generator_is_counted(house: House, error: type[BaseException]) -> None:
    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            raise error

    @house.app.task(name="generate")
    async def generate() -> None:
        async for _ in (generator := numbers()):
            await generator.aclose()  # type: ignore[attr-defined]

    async with house.worker():
        await failed_for_good(house, "generate")


async def test_an_error_whose_notes_raise_is_counted(house: House) -> None:
    class Nasty(Exception):
        @property
        def __notes__(self) -> list[str]:  # type: ignore[override]
            raise KeyboardInterrupt

    @house.app.task(name="nasty")
    async def nasty() -> None:
        raise Nasty("x")

    async with house.worker():
        attempts = await failed_for_good(house, "nasty")

    assert attempts[0].error.message == "x"
