"""A signal by correlation is stored once, also when its key's slot moves while it is sent through an old map."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from msgspec import Raw

from drumline.core.durable import NewSignal
from drumline.core.errors import Moved
from drumline.core.shard_map import DIRECTORY, ShardMap, SlotEntry
from drumline.core.slots import slot_of_signal
from drumline.ports.durable import Signalled
from drumline.ports.shards import OwnEntry, ShardIdentity
from drumline.shards.store import ShardedStore
from drumline.stores.postgres import PostgresStore
from tests.harness.sharded import OpenShard, OpenShards

SIGNAL = NewSignal(id="s1", name="paid", key="order-17", payload=Raw(b"5"), tenant="default")
SLOT = slot_of_signal("default", "paid", "order-17")


class Installation:
    """Two databases, the first of which has the slot of the signal until it is moved."""

    def __init__(self, giver: PostgresStore, taker: PostgresStore) -> None:
        self.giver, self.taker = giver, taker
        self.old = ShardMap(1)
        self.new = self.old

    async def move(self) -> None:
        """Move the slot of the signal."""
        (closed,) = await self.giver.slots.close_slots([(SLOT, 0)], taker="b")
        since = closed.closed_at or 0
        await self.taker.slots.open_slots([OwnEntry(slot=SLOT, version=1, since=since)])
        self.new = ShardMap(2, {SLOT: (SlotEntry(DIRECTORY), SlotEntry("b", since, 1))})

    def sender(self, map: ShardMap, giver: Any = None) -> ShardedStore:
        """Return the store of a process that knows a map, and reads the newest one when it looks again."""
        shards = OpenShards([OpenShard(DIRECTORY, giver or self.giver), OpenShard("b", self.taker)], map)
        shards.next_map = self.new
        return ShardedStore(shards)

    async def kept(self) -> list[str]:
        """Return where the signal is kept."""
        stores = {"giver": self.giver, "taker": self.taker}
        return [name for name, store in stores.items() if await store.durable.known_signal(SIGNAL) is not None]


@pytest.fixture
async def installation(shard_urls: Sequence[str]) -> AsyncIterator[Installation]:
    stores = [await PostgresStore.open(url) for url in shard_urls[:2]]
    for store, name in zip(stores, (DIRECTORY, "b"), strict=True):
        await store.slots.join(ShardIdentity(name, "01890a5d-ac96-774b-bcce-b302099a8057"))
    yield Installation(*stores)
    await asyncio.gather(*(store.close() for store in stores))


async def test_a_signal_through_an_old_map_goes_where_its_slot_is_now(installation: Installation) -> None:
    await installation.move()

    first = await installation.sender(installation.old).durable.signal(SIGNAL)

    assert first == Signalled(created=True)
    assert await installation.kept() == ["taker"]


async def test_a_signal_that_is_sent_again_through_an_old_map_is_known(installation: Installation) -> None:
    await installation.move()
    await installation.sender(installation.new).durable.signal(SIGNAL)

    again = await installation.sender(installation.old).durable.signal(SIGNAL)

    assert again == Signalled(created=False)
    assert await installation.kept() == ["taker"]


async def test_a_signal_from_before_the_move_is_known_after_it(installation: Installation) -> None:
    await installation.sender(installation.old).durable.signal(SIGNAL)
    await installation.move()

    again = [await installation.sender(each).durable.signal(SIGNAL) for each in (installation.old, installation.new)]

    assert again == [Signalled(created=False)] * 2
    assert await installation.kept() == ["giver"]


class Between:
    """A store whose former owner is asked for a signal; something happens between its answer and the next request."""

    def __init__(self, store: PostgresStore, happens: Any) -> None:
        self.durable, self._store, self._happens = self, store, happens

    async def known_signal(self, signal: NewSignal) -> Any:
        known = await self._store.durable.known_signal(signal)
        await self._happens()
        return known


async def test_a_signal_that_two_send_by_different_maps_at_one_moment_is_kept_once(installation: Installation) -> None:
    await installation.move()
    late = installation.sender(installation.old)
    told: list[Any] = []

    async def send_late() -> None:
        told.append(await late.durable.signal(SIGNAL))

    told.append(
        await installation.sender(
            installation.new, giver=Between(installation.giver, happens=send_late)
        ).durable.signal(SIGNAL)
    )

    assert sorted(answer.created for answer in told) == [False, True]
    assert await installation.kept() == ["taker"]


async def test_a_signal_that_finds_its_slot_closed_and_nobody_to_take_it_can_be_sent_again(
    installation: Installation,
) -> None:
    await installation.giver.slots.close_slots([(SLOT, 0)], taker="b")

    refused = await installation.sender(installation.old).durable.signal(SIGNAL)
    await installation.move()
    sent = await installation.sender(installation.old).durable.signal(SIGNAL)

    assert isinstance(refused, Moved)
    assert sent == Signalled(created=True)
    assert await installation.kept() == ["taker"]
