"""Identifiers: UUIDv7 for tasks, jobs and schedules, random 63-bit numbers for sessions and nonces.

Ids of the former are canonical text everywhere in Python. They sort by creation time, and within one process
strictly so, which keeps the stores' primary keys append-only.
"""

import re
from collections.abc import Callable
from random import Random
from typing import NewType, cast

from drumline.core.errors import Invalid
from drumline.core.slots import ALL_OPEN, OpenSlots, slot_of

TaskId = NewType("TaskId", str)
JobId = NewType("JobId", str)
ScheduleId = NewType("ScheduleId", str)
SessionId = NewType("SessionId", int)

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_SESSION = re.compile(r"w-([0-9a-f]{16})")
_COUNTER_BITS = 12
_LAST_MS = (1 << 48) - 1
_DIGITS = tuple(f"{number:03x}-" for number in range(1 << _COUNTER_BITS))
_MOST_ALIKE = 500
"""Ids of one list that are made in one slot, where there is a choice."""
_TAILS = 256
"""Random ends that are made at once."""


class IdSource:
    """Makes UUIDv7 ids that rise within this source, even inside one millisecond.

    The 12 bits after the version are a counter that starts at random in its lower half each millisecond; when it
    runs over, the source borrows from the next millisecond instead of waiting. Of the 60 bits behind it the first 12
    are the slot (`core.slots`), one for all ids of a millisecond unless one is asked for, and the others are random and
    made for many ids at a time: every task needs one, and putting them together digit by digit would be a good part of
    what submitting costs.
    """

    def __init__(self, now: Callable[[], int], random: Random) -> None:
        self._now = now
        self._random = random
        self._last_ms = 0
        self._counter = 0
        self._head = self._middle = ""
        self._tails: list[str] = []
        self._slot = 0
        self._open = ALL_OPEN

    @property
    def open(self) -> OpenSlots:
        """The slots in which ids are made."""
        return self._open

    @open.setter  # noqa: A003
    def open(self, slots: OpenSlots) -> None:
        self._open = slots
        # A slot may be another shard's by now, which takes ids from a time on; the clock may stand still, or be behind.
        if self._slot not in slots or slots.since.get(self._slot, 0) > self._last_ms:
            self._counter = 1 << _COUNTER_BITS  # the next id begins anew, in one of these

    def next(self, slot: int | None = None) -> TaskId:
        """Return an id greater than every id returned before, in a slot if one is named."""
        self._step()
        if not self._tails:
            self._tails = self._more_tails(_TAILS)
        made = TaskId(self._head + _DIGITS[self._counter] + self._middle + self._tails.pop())
        return made if slot is None else self.in_slot(made, slot)

    def in_slot(self, id: TaskId, slot: int) -> TaskId:
        """Return an id that this source has just made, for a slot: not before ids of that slot may be made here."""
        since = self._open.since.get(slot, 0)
        head = id[:15] if since <= made_at(id) else _head(since)
        return TaskId(f"{head}{id[15:20]}{slot:03x}{id[23:]}")

    def version(self, id: str) -> int:
        """Return the version of the entry of the map by which an id is made now."""
        versions = self._open.versions
        return versions.get(slot_of(id), 0) if versions else 0

    def take(self, count: int) -> list[TaskId]:
        """Return as many ids as calls of `next` would; the clock is read once for all of them."""
        made: list[str] = []
        while len(made) < count:
            self._step()
            digits = _DIGITS[self._counter : self._counter + min(count - len(made), _MOST_ALIKE)]
            tails = self._more_tails(len(digits))
            head, middle = self._head, self._middle
            made += [f"{head}{number}{middle}{tail}" for number, tail in zip(digits, tails, strict=True)]
            self._counter += len(digits) - 1
            if len(made) < count and self._open.slots is not None:
                self._begin(self._last_ms + 1, 0)  # a long list is spread over several slots
        return cast("list[TaskId]", made)

    def take_in(self, slot: int, count: int) -> list[TaskId]:
        """Return as many ids of a slot, in their order."""
        return sorted(self.in_slot(made, slot) for made in self.take(count))

    def take_at(self, slot: int, count: int, ms: int) -> list[TaskId]:
        """Return as many ids of a slot as if they had been made in a millisecond, in their order."""
        head = _head(ms)
        return sorted(TaskId(f"{head}{made[15:20]}{slot:03x}{made[23:]}") for made in self.take(count))

    def _step(self) -> None:
        """Go on to the place of the next id."""
        ms = self._now()
        if ms > self._last_ms:
            self._begin(ms, self._random.getrandbits(_COUNTER_BITS - 1))
        else:
            self._counter += 1
            if self._counter >> _COUNTER_BITS:
                self._begin(self._last_ms + 1, 0)

    def _begin(self, ms: int, counter: int) -> None:
        self._slot = slot = self._open.choose(self._random)
        self._last_ms = ms = max(ms, self._open.since.get(slot, 0))
        self._counter = counter
        self._head = _head(ms)
        self._middle = f"8{_DIGITS[slot]}"

    def _more_tails(self, count: int) -> list[str]:
        """Return random ends of 48 bits."""
        return self._random.randbytes(6 * count).hex(" ", 6).split()


def _head(ms: int) -> str:
    return f"{ms >> 16:08x}-{ms & 0xFFFF:04x}-7"


def parse_task_id(text: str, *, field: str = "id") -> TaskId:
    """Return `text` as a task id in canonical form, or raise `Invalid` naming `field`."""
    if _UUID.fullmatch(text) is None:
        raise Invalid("must be a UUID such as 01890a5d-ac96-774b-bcce-b302099a8057", field=field)
    return TaskId(text.lower())


def parse_job_id(text: str, *, field: str = "id") -> JobId:
    """Return `text` as a job id in canonical form, or raise `Invalid` naming `field`."""
    return JobId(parse_task_id(text, field=field))


def parse_schedule_id(text: str, *, field: str = "id") -> ScheduleId:
    """Return `text` as a schedule id in canonical form, or raise `Invalid` naming `field`."""
    return ScheduleId(parse_task_id(text, field=field))


def made_at(id: str) -> int:
    """Return the millisecond in which an id was made."""
    return int(id[:8] + id[9:13], 16)


def id_above(ms: int) -> TaskId:
    """Return an id that is above all those made up to a millisecond, and below all those made later.

    Ids end with the last millisecond that they have room for, in the year 10889.
    """
    text = f"{min(max(ms, 0) + 1, _LAST_MS):012x}"
    return TaskId(f"{text[:8]}-{text[8:]}-7000-8000-000000000000")


def session_text(session: SessionId) -> str:
    """Return the public form of a session id, `w-` and 16 hex digits."""
    return f"w-{session:016x}"


def parse_session_id(text: str, *, field: str = "id") -> SessionId:
    """Return the session behind its public form, or raise `Invalid` naming `field`."""
    match = _SESSION.fullmatch(text)
    if match is None:
        raise Invalid("must be a worker id such as w-00c0ffee00c0ffee", field=field)
    return SessionId(int(match[1], 16) & 0x7FFF_FFFF_FFFF_FFFF)
