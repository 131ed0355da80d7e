"""How far tasks are, by their own word: the latest, about once a second, from wherever they run."""

import asyncio
import threading
import time

from drumline.core.attempt import Progress
from drumline.core.ids import TaskId
from drumline.sdk.context import Context, inject
from tests.worker import process_tasks
from tests.worker.house import House, result_of, until


async def is_at(house: House, task: TaskId, progress: Progress) -> bool:
    return await house.engine.store.outputs.progress([task]) == [progress]


async def test_the_latest_word_is_told_while_the_task_runs(house: House) -> None:
    go = asyncio.Event()

    @house.app.task(name="count")
    async def count(*, ctx: Context[None] = inject()) -> None:
        for number in range(1000):
            ctx.progress(number + 1, 1000, f"row {number}")
        await go.wait()

    async with house.worker(progress_every=0.01):
        task = await house.submit("count")

        await until(lambda: is_at(house, task, Progress(1000, 1000, "row 999")))
        go.set()
        await house.ended(task)

    assert len(house.line.told) < 10, "a thousand words are a few messages"
    assert await house.engine.store.outputs.progress([task]) == [None]


async def test_threads_tell_it_too(house: House) -> None:
    go = threading.Event()

    @house.app.task(name="in thread")
    def in_thread(*, ctx: Context[None] = inject()) -> None:
        ctx.progress(3, 4)
        go.wait(20)

    async with house.worker(progress_every=0.01):
        task = await house.submit("in thread")
        await until(lambda: is_at(house, task, Progress(3, 4)))
        go.set()
        await house.ended(task)


async def test_child_processes_tell_it_too(house: House) -> None:
    house.app = process_tasks.app
    async with house.worker(progress_every=0.01):
        task = await house.submit("advance", {"seconds": 2.0})

        await until(lambda: is_at(house, task, Progress(1, 2, "half")))


async def test_what_makes_no_sense_is_left_out(house: House) -> None:
    @house.app.task(name="odd")
    async def odd(*, ctx: Context[None] = inject()) -> str:
        ctx.progress(float("nan"))
        ctx.progress(1, float("inf"))
        return "done"

    async with house.worker(progress_every=0.01):
        view = await house.run("odd")

    assert result_of(view) == "done"
    assert house.line.told == []


async def test_an_engine_that_is_away_does_not_hold_up_the_task(house: House) -> None:
    @house.app.task(name="busy")
    async def busy(*, ctx: Context[None] = inject()) -> None:
        began = time.monotonic()
        while time.monotonic() - began < 0.3:
            ctx.progress(1, 2)
            await asyncio.sleep(0.01)

    async with house.worker(progress_every=0.01):
        task = await house.submit("busy")
        await until(lambda: bool(house.line.told))
        house.line.is_cut = True
        await asyncio.sleep(0.1)
        house.line.is_cut = False
        await house.ended(task)
