"""Sync functions, which run in threads."""

import asyncio
import threading
import time
from contextvars import ContextVar

from drumline.core.state import State
from drumline.sdk.context import Context, current, inject
from drumline.sdk.signals import Permanent
from tests.worker.house import House, result_of, until

PLACE: ContextVar[str] = ContextVar("place", default="nowhere")


async def test_a_sync_function_runs_in_a_thread(house: House) -> None:
    @house.app.task(name="where")
    def where() -> list[object]:
        return [threading.current_thread() is threading.main_thread(), current().name]

    async with house.worker():
        view = await house.run("where")

    assert result_of(view) == [False, "where"]


async def test_sync_functions_run_side_by_side_up_to_the_limit(house: House) -> None:
    both = threading.Barrier(2, timeout=10)

    @house.app.task(name="meet")
    def meet() -> int:
        return both.wait()

    async with house.worker(threads=2):
        tasks = [await house.submit("meet") for _ in range(4)]
        views = [await house.ended(task) for task in tasks]

    assert sorted(result_of(view) for view in views) == [0, 0, 1, 1]


async def test_context_variables_reach_the_thread(house: House) -> None:
    @house.app.task(name="place")
    def place() -> str:
        return PLACE.get()

    PLACE.set("here")
    async with house.worker():
        view = await house.run("place")

    assert result_of(view) == "here"


async def test_a_permanent_error_in_a_thread_is_not_retried(house: House) -> None:
    @house.app.task(name="never")
    def never() -> None:
        raise Permanent("no")

    async with house.worker():
        view = await house.run("never")

    assert view.state is State.FAILED


async def test_an_exit_in_a_thread_is_a_failure_like_any_other(house: House) -> None:
    @house.app.task(name="exit")
    def leave() -> None:
        raise SystemExit(3)

    async with house.worker():
        view = await house.try_once("exit")

    assert view.state is State.QUEUED


async def test_a_cancelled_function_sees_it_and_stops(house: House) -> None:
    started = threading.Event()

    @house.app.task(name="loop")
    def loop(*, ctx: Context[None] = inject()) -> None:
        started.set()
        while True:
            ctx.raise_if_cancelled()
            time.sleep(0.002)

    async with house.worker(beat_every=0.02, stop_grace=10.0):
        task = await house.submit("loop")
        await until(started.is_set)
        await house.engine.control.cancel(task)
        view = await house.ended(task)

    assert view.state is State.CANCELLED


async def test_a_timeout_is_reported_although_the_thread_cannot_be_stopped(house: House) -> None:
    go = threading.Event()

    @house.app.task(name="stuck")
    def stuck() -> None:
        go.wait(10)

    async with house.worker(capacity=2, stop_grace=0.01) as shift:
        view = await house.try_once("stuck", timeout=2)  # long enough for the thread to begin
        taken = shift.worker._services.held_attempts.free
        go.set()
        await until(lambda: shift.worker._services.held_attempts.free == 2)

    assert view.state is State.QUEUED
    assert taken == 1, "the slot of a thread that still runs is not free"


async def test_a_lost_lease_is_seen_by_the_thread(house: House) -> None:
    started, seen = threading.Event(), threading.Event()

    @house.app.task(name="loop")
    def loop(*, ctx: Context[None] = inject()) -> None:
        started.set()
        while not ctx.is_cancelled:
            time.sleep(0.002)
        seen.set()

    async with house.worker(beat_every=0.02):
        task = await house.submit("loop")
        await until(started.is_set)
        await house.engine.control.cancel(task, force=True)
        await until(seen.is_set)

    assert house.line.settled == []


async def test_threads_are_used_again(house: House) -> None:
    @house.app.task(name="who")
    def who() -> str:
        return threading.current_thread().name

    async with house.worker():
        names = {result_of(await house.run("who")) for _ in range(10)}
        await asyncio.sleep(0)

    assert len(names) <= 2
