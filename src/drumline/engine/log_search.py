"""Searching the logs of many tasks, in bounded steps.

The store finds tasks by their filter, newest first, and hands out their output in pieces; lines are compared here, in
a thread if they are many. A search ends at the bounds of its `LogEffort`, and a cursor continues it: below a task, or
at a line of its log.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from msgspec import Struct

from drumline.aio.threads import off_loop
from drumline.core.clock import Instant
from drumline.core.errors import Invalid
from drumline.core.ids import TaskId, made_at, parse_task_id
from drumline.core.limits import Limits
from drumline.core.log_lines import LOG_START, LogLevel, LogMatch, LogPiece, LogPlace, LogScanner, LogSought
from drumline.core.task import TaskView
from drumline.engine.log_reading import LARGE, SMALL, Portion
from drumline.ports.store import Store, TaskFilter

PIECE_WEIGHT: Final = 1000
"""What reading a piece costs besides its length, as characters."""
LARGEST_NUMBER: Final = 2**31 - 1

_CURSOR: Final = re.compile(
    r"([0-9a-f-]{36})(?:\.(\d{1,10})\.(\d{1,10})\.(\d{1,10})\.(\d{1,10})\.(debug|info|warning|error|-)\.([01]))?",
    re.ASCII,
)


TASKS_AT_ONCE: Final = 50
FIRST: Final = Portion(20, 4 * 1024)
"""Of each of so many tasks at first: 4 Mi characters together at most, and mostly whole logs."""


class LogEffort(NamedTuple):
    """What one search of logs may cost at most, besides the search for their tasks."""

    tasks: tuple[int, ...] = (100, 900)
    """Tasks whose logs are read, as many searches for tasks find them: the first is enough if much is found."""
    characters: int = 8 * 1024 * 1024
    """Characters of output after which nothing more is read."""


LOG_EFFORT: Final = LogEffort()


class FoundLine(NamedTuple):
    """A line that was found, with its task and the number of the attempt that wrote it, if that is known."""

    task: TaskView
    match: LogMatch
    attempt: int | None


class LogCursor(NamedTuple):
    """From where a search goes on: with the tasks below one, or before that with the rest of its log."""

    task: TaskId
    place: LogPlace | None = None

    def __str__(self) -> str:
        """Return the cursor as a client gets it."""
        if self.place is None:
            return self.task
        *numbers, level, is_inside = self.place
        return ".".join(map(str, (self.task, *numbers, level or "-", int(is_inside))))


class LogLines(Struct, frozen=True, kw_only=True):
    """Lines that a search has found, and how far it got."""

    items: tuple[FoundLine, ...]
    next_cursor: str | None
    is_partial: bool
    """Whether it stopped at its bounds before it had found enough: the cursor continues it."""
    tasks: int
    """Tasks whose logs it has read."""
    back_to: Instant | None
    """When the task was submitted that it got to; None if it has searched all."""


def read_cursor(text: str) -> LogCursor:
    """Return the cursor that a client sends back, or raise `Invalid`."""
    found = _CURSOR.fullmatch(text)
    if found is None:
        raise Invalid("must be the next_cursor of the page before", field="cursor")
    task = parse_task_id(found[1], field="cursor")
    if found[2] is None:
        return LogCursor(task)
    epoch, seq, offset, line = (int(number) for number in found.groups()[1:5])
    if max(epoch, seq, offset, line) >= LARGEST_NUMBER or line < 1:
        raise Invalid("must be the next_cursor of the page before", field="cursor")
    level = None if found[6] == "-" else LogLevel(found[6])
    return LogCursor(task, LogPlace(epoch, seq, offset, line, level, found[7] == "1"))


class LogSearches:
    """Searches in the logs of the tasks that a filter selects."""

    def __init__(self, store: Store, limits: Limits) -> None:
        self._store = store
        self._limits = limits

    async def search(
        self, which: TaskFilter, sought: LogSought, *, limit: int = 100, cursor: str | None = None
    ) -> LogLines:
        """Return lines, those of the newest task first, and from where to go on."""
        if not 1 <= limit <= self._limits.page:
            raise Invalid(f"must be from 1 to {self._limits.page}", field="limit")
        start = None if cursor is None else read_cursor(cursor)
        search = _Search(self._store, which, sought, limit)
        rest = await search.run(start)
        items = await self._with_attempts(search.found)
        return LogLines(
            items=items,
            next_cursor=None if rest is None else str(rest),
            is_partial=rest is not None and len(items) < limit,
            tasks=search.tasks,
            back_to=None if rest is None else Instant(made_at(rest.task)),
        )

    async def _with_attempts(self, found: Sequence[tuple[TaskView, LogMatch]]) -> tuple[FoundLine, ...]:
        executions = list(dict.fromkeys((view.id, match.epoch) for view, match in found))
        holders = await self._store.queries.holders(executions) if executions else ()
        numbers = {
            execution: None if holder is None else holder.attempt
            for execution, holder in zip(executions, holders, strict=True)
        }
        return tuple(FoundLine(view, match, numbers[view.id, match.epoch]) for view, match in found)


class _Search:
    """One search, from where it begins to where it ends."""

    def __init__(self, store: Store, which: TaskFilter, sought: LogSought, limit: int) -> None:
        self._store = store
        self._which = which
        self._sought = sought
        self._limit = limit
        self._characters = 0
        self.found: list[tuple[TaskView, LogMatch]] = []
        self.tasks = 0

    async def run(self, start: LogCursor | None) -> LogCursor | None:
        """Search, and return from where to go on; None if everything was searched."""
        if start is not None and start.place is not None:
            (view,) = await self._store.queries.get([start.task], tenant=self._which.tenant, payload=False)
            rest = None if view is None else await self._read_on(_Log(view, self._sought, start.place))
            self.tasks += view is not None
            if rest is not None:
                return rest
        before = None if start is None else start.task
        for count in LOG_EFFORT.tasks:
            if before is not None and self._is_over:
                return LogCursor(before)
            part = await self._store.queries.search_tasks(self._which, limit=count, before=before, errors=False)
            rest = await self._read(part.tasks)
            if rest is not None:
                return rest
            if part.rest is None:
                return None
            before = part.rest
            if len(part.tasks) < count:
                break  # the search for tasks has done all that one request may cost
        return None if before is None else LogCursor(before)

    @property
    def _room(self) -> int:
        return self._limit - len(self.found)

    @property
    def _is_over(self) -> bool:
        return self._room <= 0 or self._characters >= LOG_EFFORT.characters

    async def _read(self, views: Sequence[TaskView]) -> LogCursor | None:
        """Search the logs of tasks; return from where to go on, if it is not below the last of them."""
        for start in range(0, len(views), TASKS_AT_ONCE):
            part = views[start : start + TASKS_AT_ONCE]
            logs = await self._store.outputs.first_logs(
                [view.id for view in part], pieces=FIRST.pieces, longest=FIRST.longest, tenant=self._which.tenant
            )
            weight = sum(map(_weight, logs))
            self._characters += weight
            left = zip(part, logs, strict=True)
            # As many as possible in one go: up to a task of whose log more has to be read, or until enough is found.
            while (log := await off_loop(weight, partial(self._scan, left))) is not None:
                rest = await self._read_on(log)
                if rest is not None:
                    return rest
                if self._is_over and log.view.id != views[-1].id:
                    return LogCursor(log.view.id)
            if self._is_over and part[-1].id != views[-1].id:
                return LogCursor(part[-1].id)
        return None

    def _scan(self, logs: Iterator[tuple[TaskView, Sequence[LogPiece]]]) -> "_Log | None":
        """Search logs; return the one where that stopped."""
        for view, pieces in logs:
            self.tasks += 1
            log = _Log(view, self._sought)
            self._add(log, pieces, FIRST)
            if not log.is_whole or self._room <= 0:
                return log
        return None

    async def _read_on(self, log: "_Log") -> LogCursor | None:
        """Search the rest of a log; return from where to go on, if not all of it was searched."""
        while not log.is_whole and not self._is_over:
            portion = SMALL if not log.is_large else LARGE
            pieces = await self._store.outputs.log_from(
                log.view.id, log.at, pieces=portion.pieces, longest=portion.longest, tenant=self._which.tenant
            )
            weight = _weight(pieces)
            self._characters += weight
            log.is_large = any(len(piece.text) >= SMALL.longest for piece in pieces)
            await off_loop(weight, partial(self._add, log, pieces, portion))
        if log.is_whole:
            return None
        if self._room > 0 and log.scanner.place == log.start:
            # A line of very many pieces has taken all that a request may read: the next would not get further, either.
            self._note(log.view, [log.scanner.give_up_line()])
        return LogCursor(log.view.id, log.scanner.place)

    def _add(self, log: "_Log", pieces: Sequence[LogPiece], portion: Portion) -> None:
        """Search what was read of a log when so much was asked for."""
        for piece in pieces:
            self._note(log.view, log.scanner.add(piece, self._room))
            if self._room <= 0:
                return
            is_cut = len(piece.text) >= portion.longest
            end = piece.offset + len(piece.text)
            log.at = LogPlace(piece.epoch, piece.seq, end) if is_cut else LogPlace(piece.epoch, piece.seq + 1)
            if is_cut:
                return
        if len(pieces) < portion.pieces:
            log.is_whole = True
            self._note(log.view, [log.scanner.close()])

    def _note(self, view: TaskView, matches: Sequence[LogMatch | None]) -> None:
        self.found += [(view, match) for match in matches if match is not None]


class _Log:
    """The log of a task while it is searched."""

    def __init__(self, view: TaskView, sought: LogSought, start: LogPlace = LOG_START) -> None:
        self.view = view
        self.scanner = LogScanner(sought, start)
        self.start = start
        """Where this request began to search it."""
        self.at = start
        """Where reading goes on."""
        self.is_large = False
        """Whether its pieces are long."""
        self.is_whole = False
        """Whether all of it was searched."""


def _weight(pieces: Sequence[LogPiece]) -> int:
    return sum(len(piece.text) + PIECE_WEIGHT for piece in pieces)
