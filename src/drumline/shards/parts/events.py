"""The event logs of all shards, read as one. Events of one subject are in one log, so their order holds.

The feed, the relay and the notifier read each shard's log by itself, at its own pace. What is here is for those who
look at all of them: positions are joined (`shards.positions`).
"""

from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from typing import TypeVar

from msgspec.structs import replace

from drumline.core.clock import Instant
from drumline.core.ids import JobId
from drumline.core.state import State
from drumline.ports.notifications import EndedTask, Interest, Picked, PickRange
from drumline.ports.outbox import CursorView, EventLog, EventPage, LogSpan, WrittenPage
from drumline.shards.parts.merging import Part, earliest
from drumline.shards.positions import joined, position_in

T = TypeVar("T")


class Events(Part):
    """`ports.outbox.EventLog`."""

    async def sequence(self, *, limit: int = 5000) -> int:
        """Give positions to at most `limit` committed rows of each log that have none; return how many there were."""
        return sum(await self._all(lambda log, _: log.sequence(limit=limit)))

    async def read_events(self, *, after: int, limit: int) -> EventPage:
        """Return the events behind a position, whole rows only, of each log until there are `limit` or more."""
        pages = await self._all(lambda log, place: log.read_events(after=position_in(after, place), limit=limit))
        return EventPage(
            tuple(event for page in pages for event in page.events),
            joined(page.position for page in pages),
            any(page.is_full for page in pages),
        )

    async def read_written(self, *, after: int, limit: int, source: str) -> WrittenPage:
        """Return what `read_events` returns, as JSON of the CloudEvents that `source` publishes."""
        pages = await self._all(
            lambda log, place: log.read_written(after=position_in(after, place), limit=limit, source=source)
        )
        return WrittenPage(
            list(chain.from_iterable(page.subjects for page in pages)),
            list(chain.from_iterable(page.values for page in pages)),
            list(chain.from_iterable(page.failed for page in pages)),
            joined(page.position for page in pages),
            any(page.is_full for page in pages),
        )

    async def log_span(self) -> LogSpan:
        """Return what the logs hold."""
        spans = await self._all(lambda log, _: log.log_span())
        return LogSpan(
            ".".join(span.name for span in spans),
            joined(span.dropped for span in spans),
            joined(span.last for span in spans),
        )

    async def rename_log(self) -> str:
        """Give each log another name, and return them."""
        return ".".join(await self._all(lambda log, _: log.rename_log()))

    async def take_cursor(self, consumer: str, *, holder: int, seconds: float) -> int | None:
        """Take a consumer's cursor of every log for so many seconds, or keep it; return its position.

        None if another holder has one of them; then those that were taken are left.
        """
        found = await self._all(lambda log, _: log.take_cursor(consumer, holder=holder, seconds=seconds))
        positions = [position for position in found if position is not None]
        if len(positions) < len(found):
            await self.leave_cursor(consumer, holder=holder)
            return None
        return joined(positions)

    async def move_cursor(self, consumer: str, *, holder: int, old: int, new: int) -> bool:
        """Move the cursors that this holder has from `old` to `new`; return False if one is elsewhere."""
        moved = await self._all(
            lambda log, place: log.move_cursor(
                consumer, holder=holder, old=position_in(old, place), new=position_in(new, place)
            )
        )
        return all(moved)

    async def note_cursor(self, consumer: str, *, holder: int, error: str | None) -> None:
        """Note why a consumer cannot pass events on, or with None that it can; only its holder does so."""
        await self._all(lambda log, _: log.note_cursor(consumer, holder=holder, error=error))

    async def leave_cursor(self, consumer: str, *, holder: int) -> None:
        """Let another holder have it at once."""
        await self._all(lambda log, _: log.leave_cursor(consumer, holder=holder))

    async def forget_consumer(self, consumer: str) -> bool:
        """Drop a cursor in every log, so that nothing is kept for it any more; tell whether there was one."""
        return any(await self._all(lambda log, _: log.forget_consumer(consumer)))

    async def cursors(self) -> list[CursorView]:
        """Return how far every consumer has read. The position, shown to people, is how many rows it has passed on."""
        views: dict[str, CursorView] = {}
        for found in await self._router.each(lambda store: store.events.cursors()):
            for view in found:
                known = views.get(view.consumer)
                views[view.consumer] = view if known is None else _together(known, view)
        return [views[name] for name in sorted(views)]

    async def prune_events(self, *, written_before: Instant, most: int, limit: int) -> int:
        """Drop rows that every consumer has passed on: those written before a time, and all but the last `most`.

        Each shard keeps as many.
        """
        return sum(
            await self._router.in_turn(
                limit,
                lambda store, left: store.events.prune_events(written_before=written_before, most=most, limit=left),
                count=int,
            )
        )

    async def pick_events(self, span: PickRange, interests: Sequence[Interest], *, has_targets: bool) -> Picked:
        """Look through a stretch of each log."""
        picked = await self._all(
            lambda log, place: log.pick_events(
                replace(span, after=position_in(span.after, place), until=position_in(span.until, place)),
                interests,
                has_targets=has_targets,
            )
        )
        return Picked(
            tuple(event for each in picked for event in each.events),
            joined(each.position for each in picked),
            any(each.is_full for each in picked),
        )

    async def ends_in_jobs(self, jobs: Sequence[JobId], outcome: State, *, limit: int) -> list[list[EndedTask]]:
        """Return up to `limit` tasks of each job whose last execution ended so."""
        return await self._router.split(jobs, lambda store, part: store.events.ends_in_jobs(part, outcome, limit=limit))

    async def _all(self, ask: Callable[[EventLog, int], Awaitable[T]]) -> list[T]:
        """Ask every log; a reader of several goes on only if all answer, since it has one position for them."""
        logs = {id(member.store): place for place, member in enumerate(self._router.shards)}
        return await self._router.all(lambda store: ask(store.events, logs[id(store)]))


def _together(one: CursorView, other: CursorView) -> CursorView:
    return CursorView(
        consumer=one.consumer,
        position=one.position + other.position,
        behind=one.behind + other.behind,
        oldest_at=earliest([one.oldest_at, other.oldest_at]),
        moved_at=min(one.moved_at, other.moved_at),
        error=one.error if one.error is not None else other.error,
    )
