import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any

import pytest

from drumline.aio.batcher import HEAVIEST, Batcher, BatchWeights
from drumline.core.errors import Overloaded, Unavailable
from drumline.testing.loop import SimulatedLoop


class Gate:
    """A backend that notes each batch and answers when it is let through."""

    def __init__(self, *, is_open: bool = True) -> None:
        self.batches: list[list[int]] = []
        self.open = asyncio.Event()
        self.most_at_once = 0
        self._at_once = 0
        if is_open:
            self.open.set()

    async def __call__(self, items: list[int]) -> Sequence[int]:
        self.batches.append(items)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            await self.open.wait()
        finally:
            self._at_once -= 1
        if any(item < 0 for item in items):
            raise ValueError(str(items))
        return [item * 10 for item in items]


async def steps(count: int = 5) -> None:
    """Let everything that can run do so."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_an_item_that_comes_alone_is_flushed_at_once() -> None:
    gate = Gate()
    batcher = Batcher(gate, name="test")

    assert await batcher.join(1) == 10

    assert gate.batches == [[1]]


async def test_items_gather_while_a_batch_is_in_flight_and_go_together() -> None:
    gate = Gate(is_open=False)
    batcher = Batcher(gate, name="test")
    first = asyncio.create_task(batcher.join(1))
    await steps()
    rest = [asyncio.create_task(batcher.join(n)) for n in (2, 3, 4)]
    await steps()
    assert gate.batches == [[1]]

    gate.open.set()

    assert await asyncio.gather(first, *rest) == [10, 20, 30, 40]
    assert gate.batches == [[1], [2, 3, 4]]


async def test_items_that_join_in_one_step_of_the_loop_share_the_first_batch() -> None:
    gate = Gate()
    batcher = Batcher(gate, name="test")

    assert await asyncio.gather(*(batcher.join(n) for n in range(5))) == [0, 10, 20, 30, 40]

    assert gate.batches == [[0, 1, 2, 3, 4]]


async def test_lists_keep_their_order_and_get_their_own_answers() -> None:
    gate = Gate()
    batcher = Batcher(gate, name="test")

    one, none, two = await asyncio.gather(
        batcher.join_many([3, 1, 2]), batcher.join_many([]), batcher.join_many([9, 8])
    )

    assert (one, none, two) == ([30, 10, 20], [], [90, 80])


async def test_no_batch_is_larger_than_the_cap() -> None:
    gate = Gate()
    batcher = Batcher(gate, name="test", largest=3)

    long, short = await asyncio.gather(batcher.join_many(range(8)), batcher.join_many([100, 101]))

    assert (long, short) == ([n * 10 for n in range(8)], [1000, 1010])
    assert max(map(len, gate.batches)) <= 3
    assert [item for batch in gate.batches for item in batch] == [*range(8), 100, 101]


async def test_flights_go_in_parallel_up_to_the_number_allowed() -> None:
    gate = Gate(is_open=False)
    batcher = Batcher(gate, name="test", largest=1, parallel=2)
    callers = [asyncio.create_task(batcher.join(n)) for n in range(5)]
    await steps()
    assert gate.batches == [[0], [1]]

    gate.open.set()

    assert await asyncio.gather(*callers) == [0, 10, 20, 30, 40]
    assert gate.most_at_once == 2


async def test_a_lone_item_takes_one_flight_however_many_are_allowed() -> None:
    gate = Gate(is_open=False)
    batcher = Batcher(gate, name="test", parallel=4)
    caller = asyncio.create_task(batcher.join(1))
    await asyncio.sleep(0)

    assert len(batcher._flights) == 1

    gate.open.set()
    await caller


async def test_too_many_waiting_items_push_back() -> None:
    gate = Gate(is_open=False)
    batcher = Batcher(gate, name="test", most_waiting=2)
    flying = asyncio.create_task(batcher.join(1))
    await steps()
    waiting = [asyncio.create_task(batcher.join(n)) for n in (2, 3)]
    await steps()

    with pytest.raises(Overloaded, match="test"):
        await batcher.join(4)

    gate.open.set()
    assert await asyncio.gather(flying, *waiting) == [10, 20, 30]
    assert await batcher.join(4) == 40


async def test_a_list_longer_than_the_limit_is_taken_when_nothing_waits() -> None:
    batcher = Batcher(Gate(), name="test", most_waiting=2)

    assert len(await batcher.join_many(range(10))) == 10


async def test_an_error_reaches_every_caller_of_its_batch_and_no_other() -> None:
    gate = Gate(is_open=False)
    batcher = Batcher(gate, name="test", largest=2)
    callers = [asyncio.create_task(batcher.join(n)) for n in (1, 2, 3, -1, 4)]
    await steps()
    gate.open.set()

    answers = await asyncio.gather(*callers, return_exceptions=True)

    assert gate.batches == [[1, 2], [3, -1], [4]]
    assert answers[:2] == [10, 20]
    assert [type(answer) for answer in answers[2:4]] == [ValueError, ValueError]
    assert answers[4] == 40


async def test_a_cancelled_caller_does_not_disturb_its_neighbours() -> None:
    gate = Gate(is_open=False)
    batcher = Batcher(gate, name="test")
    in_flight = [asyncio.create_task(batcher.join(n)) for n in (1, 2)]
    await steps()
    waiting = [asyncio.create_task(batcher.join(n)) for n in (3, 4)]
    await steps()
    in_flight[0].cancel()
    waiting[0].cancel()
    await steps()
    gate.open.set()

    answers = await asyncio.gather(*in_flight, *waiting, return_exceptions=True)

    assert [type(answers[0]), answers[1], type(answers[2]), answers[3]] == [
        asyncio.CancelledError, 20, asyncio.CancelledError, 40,
    ]  # fmt: skip
    assert gate.batches == [[1, 2], [3, 4]]


async def test_an_item_that_joins_as_the_last_batch_lands_is_not_left_behind() -> None:
    gate = Gate()
    batcher = Batcher(gate, name="test")

    async def one_after_the_other(start: int) -> list[int]:
        return [await batcher.join(start + n) for n in range(50)]

    answers = await asyncio.wait_for(asyncio.gather(*(one_after_the_other(n * 100) for n in range(7))), 10)

    assert answers == [[(start * 100 + n) * 10 for n in range(50)] for start in range(7)]


async def test_a_cancelled_flight_leaves_nobody_waiting_for_ever() -> None:
    gate = Gate(is_open=False)
    batcher = Batcher(gate, name="test", largest=1)
    callers = [asyncio.create_task(batcher.join(n)) for n in (1, 2)]
    await steps()
    for flight in set(batcher._flights):
        flight.cancel()

    answers = await asyncio.wait_for(asyncio.gather(*callers, return_exceptions=True), 10)

    assert [type(answer) for answer in answers] == [asyncio.CancelledError] * 2
    gate.open.set()
    assert await batcher.join(3) == 30


async def test_a_backend_that_answers_too_little_is_an_error_for_its_callers() -> None:
    async def short(items: list[int]) -> list[int]:
        return items[1:]

    batcher = Batcher(short, name="test")

    with pytest.raises(RuntimeError, match="0 answers to 1 items"):
        await batcher.join(1)


async def test_drained_waits_for_all_that_is_under_way() -> None:
    gate = Gate(is_open=False)
    batcher = Batcher(gate, name="test", largest=1)
    callers = [asyncio.create_task(batcher.join(n)) for n in (1, 2)]
    await steps()
    drained = asyncio.create_task(batcher.drained())
    await steps()
    assert not drained.done()

    gate.open.set()

    await drained
    await steps()
    assert all(caller.done() for caller in callers)


async def test_no_batch_is_heavier_than_a_backend_takes_and_a_giant_goes_alone() -> None:
    gate = Gate()
    batcher = Batcher(gate, name="test", weights=BatchWeights(lambda item: item * HEAVIEST // 10))

    answers = await asyncio.gather(batcher.join_many([4, 4, 4, 30, 1]), batcher.join(9), batcher.join(1))

    assert tuple(answers) == ([40, 40, 40, 300, 10], 90, 10)
    assert gate.batches == [[4, 4], [4], [30], [1, 9], [1]]


async def test_too_much_weight_waiting_pushes_back() -> None:
    gate = Gate(is_open=False)
    batcher = Batcher(gate, name="test", weights=BatchWeights(lambda item: item, 10))
    flying = asyncio.create_task(batcher.join(100))
    await steps()
    waiting = asyncio.create_task(batcher.join(8))
    await steps()

    with pytest.raises(Overloaded):
        await batcher.join(3)

    gate.open.set()
    assert [await flying, await waiting, await batcher.join(2)] == [1000, 80, 20]


class Outage(Gate):
    """A backend that cannot be reached by those who bring a negative number."""

    async def __call__(self, items: list[int]) -> Sequence[int]:
        try:
            return await super().__call__(items)
        except ValueError as error:
            raise Unavailable("away") from error


async def test_a_batch_that_fails_answers_its_own_items_when_others_were_kept() -> None:
    batcher = Batcher(Outage(), name="test", largest=2)

    answers = await batcher.join_each([1, 2, -1, 4, 5])

    assert [answer if isinstance(answer, int) else type(answer) for answer in answers] == [
        10, 20, Unavailable, Unavailable, 50,
    ]  # fmt: skip


@pytest.mark.parametrize("items", [[-1], [-1, 2, -3, 4]])
async def test_an_error_is_raised_when_nothing_was_kept(items: list[int]) -> None:
    batcher = Batcher(Outage(), name="test", largest=2)

    with pytest.raises(Unavailable):
        await batcher.join_each(items)


async def test_items_are_made_while_those_before_them_are_in_flight() -> None:
    made: list[int] = []
    gate = Gate()
    batcher = Batcher(gate, name="test", largest=2, parallel=2)

    def making() -> Iterator[int]:
        for item in range(1, 5):
            made.append(len(gate.batches))
            yield item

    assert await batcher.join_each(making()) == [10, 20, 30, 40]
    assert made == [0, 0, 1, 1]


async def test_those_of_many_for_whom_there_is_no_room_are_refused_and_the_others_kept() -> None:
    gate = Gate(is_open=False)
    batcher = Batcher(gate, name="test", largest=2, most_waiting=4)
    joining = asyncio.create_task(batcher.join_each(range(1, 11)))
    await steps(30)
    gate.open.set()

    answers = await joining

    assert [answer for answer in answers if isinstance(answer, int)] == [10, 20, 30, 40, 50, 60]
    assert [type(answer) for answer in answers[6:]] == [Overloaded] * 4


class Ear:
    """Hears what became of items that were sent without waiting."""

    def __init__(self) -> None:
        self.answers: dict[int, int] = {}
        self.errors: dict[int, BaseException] = {}

    def __call__(self, items: Sequence[int], answers: Sequence[int], error: BaseException | None) -> None:
        if error is None:
            self.answers |= zip(items, answers, strict=True)
        else:
            self.errors |= dict.fromkeys(items, error)


async def test_whoever_does_not_wait_is_told_each_answer() -> None:
    gate, ear = Gate(is_open=False), Ear()
    batcher = Batcher(gate, name="test")
    batcher.told = ear
    batcher.send(1)
    await steps()
    batcher.send(2)
    waiting = asyncio.create_task(batcher.join(3))
    await steps()
    batcher.send(4)

    gate.open.set()
    await batcher.drained()

    assert gate.batches == [[1], [2, 3, 4]]
    assert ear.answers == {1: 10, 2: 20, 4: 40}
    assert await waiting == 30


async def test_no_batch_of_items_that_nobody_waits_for_is_larger_or_heavier_than_others() -> None:
    gate, ear = Gate(), Ear()
    batcher = Batcher(gate, name="test", largest=3, weights=BatchWeights(lambda item: item * (HEAVIEST // 10)))
    batcher.told = ear

    for item in (1, 1, 1, 1, 6, 6):
        batcher.send(item)
    await batcher.drained()

    assert gate.batches == [[1, 1, 1], [1, 6], [6]]


async def test_whoever_does_not_wait_is_told_what_kept_items_from_an_answer() -> None:
    gate, ear = Gate(), Ear()
    batcher = Batcher(gate, name="test", largest=2)
    batcher.told = ear

    for item in (1, -2, 3, 4):
        batcher.send(item)
    await batcher.drained()

    assert ear.answers == {3: 30, 4: 40}
    assert {item: type(error) for item, error in ear.errors.items()} == {1: ValueError, -2: ValueError}


def paced(work: Coroutine[Any, Any, None]) -> None:
    """Run in virtual time."""
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        runner.run(work)


def test_with_a_pace_a_lone_item_goes_at_once_and_those_that_follow_it_go_together() -> None:
    async def follow() -> None:
        gate = Gate()
        batcher = Batcher(gate, name="test")
        batcher.pace = 0.05
        loop = asyncio.get_running_loop()

        assert await batcher.join(1) == 10
        assert loop.time() == 0.0
        late = [asyncio.create_task(batcher.join(2))]
        await asyncio.sleep(0.02)
        late.append(asyncio.create_task(batcher.join(3)))

        assert await asyncio.gather(*late) == [20, 30]
        assert loop.time() == pytest.approx(0.05)
        assert gate.batches == [[1], [2, 3]]

    paced(follow())


def test_a_whole_batch_waits_for_no_pace() -> None:
    async def fill() -> None:
        gate = Gate()
        batcher = Batcher(gate, name="test", largest=3)
        batcher.pace = 60.0
        await batcher.join(1)

        assert await asyncio.gather(*map(batcher.join, (2, 3, 4))) == [20, 30, 40]

        assert asyncio.get_running_loop().time() == 0.0

    paced(fill())
