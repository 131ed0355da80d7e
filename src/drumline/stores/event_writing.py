"""Events as they are published, written from the rows of read_acts.

The relay copies every event, and building each of them costs more than reading it. Most differ only in ids and times:
they share a template, the JSON of one of them written the usual way, in which ids and times are filled in. Everything
else, and the first event of each shape, is written the usual way.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from drumline.core.clock import NEVER, Instant, moment_of
from drumline.core.codec import encode
from drumline.core.event import Event, cloud_event
from drumline.core.ids import TaskId
from drumline.core.state import Act, State
from drumline.core.task import decode_options

MOST_SHAPES: Final = 1000
"""Shapes that are remembered. Where each event has one of its own, as with traces, none is worth a template."""

Row: TypeAlias = Sequence[Any]
Shape: TypeAlias = tuple[Any, ...]
Reading: TypeAlias = tuple[Shape, tuple[str, ...]]
"""The shape of an event, and the texts of its times and its duration, in the order of its fields."""

# The values of the event that a template is made of. No text of one is part of another's.
_POSITION: Final = 123_456_789_012_345_678
_OFFSET: Final = 987_654
_TASK: Final = TaskId("5a3c0f7e-91d2-7b48-a6e0-2f8d4c17b935")
_AT: Final = Instant(86_400_111)
_CREATED: Final = Instant(86_400_222)
_DUE: Final = Instant(86_400_010)
_DUE_LATER: Final = Instant(86_400_333)
_STARTED: Final = Instant(86_400_444)
_FINISHED: Final = Instant(987_740_721_999)
_PLACES: Final = (
    (f"{_POSITION}-{_OFFSET}", "%d-%%d"),
    (moment_of(_AT), "%s"),
    (str(_TASK), "%%s"),
    (f"{_POSITION}-{_OFFSET}", "%018d-%%06d"),
    (str(_TASK), "%%s"),
)
_TIMES: Final = (
    *((moment_of(each), "%%s") for each in (_CREATED, _DUE, _DUE_LATER, _STARTED, _FINISHED)),
    (f'"duration":{(_FINISHED - _STARTED) / 1000}', '"duration":%%s'),
)
"""What is in every event, and what may be, in the order of their fields: texts, and what `%` fills in.

Position and time are filled in once for a row of the outbox, the rest for each event."""


class EventWriter:
    """Writes events for one source."""

    def __init__(self, source: str, acts: Mapping[Any, Act | None]) -> None:
        self._source = source
        self._readings = {
            (number, int(_READINGS[act][0])): _READINGS[act][1] for number, act in acts.items() if act in _READINGS
        }
        """What reads a row, by act and state as the rows have them."""
        self._templates: dict[Shape, str | None] = {}
        """None for a shape that was met once."""

    def write_usually(self, event: Event) -> bytes:
        """Return an event as JSON."""
        return encode(cloud_event(event, source=self._source))

    def write(self, rows: Sequence[Row], build: Callable[[Row], Event]) -> list[bytes | None]:
        """Return the events of rows as JSON; None for those that have to be written the usual way.

        `build` returns the event of a row, the usual way.
        """
        written: list[bytes | None] = []
        last_position, last_shape, text = 0, (), ""
        for row in rows:
            read = self._readings.get((row[4], row[5]))
            reading = None if read is None else read(row)
            if reading is None:
                written.append(None)
                continue
            position, offset, task = row[0], row[1], row[3]
            shape, times = reading
            if position != last_position or shape != last_shape:
                template = self._template(reading, row, build)
                if template is None:
                    written.append(None)
                    continue
                text = template % (position, moment_of(row[2]), position)
                last_position, last_shape = position, shape
            written.append((text % (offset, task, offset, task, *times)).encode())
        return written

    def _template(self, reading: Reading, row: Row, build: Callable[[Row], Event]) -> str | None:
        """Return the template of a shape. It is made when the shape is met for the second time."""
        shape, times = reading
        template = self._templates.get(shape)
        if template is None:
            if shape in self._templates:
                template = self._made(build(_sample(row, shape)), len(times))
            elif len(self._templates) >= MOST_SHAPES:
                self._templates.clear()
            self._templates[shape] = template
        return template

    def _made(self, event: Event, times: int) -> str | None:
        """Write an event with the known ids and times, and put marks where they are."""
        text = self.write_usually(event).decode()
        found = [each for each in _TIMES if each[0] in text]
        places = [*_PLACES, *found]
        needles = [needle for needle, _ in places]
        if len(found) != times or any(text.count(needle) != needles.count(needle) for needle in needles):
            return None  # a name or a tag has the same text
        template = ""
        for needle, mark in places:
            head, _, text = text.partition(needle)
            template += head.replace("%", "%%%%") + mark
        return template + text.replace("%", "%%%%")


def _submitted(row: Row) -> Reading | None:
    _, _, at, _, act, _, epoch, lane, options, created_at, due_at, attempt = row[:12]
    live_state, live_epoch, live_attempt, live_session, live_started_at, live_due_at = row[16:]
    if lane is None or attempt is not None:
        return None
    if live_state is not None and live_epoch == epoch:
        if live_state != State.QUEUED or live_attempt or live_session or live_started_at or live_due_at == NEVER:
            return None
        due_at = live_due_at
    shape = (act, lane, _published(options), None, None, due_at > at)
    return shape, (moment_of(created_at), moment_of(due_at))


def _claimed(row: Row) -> Reading | None:
    act, _, epoch, lane, options, created_at, _, attempt, session, started_at = row[4:14]
    if attempt is None and row[17] == epoch:
        attempt, session, started_at = row[18:21]
    if lane is None or attempt is None or not started_at:
        return None
    shape = (act, lane, _published(options), attempt, session, False)
    return shape, (moment_of(created_at), moment_of(started_at))


def _completed(row: Row) -> Reading | None:
    act, _, _, lane, options, created_at, _, attempt, session, started_at, finished_at, error = row[4:16]
    if lane is None or attempt is None or not started_at or error is not None:
        return None
    shape = (act, lane, _published(options), attempt, session, False)
    times = (moment_of(created_at), moment_of(started_at), moment_of(finished_at), _seconds(finished_at - started_at))
    return shape, times


_READINGS: Final[Mapping[Act | None, tuple[State, Callable[[Row], Reading | None]]]] = {
    None: (State.QUEUED, _submitted),
    Act.CLAIM: (State.RUNNING, _claimed),
    Act.COMPLETE: (State.COMPLETED, _completed),
}
"""What reads the row of an act that led to a state. Each returns None for an event that has other fields."""


def _sample(row: Row, shape: Shape) -> list[Any]:
    """Return a row whose event has this shape and the known ids and times."""
    *_, attempt, session, is_later = shape
    due_at = _DUE_LATER if is_later else _DUE
    ended = [None] * 3 if attempt is None else [_STARTED, _FINISHED, None]
    known = [_POSITION, _OFFSET, _AT, _TASK, *row[4:9], _CREATED, due_at]
    return [*known, attempt, session, *ended, *[None] * 6]


def _published(options: str | None) -> tuple[Any, ...] | None:
    """Return what an event tells of stored options."""
    if options is None:
        return None
    known = decode_options(options)
    return known.job, known.tags, known.trace


@lru_cache(maxsize=4096)
def _seconds(millis: int) -> str:
    return str(max(millis, 0) / 1000)
