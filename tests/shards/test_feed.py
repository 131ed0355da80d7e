"""One stream of events from several shards: complete, in order for each task, and to be gone on from anywhere."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from drumline.core.clock import ManualClock
from drumline.core.errors import Invalid
from drumline.core.event_interest import EventInterest
from drumline.core.ids import TaskId
from drumline.engine.feed import EventFeed, Follower
from drumline.shards.feed import ShardedFeed
from drumline.shards.store import ShardedStore
from tests.factories import submit
from tests.harness.sharded import OpenShards, open_shards

ALL = EventInterest(tenant=None)
SECONDS = 30.0
Message = tuple[str, str]
"""The id of a message and the subject of its event."""


class Stream:
    """Feeds of all shards, as a process has them."""

    def __init__(self, shards: OpenShards) -> None:
        self.feeds = {shard.name: EventFeed(shard.store.events, poll=0.01) for shard in shards}
        self.feed = ShardedFeed(lambda: self.feeds)

    async def close(self) -> None:
        await self.feed.close()
        for feed in self.feeds.values():
            await feed.close()

    async def resumed(self, last_id: str) -> list[Message]:
        """Return what a client is sent that comes back."""
        place = await self.feed.place_of(last_id)
        assert place is not None
        async with self.feed.following(ALL) as follower:
            return messages(b"".join([text async for text in self.feed.missed(place, follower)]))


@pytest.fixture
async def shards(tmp_path: Path) -> AsyncIterator[OpenShards]:
    opened = await open_shards(tmp_path, ManualClock())
    yield opened
    await opened.close()


@pytest.fixture
async def stream(shards: OpenShards) -> AsyncIterator[Stream]:
    opened = Stream(shards)
    yield opened
    await opened.close()


def messages(text: bytes) -> list[Message]:
    return re.findall(r'id: (\S+)\nevent: \S+\ndata: .*?"subject":"([^"]+)"', text.decode())


async def heard(follower: Follower, count: int) -> list[Message]:
    found: list[Message] = []
    while len(found) < count:
        found += messages(await follower.take(SECONDS))
    return found


async def submitted(shards: OpenShards, count: int = 6) -> list[TaskId]:
    return [await submit(ShardedStore(shards)) for _ in range(count)]


async def test_events_of_every_shard_are_heard(shards: OpenShards, stream: Stream) -> None:
    async with stream.feed.following(ALL) as follower:
        tasks = await submitted(shards)
        found = await heard(follower, len(tasks))

    assert sorted(subject for _, subject in found) == tasks
    assert {shards.map.holder(task) for task in tasks} == {shard.name for shard in shards}


async def test_a_client_goes_on_after_any_message_with_just_the_rest(shards: OpenShards, stream: Stream) -> None:
    async with stream.feed.following(ALL) as follower:
        tasks = await submitted(shards)
        found = await heard(follower, len(tasks))

    for number, (last_id, _) in enumerate(found):
        rest = await stream.resumed(last_id)
        assert sorted(subject for _, subject in rest) == sorted(subject for _, subject in found[number + 1 :])


async def test_a_client_that_is_cut_off_again_while_it_catches_up_misses_nothing(
    shards: OpenShards, stream: Stream
) -> None:
    async with stream.feed.following(ALL):
        begin = stream.feed.mark().decode()
    tasks = await submitted(shards)
    other = Stream(shards)  # of another process, which remembers nothing

    caught_up = await other.resumed(begin)

    assert sorted(subject for _, subject in caught_up) == tasks
    for number, (last_id, _) in enumerate(caught_up):
        assert len(await other.resumed(last_id)) == len(tasks) - number - 1
    await other.close()


async def test_a_shard_that_is_away_costs_only_its_events(shards: OpenShards, stream: Stream) -> None:
    tasks = await submitted(shards)
    near = [task for task in tasks if shards.map.holder(task) != "pg2"]
    await next(shard for shard in shards if shard.name == "pg2").store.close()

    async with stream.feed.following(ALL) as follower:
        await ShardedStore(shards).control.cancel(near)
        found = await heard(follower, len(near))

    assert sorted(subject for _, subject in found) == near


async def test_clients_come_back_when_a_shard_was_added(stream: Stream) -> None:
    late = stream.feeds.pop("pg2")
    async with stream.feed.following(ALL) as follower:
        last_id = stream.feed.mark().decode()
        stream.feeds["pg2"] = late
        stream.feed.shards_changed()

        assert follower.is_cut
    assert await stream.feed.place_of(last_id) is None, "the client cannot know what the shard had told before"


async def test_with_one_shard_the_id_of_a_message_is_that_of_its_event(shards: OpenShards) -> None:
    alone = Stream(shards)
    alone.feeds = {"main": alone.feeds["main"]}
    async with alone.feed.following(ALL) as follower:
        await submitted(shards)
        ((last_id, _), *_) = await heard(follower, 2)

    assert re.fullmatch(r"[0-9a-f]{8}-\d+-\d+", last_id)
    await alone.close()


async def test_what_is_no_id_is_refused(stream: Stream) -> None:
    with pytest.raises(Invalid):
        await stream.feed.place_of("5f0c9a1e-1-0.nonsense")
