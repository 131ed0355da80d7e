"""A shard that is away holds up its own attempts, and no others."""

# ruff: noqa: T201 - what tasks print is their log

import asyncio

from drumline.core.state import State
from tests.worker.house import House, until


async def test_a_report_to_an_absent_shard_is_repeated_alone_until_it_is_taken(house: House) -> None:
    @house.app.task(name="work")
    async def work() -> None:
        pass

    far = await house.submit("work")
    house.line.away.add(far)

    async with house.worker(capacity=2):
        await until(lambda: house.line.settled)
        near = await house.run("work")
        assert (await house.get(far)).state is State.RUNNING
        house.line.away.clear()
        view = await house.ended(far)

    sent = [[report.lease.task for report in reports] for reports in house.line.settled]
    assert (near.state, view.state, view.attempt) == (State.COMPLETED, State.COMPLETED, 1)
    assert [task for tasks in sent for task in tasks].count(near.id) == 1


async def test_an_attempt_whose_report_is_not_taken_yet_is_held(house: House) -> None:
    @house.app.task(name="work")
    async def work() -> None:
        pass

    far = await house.submit("work")
    house.line.away.add(far)

    async with house.worker(capacity=2) as shift:
        await until(lambda: len(house.line.settled) > 1)
        held = shift.worker._services.held_attempts
        assert [attempt.task.lease.task for attempt in held] == [far]
        house.line.away.clear()
        await house.ended(far)
        await until(lambda: not len(held))


async def test_the_log_of_an_absent_shard_is_kept_when_it_is_back_and_holds_up_no_other(house: House) -> None:
    goes_on = asyncio.Event()

    @house.app.task(name="talk")
    async def talk(name: str) -> None:
        print(f"{name} begins")
        if name == "far":
            await goes_on.wait()
        print(f"{name} ends")

    far = await house.submit("talk", {"name": "far"})
    house.line.away.add(far)

    async with house.worker() as shift:
        await until(lambda: shift.worker._services.logs._left)
        near = await house.run("talk", {"name": "near"})
        goes_on.set()
        assert await house.log(near.id) == "near begins\nnear ends\n"
        assert await house.log(far) == ""
        house.line.away.clear()
        await house.ended(far)

    assert await house.log(far) == "far begins\nfar ends\n"


async def test_a_worker_that_leaves_gives_up_what_an_absent_shard_does_not_take(house: House) -> None:
    @house.app.task(name="work")
    async def work() -> None:
        print("a line")

    far = await house.submit("work")
    house.line.away.add(far)

    async with house.worker(grace=0.01, stop_grace=0.01) as shift:
        await house.running(far)
        shift.hurry.set()
        await shift.end()

    assert (await house.get(far)).state is State.RUNNING
