"""What the store says is remembered for a moment, and believed for no longer than two seconds."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from drumline.aio.caching import FRESH_SECONDS, OUTAGE_SECONDS, STALE_SECONDS, CachedLookup
from drumline.core.clock import ManualClock
from drumline.core.errors import Unavailable


class Truth:
    """What there is, and how often somebody asked."""

    def __init__(self) -> None:
        self.values = {"a": 1}
        self.questions: list[list[str]] = []
        self.is_away = False
        self.waits: asyncio.Event | None = None

    async def ask(self, keys: list[str]) -> Sequence[int | None]:
        self.questions.append(keys)
        if self.waits is not None:
            await self.waits.wait()
        if self.is_away:
            raise Unavailable("away")
        return [self.values.get(key) for key in keys]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def truth() -> Truth:
    return Truth()


@pytest.fixture
async def remembered(truth: Truth, clock: ManualClock) -> AsyncIterator[CachedLookup[str, int]]:
    made: CachedLookup[str, int] = CachedLookup(truth.ask, name="things", clock=clock)
    yield made
    await made.close()


async def settled() -> None:
    """Let what goes on in the background go on."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_what_is_fresh_is_not_asked_for(remembered: CachedLookup[str, int], truth: Truth) -> None:
    assert remembered.recall("a") is None
    assert await remembered.get("a") == 1

    for _ in range(100):
        memory = remembered.recall("a")
        assert memory is not None
        assert memory.value == 1
    assert truth.questions == [["a"]]


async def test_that_there_is_nothing_is_remembered_too(remembered: CachedLookup[str, int], truth: Truth) -> None:
    assert await remembered.get("b") is None

    memory = remembered.recall("b")

    assert memory is not None
    assert memory.value is None
    assert len(truth.questions) == 1


async def test_what_is_not_fresh_answers_and_is_asked_for_in_the_background(
    remembered: CachedLookup[str, int], truth: Truth, clock: ManualClock
) -> None:
    await remembered.get("a")
    truth.values["a"] = 2
    clock.advance(FRESH_SECONDS)

    old = [remembered.recall("a") for _ in range(10)]
    await settled()
    new = remembered.recall("a")

    assert [memory and memory.value for memory in old] == [1] * 10
    assert new is not None
    assert new.value == 2
    assert len(truth.questions) == 2


async def test_what_is_stale_is_believed_no_more(
    remembered: CachedLookup[str, int], truth: Truth, clock: ManualClock
) -> None:
    await remembered.get("a")
    del truth.values["a"]
    clock.advance(STALE_SECONDS)

    assert remembered.recall("a") is None
    assert await remembered.get("a") is None
    assert STALE_SECONDS < 2


async def test_an_answer_is_as_old_as_its_question(
    remembered: CachedLookup[str, int], truth: Truth, clock: ManualClock
) -> None:
    truth.waits = asyncio.Event()
    asking = asyncio.create_task(remembered.get("a"))
    await settled()
    clock.advance(STALE_SECONDS)
    truth.waits.set()

    assert await asking == 1
    assert remembered.recall("a") is None


async def test_many_who_ask_at_once_share_a_question(remembered: CachedLookup[str, int], truth: Truth) -> None:
    assert await asyncio.gather(*(remembered.get("a") for _ in range(50))) == [1] * 50

    assert truth.questions == [["a"]]


async def test_while_the_store_is_away_what_was_known_lately_holds_for_a_while(
    remembered: CachedLookup[str, int], truth: Truth, clock: ManualClock
) -> None:
    await remembered.get("a")
    truth.is_away = True
    clock.advance(OUTAGE_SECONDS - 1)

    assert await remembered.get("a") == 1
    with pytest.raises(Unavailable, match="things cannot be looked up"):
        await remembered.get("unknown")
    clock.advance(2)
    with pytest.raises(Unavailable):
        await remembered.get("a")


async def test_what_has_changed_is_forgotten_at_once_also_if_it_is_just_being_asked_for(
    remembered: CachedLookup[str, int], truth: Truth, clock: ManualClock
) -> None:
    await remembered.get("a")
    clock.advance(FRESH_SECONDS)
    truth.waits = asyncio.Event()
    remembered.recall("a")  # asks in the background, and will be told the old value
    await settled()
    remembered.forget(lambda value: value == 1)
    truth.waits.set()
    await settled()

    assert remembered.recall("a") is None
