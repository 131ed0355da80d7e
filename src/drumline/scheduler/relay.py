"""Relay: copy the log of what changed to the bus, in order, at least once, even if processes die in between.

One relay at a time has the cursor; the others stand by. A page is read, sent, and only when the bus has kept all of it
is the cursor moved. While it is under way the next one is read and written out, so that neither the store nor the bus
waits for the other. A bus that is away has two pages at most in memory: the log in the store grows, and nothing else.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from math import inf
from secrets import randbits
from typing import Final, NamedTuple

import structlog
from msgspec import Struct, field
from msgspec.structs import replace

from drumline.core.blob import is_reference
from drumline.core.clock import Clock, SystemClock
from drumline.core.codec import decode, encode
from drumline.core.dead_letter import DeadLetterMessage, FailedTask, dead_letter_event, dead_letter_message
from drumline.core.errors import Unavailable
from drumline.core.event import CloudEvent, Event, TaskChange
from drumline.core.metrics import Metrics
from drumline.core.redaction import DEFAULT_REDACTION, Redaction
from drumline.ports.bus import CONSUMER, Bus, BusBatch, Channel
from drumline.ports.store import Store

PAGE: Final = 8000
"""Events that are under way at once: enough to make moving the cursor and waiting for the bus cheap, few enough to be
written out in 20 ms."""
MOST_FAILED: Final = 64
"""Failures in a page: each may have a payload of a mebibyte, and two pages are in memory. While more tasks fail, a
page has no more events than that."""
MOST_PAGES: Final = 50
"""Pages in one pass; what is left waits for the next one, so that a pass has an end."""
HOLD_SECONDS: Final = 8.0
"""How long others wait for a relay that is not to be heard of; longer than it may wait for Kafka in one go."""
RENEW_SECONDS: Final = 2.5
"""How often the cursor is taken anew: an idle relay should not write something four times a second."""
SENT_SECONDS: Final = 2.0
CHECK_EVERY: Final = 5.0
"""How often an idle relay asks whether the bus is there."""
UNKNOWN: Final = object()
STANDBY_EVERY: Final = 1.0
BEHIND_EVERY: Final = 0.02
LARGEST: Final = 1_000_000

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class RelayPage(NamedTuple):
    """The messages for the events between two positions of the log."""

    old: int
    new: int
    is_full: bool
    events: int
    batches: Sequence[BusBatch]


class RelayOptions(Struct, frozen=True, kw_only=True):
    """How the relay writes events, and how often it looks for them."""

    source: str
    redaction: Redaction = DEFAULT_REDACTION
    """What is left out of the payloads of dead letters."""
    metrics: Metrics = field(default_factory=Metrics)
    clock: Clock = field(default_factory=SystemClock)
    every: float = 0.25
    """Seconds between two looks while there is nothing to copy."""
    largest: int = LARGEST
    """Bytes of the largest message."""


class Relay:
    """Copies the log to the bus."""

    name = "relay"

    def __init__(self, store: Store, bus: Bus, options: RelayOptions) -> None:
        self.every = options.every
        self._store = store
        self._bus = bus
        self._options = options
        self._clock = options.clock
        self._holder = randbits(62) + 1
        self._position: int | None = None
        self._taken_at = 0.0
        self._limit = PAGE
        """Events in the next page."""
        self._pages: deque[RelayPage] = deque()
        """The page that is next, and the one behind it if it was read meanwhile."""
        self._is_under_way = False
        """Whether the first of them was handed to the bus."""
        self._is_away = False
        self._heard_at = -inf
        """When the bus last said something, or did not when it was asked."""
        self._noted: object = UNKNOWN
        """The error that is recorded in the store."""

    async def pass_once(self) -> int:
        """Copy what there is, and return how many pages that were."""
        for pages in range(MOST_PAGES):
            if not await self._copy_page():
                return pages
        self.every = BEHIND_EVERY
        return MOST_PAGES

    async def close(self) -> None:
        """Let another relay go on at once."""
        try:
            await self._bus.close()
            await self._store.events.leave_cursor(CONSUMER, holder=self._holder)
        except Unavailable as error:
            log.debug("relay.not_left", error=error.message)  # it is free by itself, some seconds later

    async def _copy_page(self) -> bool:
        """Send a page, or go on waiting for the last one; tell whether there may be more at once."""
        position = await self._take()
        self.every = STANDBY_EVERY if position is None else self._options.every
        if position is None:
            return False
        page = await self._page_at(position)
        if page is None:
            await self._check()
            return False
        if not page.is_full or len(self._pages) > 1:
            return await self._deliver(page)
        reading = asyncio.get_running_loop().create_task(self._read(page.new), name="relay: read ahead")
        try:
            is_moved = await self._deliver(page)
        except BaseException:  # whatever it was: what was read meanwhile must not outlive the pass
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            raise
        if (following := await reading) is not None:
            self._pages.append(following)
        return is_moved

    async def _page_at(self, position: int) -> RelayPage | None:
        """Return the page behind a position: the one under way, the one read ahead, or one that is read now."""
        if self._pages and self._pages[0].old != position:
            self._pages.clear()
        if not self._pages and (page := await self._read(position)) is not None:
            self._pages.append(page)
        return self._pages[0] if self._pages else None

    async def _deliver(self, page: RelayPage) -> bool:
        """Hand a page to the bus, unless that was done, and wait; tell whether there may be more at once."""
        if not self._is_under_way:
            try:
                await self._bus.send(page.batches)
            except Unavailable as error:
                await self._note_away(error.message)
                return False
            self._is_under_way = True
        return await self._is_kept() and await self._move(page)

    async def _read(self, position: int) -> RelayPage | None:
        """Return the page behind a position, written out; None if nothing is there."""
        await self._store.events.sequence()
        source, largest = self._options.source, self._options.largest
        page = await self._store.events.read_written(after=position, limit=self._limit, source=source)
        if len(page.failed) > MOST_FAILED:
            self._limit = MOST_FAILED
            page = await self._store.events.read_written(after=position, limit=self._limit, source=source)
        elif len(page.failed) <= MOST_FAILED // 2:
            self._limit = min(self._limit * 2, PAGE)
        if page.position == position:
            return None
        values = page.values
        if any(len(value) > largest for value in values):
            values = [value if len(value) <= largest else _smaller_text(value) for value in values]
        batches = [BusBatch(Channel.EVENTS, page.subjects, values)]
        if page.failed:
            batches.append(await self._dead_letters(page.failed))
        return RelayPage(position, page.position, page.is_full, len(values), batches)

    async def _is_kept(self) -> bool:
        """Tell whether the bus has kept what is under way; if it was refused, it is not under way any more."""
        try:
            is_kept = await self._bus.sent(seconds=SENT_SECONDS)
        except Unavailable as error:
            self._is_under_way = False
            await self._note_away(error.message)
            return False
        if is_kept:
            await self._note_back()
        else:
            await self._note_away(self._bus.reason or "it does not answer")
        return is_kept

    async def _check(self) -> None:
        """Ask whether the bus is there, now and then while there is nothing to send."""
        if self._clock.monotonic() - self._heard_at < CHECK_EVERY:
            return
        try:
            await self._bus.check()
        except Unavailable as error:
            await self._note_away(error.message)
        else:
            await self._note_back()

    async def _take(self) -> int | None:
        """Return the position of the cursor; None, with nothing under way, if another relay has it."""
        now = self._clock.monotonic()
        if self._position is not None and now - self._taken_at < RENEW_SECONDS:
            return self._position
        position = await self._store.events.take_cursor(CONSUMER, holder=self._holder, seconds=HOLD_SECONDS)
        if self._is_under_way and self._pages[0].old != position:
            # Another relay has sent it, while this process was stalled.
            self._pages.clear()
            self._is_under_way = False
            await self._bus.forget()
        if position is None:
            self._noted = UNKNOWN  # the holder of the cursor notes what it sees
        self._position, self._taken_at = position, now
        return position

    async def _move(self, page: RelayPage) -> bool:
        """Move the cursor behind what was kept; tell whether there may be more at once."""
        self._pages.popleft()
        self._is_under_way = False
        # Whatever comes of it: the position of the cursor is known again only after it was read.
        self._position = None
        moved = await self._store.events.move_cursor(CONSUMER, holder=self._holder, old=page.old, new=page.new)
        if moved:
            self._position = page.new
            self._options.metrics.relayed.add(page.events)
        return moved and page.is_full

    async def _dead_letters(self, failed: Sequence[Event]) -> BusBatch:
        """Return the messages about tasks that failed for good."""
        changes = [event.data for event in failed if isinstance(event.data, TaskChange)]
        ids = [change.id for change in changes]
        views = await self._store.queries.get(ids)
        letters = await self._store.dead_letters.get_dead_letters(ids)
        reasons = await self._store.dead_letters.reasons([(change.id, change.attempt) for change in changes])
        values = []
        for event, change, view, letter, reason in zip(failed, changes, views, letters, reasons, strict=True):
            payload = None if view is None else view.payload
            if letter is None or letter.attempts != change.attempt:
                # It was retried since, perhaps with another payload.
                edits = [
                    edit for edit in await self._store.dead_letters.payload_edits(change.id) if edit.at >= event.at
                ]
                payload = edits[0].payload if edits else payload
            failure = FailedTask(
                change=change,
                at=event.at,
                payload=None if payload is None or is_reference(payload) else self._options.redaction.payload(payload),
                attempts=await self._store.queries.attempts(change.id),
                reason=reason,
            )
            told = dead_letter_event(event, dead_letter_message(failure), source=self._options.source)
            values.append(self._dead_letter(told))
        return BusBatch(Channel.DEAD_LETTERS, [event.subject for event in failed], values)

    def _dead_letter(self, event: CloudEvent) -> bytes:
        value = encode(event)
        if len(value) > self._options.largest:
            value = encode(_smaller(event))
        return value

    async def _note_away(self, reason: str) -> None:
        if not self._is_away:
            self._is_away = True
            log.warning("bus.away", reason=reason)
        await self._note(reason)

    async def _note_back(self) -> None:
        if self._is_away:
            self._is_away = False
            log.info("bus.back")
        await self._note(None)

    async def _note(self, error: str | None) -> None:
        """Tell the store whether the bus is there, when that has changed: API servers show it."""
        self._heard_at = self._clock.monotonic()
        if (error is None) != (self._noted is None) or self._noted is UNKNOWN:
            await self._store.events.note_cursor(CONSUMER, holder=self._holder, error=error)
            self._noted = error


def _smaller_text(value: bytes) -> bytes:
    """Return a written event without what makes it too large to be sent."""
    return encode(_smaller(decode(value, CloudEvent)))


def _smaller(event: CloudEvent) -> CloudEvent:
    """Return an event without what makes it too large to be sent."""
    if isinstance(event.data, DeadLetterMessage):
        return replace(event, data=replace(event.data, payload=None))
    return replace(event, data={"omitted": "too large"})
