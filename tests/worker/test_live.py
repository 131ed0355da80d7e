"""A worker that is told to work otherwise while it works."""

import asyncio
from collections import Counter
from typing import Any

from msgspec.structs import replace

from drumline.core.state import State
from drumline.worker.claimer import QueueShares
from drumline.worker.options import WorkerOptions
from tests.worker.house import House, Shift, until

SETTINGS = WorkerOptions(capacity=8, stop_grace=0.5, grace=5.0, log_every=0.02)


def gated(house: House) -> tuple[asyncio.Event, list[str]]:
    """Give the app a task that begins, says so and waits."""
    gate, begun = asyncio.Event(), list[str]()

    @house.app.task(name="wait")
    async def wait(text: str = "") -> None:
        begun.append(text)
        await gate.wait()

    return gate, begun


def change(shift: Shift, **settings: Any) -> None:
    shift.worker.change(replace(SETTINGS, **settings))


async def test_more_slots_are_filled_at_once_and_fewer_end_by_themselves(house: House) -> None:
    gate, begun = gated(house)
    tasks = [await house.submit("wait") for _ in range(30)]

    async with house.worker(capacity=2) as shift:
        await until(lambda: len(begun) == 2)
        change(shift, capacity=20)
        await until(lambda: len(begun) == 20)
        (seen,) = await house.engine.sessions.list()
        assert seen.spec.capacity == 20
        assert seen.id == shift.worker.session

        change(shift, capacity=1)
        gate.set()
        for task in tasks:
            assert (await house.ended(task)).state is State.COMPLETED

    assert max(house.line.claimed[-5:]) <= 1


async def test_a_worker_that_waits_for_one_queue_serves_another_once_told(house: House) -> None:
    gate, _ = gated(house)
    gate.set()

    async with house.worker(queues=("a",)) as shift:
        await until(lambda: shift.worker.session is not None)
        task = await house.submit("wait", queue="b")
        change(shift, queues=("b",))
        assert (await house.ended(task)).state is State.COMPLETED
        other = await house.submit("wait", queue="a")
        last = await house.submit("wait", {"text": "last"}, queue="b")
        await house.ended(last)

        assert (await house.get(other)).state is State.QUEUED
        (seen,) = await house.engine.sessions.list()
        assert seen.spec.queues == ("b",)
        change(shift, queues=())
        assert (await house.ended(other)).state is State.COMPLETED


async def test_a_session_opened_anew_has_the_new_settings(house: House) -> None:
    async with house.worker(queues=("a",)) as shift:
        await until(lambda: shift.worker.session is not None)
        change(shift, queues=("b",), capacity=3, beat_every=0.01)
        first = shift.worker.session
        assert first is not None
        await house.engine.store.sessions.close_session(first)
        await until(lambda: shift.worker.session not in {None, first})

        (seen,) = await house.engine.sessions.list()
        assert (seen.spec.queues, seen.spec.capacity) == (("b",), 3)


async def test_queues_get_room_by_their_weights(house: House) -> None:
    begun: list[str] = []

    @house.app.task(name="quick")
    async def quick(text: str) -> None:
        begun.append(text)

    tasks = [await house.submit("quick", {"text": queue}, queue=queue) for _ in range(200) for queue in ("a", "b")]

    async with house.worker(capacity=4, queues=("a", "b"), weights={"a": 3}):
        for task in tasks:
            await house.ended(task)

    first = Counter(begun[:200])
    assert 140 <= first["a"] <= 160
    assert Counter(begun) == {"a": 200, "b": 200}


async def test_no_slot_waits_for_a_queue_that_is_empty(house: House) -> None:
    gate, begun = gated(house)
    for _ in range(8):
        await house.submit("wait", queue="b")

    async with house.worker(capacity=8, queues=("a", "b"), weights={"a": 7}):
        await until(lambda: len(begun) == 8)
        gate.set()


def test_turns_are_shared_out_exactly_in_the_long_run() -> None:
    turns = QueueShares({"a": 5, "b": 2, "c": 1})
    given: Counter[str] = Counter()

    for room in [1, 3, 1, 2, 7, 1, 1] * 50:
        shares = turns.share(room)
        assert sum(count for _, count in shares) == room
        for queue, count in shares:
            given[queue] += count
            turns.took(queue, count, count)

    total = sum(given.values())
    assert abs(given["a"] - total * 5 / 8) <= 2
    assert abs(given["c"] - total / 8) <= 2


def test_an_empty_queue_saves_nothing_up() -> None:
    turns = QueueShares({"a": 1, "b": 3})
    for _ in range(100):
        for queue, count in turns.share(4):
            turns.took(queue, count, count if queue == "a" else 0)

    assert dict(turns.share(4)) == {"a": 1, "b": 3}


async def test_reports_are_sent_in_batches_of_the_size_that_is_set(house: House) -> None:
    gate, begun = gated(house)
    tasks = [await house.submit("wait") for _ in range(6)]

    async with house.worker(capacity=6, report_batch=2):
        await until(lambda: len(begun) == 6)
        gate.set()
        for task in tasks:
            assert (await house.ended(task)).state is State.COMPLETED

    assert max(map(len, house.line.settled)) == 2
