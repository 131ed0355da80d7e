"""The feed of all shards: one stream of events from several logs.

Each shard's engine reads its own log for everybody who follows here. The id of a message names a place in each log, so
that a client goes on in all of them: what it was sent of the message's own log, and of the others at that moment. With
one log it is the id of the event.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from drumline.core.errors import DrumlineError, Unavailable
from drumline.core.event import EventPosition, parse_event_ids
from drumline.core.event_interest import EventInterest
from drumline.engine.feed import RETRY_SECONDS, EventFeed, Follower, is_kept, mark_of
from drumline.ports.outbox import LogSpan

Places = Mapping[str, EventPosition]
"""The places of a client, by the names of the logs."""


class Branch(Follower):
    """What follows one log for a client of several: it passes everything on."""

    def __init__(self, interest: EventInterest, client: "Client") -> None:
        super().__init__(interest)
        self._client = client

    def offer(self, text: bytes, count: int) -> None:
        """Let some messages wait for the client."""
        self._client.offer(text, count)

    def cut(self) -> None:
        """Cut the client off: it comes back, and goes on in every log."""
        self._client.cut()

    def end(self) -> None:
        """Let the client go."""
        self._client.end()


class Client(Follower):
    """A client of the stream, and the logs that it follows."""

    def __init__(self, interest: EventInterest) -> None:
        super().__init__(interest)
        self.branches: list[tuple[EventFeed, Branch]] = []


class ShardedFeed:
    """`engine.feed.Feed` over those of the shards that are open.

    A shard that is away costs only its own events. When it is back, or when shards are added or removed, clients are
    cut off, and come back to follow it: with what they have missed if their last id knows its log, else with `resync`.
    """

    def __init__(self, feeds: Callable[[], Mapping[str, EventFeed]]) -> None:
        self._feeds = feeds
        self._known: frozenset[str] = frozenset()
        self._clients: set[Client] = set()

    @property
    def count(self) -> int:
        """How many follow at the moment."""
        return len(self._clients)

    @asynccontextmanager
    async def following(self, interest: EventInterest) -> AsyncIterator[Follower]:
        """Give a follower that hears of everything from now on, in every shard that can be reached."""
        client = Client(interest)
        feeds = self._feeds()
        self._known = frozenset(feeds)
        async with AsyncExitStack() as stack:
            for feed in feeds.values():
                feed.write_id = partial(self._write_id, feed)
                branch = Branch(interest, client)
                try:
                    await stack.enter_async_context(feed.following(interest, branch))
                except (Unavailable, TimeoutError):
                    if len(feeds) == 1:
                        raise
                    waiting = asyncio.create_task(_cut_when_back(feed, client), name="feed: shard that is away")
                    stack.push_async_callback(_stopped, waiting)
                else:
                    client.branches.append((feed, branch))
            self._clients.add(client)
            stack.callback(self._clients.discard, client)
            yield client

    async def place_of(self, last_id: str) -> Places | None:
        """Return the places of the message that a client received last, or raise `Invalid` if there was none such.

        None if one cannot go on from them in every log that can be read: it is new to the client, or has dropped some.
        """
        places = parse_event_ids(last_id, field="Last-Event-ID")
        spans = [span for span in await asyncio.gather(*map(_span, self._feeds().values())) if span is not None]
        if all(span.name in places and is_kept(places[span.name], span) for span in spans):
            return places
        return None

    def mark(self) -> bytes:
        """Return the id from which a client can continue after everything that was read so far."""
        return _joined(self._marks()).encode()

    async def missed(self, place: Places, follower: Follower) -> AsyncIterator[bytes]:
        """Yield what came after a place, log by log, up to where a follower began to hear."""
        written = {name: f"{name}-{each.position}-{each.offset}" for name, each in place.items()}
        for feed, branch in follower.branches if isinstance(follower, Client) else ():
            name = feed.log_name
            if name not in place:
                continue
            async for text in feed.missed(place[name], branch, partial(_written_in, dict(written), name)):
                yield text
            written[name] = mark_of(name, branch.after.position - 1)

    def shards_changed(self) -> None:
        """Let clients come back if there are other shards than they follow."""
        if frozenset(self._feeds()) != self._known:
            for client in tuple(self._clients):
                client.cut()

    async def close(self) -> None:
        """Let everybody go; the shards' engines close their own feeds."""
        for client in tuple(self._clients):
            client.end()

    def _marks(self) -> dict[str, str]:
        return {feed.log_name: feed.mark().decode() for feed in self._feeds().values() if feed.log_name}

    def _write_id(self, feed: EventFeed, event_id: str) -> str:
        """Return the place of a client that has been sent an event, and before it all that was read of other logs."""
        return _joined(self._marks() | {feed.log_name: event_id})


def _written_in(places: dict[str, str], log: str, event_id: str) -> str:
    return _joined(places | {log: event_id})


def _joined(places: Mapping[str, str]) -> str:
    return ".".join(places[name] for name in sorted(places))


async def _span(feed: EventFeed) -> LogSpan | None:
    try:
        return await feed.span()
    except (Unavailable, TimeoutError):
        return None


async def _cut_when_back(feed: EventFeed, client: Client) -> None:
    while True:
        await asyncio.sleep(RETRY_SECONDS)
        try:
            await feed.span()
        except (DrumlineError, TimeoutError):
            continue
        client.cut()
        return


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
