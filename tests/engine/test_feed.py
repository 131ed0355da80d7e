"""One reader for all who follow: it outlives faults, and whoever has missed something is told so."""

import asyncio
from typing import Any

import pytest

from drumline.core.event import EventPosition
from drumline.core.event_interest import EventInterest
from drumline.core.task import TaskRequest
from drumline.engine import feed as feed_module
from drumline.engine.engine import Engine
from drumline.engine.feed import EventFeed, EventsDropped
from drumline.ports.outbox import EventPage

SECONDS = 20.0


class Disturbed:
    """An event log that something happens to before a page of events is read."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self.pages = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def read_events(self, *, after: int, limit: int) -> EventPage:
        self.pages += 1
        await self.disturb()
        page: EventPage = await self._log.read_events(after=after, limit=limit)
        return page

    async def disturb(self) -> None:
        """Do nothing, here."""


async def submit(engine: Engine, count: int) -> None:
    for _ in range(count):
        await engine.submissions.submit(TaskRequest(name="work"))


async def test_who_comes_back_is_told_of_events_that_are_dropped_while_they_catch_up(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pruned(Disturbed):
        async def disturb(self) -> None:
            if self.pages == 2:
                await engine.store.events.prune_events(written_before=engine.clock.now(), most=3, limit=1000)

    monkeypatch.setattr(feed_module, "PAGE", 2)
    await submit(engine, 10)
    await engine.store.events.sequence()
    feed = EventFeed(Pruned(engine.store.events), poll=3600)
    told: list[bytes] = []

    async with feed.following(EventInterest(tenant=None)) as follower:
        with pytest.raises(EventsDropped):
            told += [text async for text in feed.missed(EventPosition(1, 0), follower)]
    await feed.close()


async def test_those_who_follow_are_told_on_after_a_fault_of_the_reader(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Faulty(Disturbed):
        async def disturb(self) -> None:
            if self.pages == 1:
                raise ValueError("an event that nobody thought of")

    monkeypatch.setattr(feed_module, "RETRY_SECONDS", 0.01)
    feed = EventFeed(Faulty(engine.store.events), poll=0.01)

    async with feed.following(EventInterest(tenant=None)) as follower:
        await submit(engine, 1)
        async with asyncio.timeout(SECONDS):
            text = await follower.take(SECONDS)
    await feed.close()

    assert b"drumline.task.submitted" in text


async def test_who_follows_is_cut_off_when_events_were_dropped_that_nobody_could_read(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Away(Disturbed):
        async def disturb(self) -> None:
            if self.pages == 1:
                await submit(engine, 5)
                await engine.store.events.sequence()
                await engine.store.events.prune_events(written_before=engine.clock.now(), most=2, limit=1000)
                raise TimeoutError

    monkeypatch.setattr(feed_module, "RETRY_SECONDS", 0.01)
    feed = EventFeed(Away(engine.store.events), poll=0.01)

    async with feed.following(EventInterest(tenant=None)) as follower:
        async with asyncio.timeout(SECONDS):
            await follower.take(SECONDS)
        assert follower.is_cut
    await feed.close()
