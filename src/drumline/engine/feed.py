"""The feed: one reader of the log for all who follow it in this process.

The log is read once, each event is written out once, and everybody who is interested gets the same bytes. It is read
only while there are clients. One that reads too slowly for too long is cut off, and continues later from where it was.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, Protocol

import structlog

from drumline.core.codec import encode
from drumline.core.errors import DrumlineError
from drumline.core.event import DEFAULT_SOURCE, END, Event, EventPosition, cloud_event, parse_event_ids
from drumline.core.event_interest import EventInterest
from drumline.ports.outbox import EventLog, LogSpan

POLL: Final = 0.25
"""Seconds between two looks at the log."""
PAGE: Final = 500
MOST_WAITING: Final = 2000
"""Events that one follower may leave waiting."""
MOST_BYTES: Final = 4 * 1024 * 1024
REMEMBERED: Final = 2000
"""Events that are kept for those who come back after a moment."""
STORE_SECONDS: Final = 30.0
RETRY_SECONDS: Final = 1.0
FAR: Final = EventPosition(1 << 62, 0)

log: structlog.stdlib.BoundLogger = structlog.get_logger()


WriteId = Callable[[str], str]
"""Returns the id of a message from that of its event: where a client goes on after it."""


class EventsDropped(Exception):
    """Events that the client has not received were dropped from the log."""


class Entry:
    """An event, and how it is sent: written out when the first one wants it."""

    __slots__ = ("_text", "event", "place")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.place = event.place
        self._text: bytes | None = None

    def text(self, source: str, write_id: WriteId) -> bytes:
        """Return the event as a message of a stream; the first caller decides how its place is written."""
        if self._text is None:
            data = encode(cloud_event(self.event, source=source))
            place = write_id(self.event.id).encode()
            self._text = b"id: %b\nevent: %b\ndata: %b\n\n" % (place, self.event.type.encode(), data)
        return self._text


class Follower:
    """A client of the stream: the messages that wait for it, and whether it was cut off."""

    def __init__(self, interest: EventInterest) -> None:
        self.interest = interest
        self.after = FAR
        """What lies before has been sent."""
        self._waiting: list[bytes] = []
        self._count = 0
        self._size = 0
        self._news = asyncio.Event()
        self.is_cut = False
        self.is_over = False

    def offer(self, text: bytes, count: int) -> None:
        """Let some messages wait; too many of them cut the follower off."""
        if self.is_cut:
            return
        self._waiting.append(text)
        self._count += count
        self._size += len(text)
        if self._count > MOST_WAITING or self._size > MOST_BYTES:
            self.cut()
        self._news.set()

    def cut(self) -> None:
        """Tell no more: the follower has to come back, with the last that it heard."""
        self.is_cut = True
        self._waiting.clear()
        self._news.set()

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits."""
        return not self._waiting and not self.is_cut

    def end(self) -> None:
        """Let the follower go."""
        self.is_over = True
        self._news.set()

    async def take(self, seconds: float) -> bytes:
        """Return all that waits, or nothing after some seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return b""
        self._news.clear()
        text = b"".join(self._waiting)
        self._waiting.clear()
        self._count = self._size = 0
        return text


def mark_of(name: str, position: int) -> str:
    """Return the id that stands for everything up to a position of a log."""
    return f"{name}-{position}-{END}"


class Feed(Protocol):
    """What a stream of events is served from: one log, or those of all shards. A place is for the feed to know."""

    @property
    def count(self) -> int:
        """How many follow at the moment."""
        ...

    def following(self, interest: EventInterest, /) -> AbstractAsyncContextManager[Follower]:
        """Give a follower that hears of everything from now on."""
        ...

    async def place_of(self, last_id: str) -> Any:
        """Return the place of the message that a client received last; None if one cannot go on from it."""
        ...

    def mark(self) -> bytes:
        """Return the id from which a client can continue after everything that was read so far."""
        ...

    def missed(self, place: Any, follower: Follower, /) -> AsyncIterator[bytes]:
        """Yield what came after a place, up to where a follower began to hear; may raise `EventsDropped`."""
        ...

    async def close(self) -> None:
        """Let everybody go, and read no more."""
        ...


class EventFeed:
    """Reads the log for everybody."""

    def __init__(self, store: EventLog, *, source: str = DEFAULT_SOURCE, poll: float = POLL) -> None:
        self.source = source
        self._store = store
        self._poll = poll
        self._followers: dict[EventInterest, set[Follower]] = {}
        self._recent: deque[Entry] = deque(maxlen=REMEMBERED)
        self._name = ""
        self._position: int | None = None
        self._reading: asyncio.Task[None] | None = None
        self._started = asyncio.Lock()
        self.write_id: WriteId = str
        """How places are written, where this log is one of several."""

    @property
    def count(self) -> int:
        """How many follow at the moment."""
        return sum(map(len, self._followers.values()))

    @asynccontextmanager
    async def following(self, interest: EventInterest, follower: Follower | None = None) -> AsyncIterator[Follower]:
        """Give a follower that hears of everything from now on, or let one that is given hear of it."""
        follower = follower or Follower(interest)
        try:
            await self._join(follower)
            yield follower
        finally:
            self._leave(follower)

    async def place_of(self, last_id: str) -> EventPosition | None:
        """Return the place of the event that a client received last, or raise `Invalid` if that is no event.

        None if one cannot go on from it: it is of another log, or it was dropped.
        """
        places = parse_event_ids(last_id, field="Last-Event-ID")
        span = await self.span()
        place = places.get(span.name)
        return place if place is not None and is_kept(place, span) else None

    @property
    def log_name(self) -> str:
        """The name of the log, once it was read."""
        return self._name

    def mark(self) -> bytes:
        """Return the id from which a client can continue after everything that was read so far."""
        return mark_of(self._name, self._position or 0).encode()

    async def missed(
        self, place: EventPosition, follower: Follower, write_id: WriteId | None = None
    ) -> AsyncIterator[bytes]:
        """Yield what came after a place, up to where a follower began to hear.

        Raises `EventsDropped` if some of it was dropped in the meantime.
        """
        has = follower.interest.has
        recent = [entry for entry in self._recent if entry.place < follower.after]
        if recent and recent[0].place <= place:
            fresh = [entry for entry in recent if entry.place > place and has(entry.event)]
            yield self._written(fresh if write_id is None else (Entry(each.event) for each in fresh), write_id)
            return
        position = place.position - 1
        heard = place.position if place.offset == END else position
        while position < follower.after.position - 1:
            async with asyncio.timeout(STORE_SECONDS):
                page = await self._store.read_events(after=position, limit=PAGE)
                span = await self._store.log_span()
            if span.dropped > heard:
                raise EventsDropped
            if page.position == position:
                return
            heard = page.position
            came = (event for event in page.events if place < event.place < follower.after and has(event))
            yield self._written(map(Entry, came), write_id)
            position = page.position

    async def close(self) -> None:
        """Let everybody go, and read no more."""
        for follower in self._everybody():
            follower.end()
        await self._stop()

    async def _join(self, follower: Follower) -> None:
        async with self._started:
            if self._reading is None or self._reading.done():
                self._recent.clear()
                span = await self.span()
                self._name, self._position = span.name, span.last
                self._reading = asyncio.create_task(self._read(), name="feed")
            follower.after = EventPosition((self._position or 0) + 1, 0)
            self._followers.setdefault(follower.interest, set()).add(follower)

    def _leave(self, follower: Follower) -> None:
        alike = self._followers.get(follower.interest)
        if alike is not None:
            alike.discard(follower)
            if not alike:
                del self._followers[follower.interest]

    async def _stop(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
            self._reading = None

    async def _read(self) -> None:
        """Read on while there are clients."""
        is_away = False
        while self._followers:
            try:
                if is_away:
                    await self._look_back()
                is_full = await self._read_page()
            except Exception as error:  # clients must not be left with a reader that has died
                if not is_away:
                    log.warning("feed.away", error=str(error), exc_info=_traceback_of(error))
                is_away = True
                await asyncio.sleep(RETRY_SECONDS)
                continue
            is_away = False
            await asyncio.sleep(0 if is_full else self._poll)

    async def _read_page(self) -> bool:
        async with asyncio.timeout(STORE_SECONDS):
            await self._store.sequence()
            page = await self._store.read_events(after=self._position or 0, limit=PAGE)
        entries = [Entry(event) for event in page.events]
        self._recent.extend(entries)
        self._position = page.position
        for interest, followers in self._followers.items():
            texts = [entry.text(self.source, self.write_id) for entry in entries if interest.has(entry.event)]
            if texts:
                together = b"".join(texts)
                for follower in followers:
                    follower.offer(together, len(texts))
        return page.is_full

    async def _look_back(self) -> None:
        """Cut everybody off if something was dropped before it was read: they are told so when they come back."""
        async with asyncio.timeout(STORE_SECONDS):
            span = await self._store.log_span()
        if span.dropped > (self._position or 0):
            self._position = span.dropped
            self._recent.clear()
            for follower in self._everybody():
                follower.cut()

    async def span(self) -> LogSpan:
        """Return what the log holds now."""
        async with asyncio.timeout(STORE_SECONDS):
            await self._store.sequence()
            return await self._store.log_span()

    def _written(self, entries: Iterable[Entry], write_id: WriteId | None) -> bytes:
        return b"".join(entry.text(self.source, write_id or self.write_id) for entry in entries)

    def _everybody(self) -> Iterator[Follower]:
        for followers in self._followers.values():
            yield from followers


def is_kept(place: EventPosition, span: LogSpan) -> bool:
    """Tell whether a log still has what came after a place."""
    first = span.dropped if place.offset == END else span.dropped + 1
    return first <= place.position <= span.last


def _traceback_of(error: Exception) -> Exception | None:
    """Return the error if its traceback helps: an outage explains itself, a fault of ours does not."""
    return None if isinstance(error, DrumlineError | TimeoutError) else error
