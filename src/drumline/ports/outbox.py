"""The outbox: the log of everything that changed, read by any number of consumers, each at its own pace.

A change and its row in the outbox are one transaction. A row's *position* is given once it is committed, in one order
for everybody: whoever has read everything up to a position has missed nothing and will miss nothing, however slow some
transaction was. Events of one subject stand in the order in which they happened.

A consumer (the relay to Kafka, the notifier) has a *cursor*: the last position it has passed on. It reads, passes on,
and only then moves the cursor; when it dies in between, the next one passes the same events on again, with the same
ids. Nothing above the lowest cursor is dropped, nor any task that such an event is about.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.event import Event
from drumline.core.ids import JobId
from drumline.core.state import State
from drumline.ports.notifications import EndedTask, Interest, Picked, PickRange

START: Final = 0
"""Before the first position."""


class EventPage(Struct, frozen=True):
    """A stretch of the log."""

    events: tuple[Event, ...]
    position: int
    """The last position that was read: where to go on, and where to move the cursor once all is passed on."""
    is_full: bool
    """Whether there may be more at once."""


class WrittenPage(Struct, frozen=True):
    """A stretch of the log, as it is published."""

    subjects: Sequence[str]
    """The subject of each event."""
    values: Sequence[bytes]
    """Each event: a CloudEvent as JSON."""
    failed: Sequence[Event]
    """Those of them that tell of tasks that failed for good."""
    position: int
    """As in `EventPage`."""
    is_full: bool
    """As in `EventPage`."""


class LogSpan(Struct, frozen=True):
    """What the log holds."""

    name: str
    """Another database has another name: an event of another log cannot be gone on from."""
    dropped: int
    """The last position that was dropped, or `START`: whoever has read less has missed something."""
    last: int
    """The last position that was given."""


class CursorView(Struct, frozen=True, kw_only=True):
    """How far a consumer has read, for people."""

    consumer: str
    position: int
    behind: int
    """How many rows it has still to pass on; a row holds one event or some thousands."""
    oldest_at: Instant | None
    """When the first of them was written; None if there is none."""
    moved_at: Instant
    error: str | None = None
    """Why it cannot pass events on at the moment, as far as it has noted that."""


class EventLog(Protocol):
    """Reads the log, and keeps how far each consumer has read it."""

    async def sequence(self, *, limit: int = 5000) -> int:
        """Give positions to at most `limit` committed rows that have none; return how many there were.

        Whoever reads calls it first. Only one does it at a time; those who come meanwhile get 0 and need not wait.
        """
        ...

    async def read_events(self, *, after: int, limit: int) -> EventPage:
        """Return the events of the rows behind a position, whole rows only, until there are `limit` events or more.

        Reading one position twice gives the same events with the same ids.
        """
        ...

    async def read_written(self, *, after: int, limit: int, source: str) -> WrittenPage:
        """Return what `read_events` returns, as JSON of the CloudEvents that `source` publishes."""
        ...

    async def log_span(self) -> LogSpan:
        """Return what the log holds."""
        ...

    async def rename_log(self) -> str:
        """Give the log another name, and return it: the ids of its events differ from now on from all there were.

        For a store that was restored: positions that were given after the copy was made are given again.
        """
        ...

    async def take_cursor(self, consumer: str, *, holder: int, seconds: float) -> int | None:
        """Take a consumer's cursor for so many seconds, or keep it; return its position.

        None if another holder has it. `holder` is a random number of the process. A consumer that is new begins at
        the start of the log. Two that both believe to hold it pass events on twice, and lose none.
        """
        ...

    async def move_cursor(self, consumer: str, *, holder: int, old: int, new: int) -> bool:
        """Move a cursor that this holder has from `old` to `new`; return False if it is elsewhere."""
        ...

    async def note_cursor(self, consumer: str, *, holder: int, error: str | None) -> None:
        """Note why a consumer cannot pass events on, or with None that it can; only its holder does so."""
        ...

    async def leave_cursor(self, consumer: str, *, holder: int) -> None:
        """Let another holder have it at once."""
        ...

    async def forget_consumer(self, consumer: str) -> bool:
        """Drop a cursor, so that nothing is kept for it any more; tell whether there was one."""
        ...

    async def cursors(self) -> list[CursorView]:
        """Return the position of every consumer."""
        ...

    async def prune_events(self, *, written_before: Instant, most: int, limit: int) -> int:
        """Drop rows that every consumer has passed on: those written before a time, and all but the last `most`.

        At most `limit` at once, from the start of the log; return how many.
        """
        ...

    async def pick_events(self, span: PickRange, interests: Sequence[Interest], *, has_targets: bool) -> Picked:
        """Look through a stretch of the log.

        Picked are at least the ends of tasks that somebody is interested in, with `has_targets` the ends of those that
        name targets too, and every fact. Looking through rows with none of them costs next to nothing.
        """
        ...

    async def ends_in_jobs(self, jobs: Sequence[JobId], outcome: State, *, limit: int) -> list[list[EndedTask]]:
        """Return up to `limit` tasks of each job whose last execution ended so.

        Of those that completed the last one comes first, of the others the first one: it is the cause of the rest.
        """
        ...
