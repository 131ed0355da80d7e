"""Consumers of the event log: the name of the log, and how far each consumer has read it."""

from drumline.ports.outbox import CursorView, LogSpan
from drumline.stores.driver import Line, Part


class Consumers(Part):
    """The part of `ports.outbox.EventLog` about the log's span and its cursors."""

    async def log_span(self) -> LogSpan:
        """Return what the log holds."""
        ((name, dropped, last),) = await self._database.fetch(Line.EVENTS, "log_span", repeat=True)
        return LogSpan(name, dropped, last)

    async def rename_log(self) -> str:
        """Give the log another name, and return it."""
        ((name,),) = await self._database.fetch(Line.DESK, "rename_log")
        return str(name)

    async def take_cursor(self, consumer: str, *, holder: int, seconds: float) -> int | None:
        """Take a consumer's cursor for so many seconds, or keep it; return where it stands."""
        rows = await self._database.fetch(
            Line.EVENTS,
            "take_cursor",
            repeat=True,
            consumer=consumer,
            holder=holder,
            ms=round(seconds * 1000),
            now=self._now(),
        )
        return int(rows[0][0]) if rows else None

    async def move_cursor(self, consumer: str, *, holder: int, old: int, new: int) -> bool:
        """Move a cursor that this holder has and that still stands at `old`; tell whether it was moved."""
        # Not repeated when the answer was lost: a second try would find it moved and say that somebody else did it.
        rows = await self._database.fetch(
            Line.EVENTS, "move_cursor", consumer=consumer, holder=holder, old=old, new=new, now=self._now()
        )
        return bool(rows)

    async def note_cursor(self, consumer: str, *, holder: int, error: str | None) -> None:
        """Note why a consumer cannot pass events on, or with None that it can; only its holder does so."""
        await self._database.fetch(
            Line.EVENTS, "note_cursor", repeat=True, consumer=consumer, holder=holder, error=error
        )

    async def leave_cursor(self, consumer: str, *, holder: int) -> None:
        """Let another holder have it at once."""
        await self._database.fetch(Line.EVENTS, "leave_cursor", repeat=True, consumer=consumer, holder=holder)

    async def forget_consumer(self, consumer: str) -> bool:
        """Drop a cursor, so that nothing is kept for it any more; tell whether there was one."""
        return bool(await self._database.fetch(Line.DESK, "forget_consumer", consumer=consumer))

    async def cursors(self) -> list[CursorView]:
        """Return where every consumer stands."""
        rows = await self._database.fetch(Line.DESK, "cursors", repeat=True)
        return [
            CursorView(
                consumer=consumer,
                position=position,
                moved_at=moved_at,
                behind=behind,
                oldest_at=oldest_at,
                error=error,
            )
            for consumer, position, moved_at, behind, oldest_at, error in rows
        ]
