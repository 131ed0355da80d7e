"""Identifiers: UUIDv7 for tasks, jobs and schedules, random 63-bit numbers for sessions and nonces.

Ids of the former are canonical text everywhere in Python. They sort by creation time, and within one process
strictly so, which keeps the stores' primary keys append-only.
"""

import re
from collections.abc import Callable
from random import Random
from typing import NewType, cast

from drumline.core.errors import Invalid

TaskId = NewType("TaskId", str)
JobId = NewType("JobId", str)
ScheduleId = NewType("ScheduleId", str)
SessionId = NewType("SessionId", int)

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_SESSION = re.compile(r"w-([0-9a-f]{16})")
_COUNTER_BITS = 12
_DIGITS = tuple(f"{number:03x}-" for number in range(1 << _COUNTER_BITS))
_TAILS = 256
"""Random ends that are made at once."""


class IdSource:
    """Makes UUIDv7 ids that rise within this source, even inside one millisecond.

    The 12 bits after the version are a counter that starts at random in its lower half each millisecond; when it
    runs over, the source borrows from the next millisecond instead of waiting. Of the 60 random bits behind it the
    first 12 are those of the millisecond, and the others are made for many ids at a time: every task needs one, and
    putting them together digit by digit would be a good part of what submitting costs.
    """

    def __init__(self, now: Callable[[], int], random: Random) -> None:
        self._now = now
        self._random = random
        self._last_ms = 0
        self._counter = 0
        self._head = self._middle = ""
        self._tails: list[str] = []

    def next(self) -> TaskId:
        """Return an id greater than every id returned before."""
        self._step()
        if not self._tails:
            self._tails = self._more_tails(_TAILS)
        return TaskId(self._head + _DIGITS[self._counter] + self._middle + self._tails.pop())

    def take(self, count: int) -> list[TaskId]:
        """Return as many ids as calls of `next` would; the clock is read once for all of them."""
        made: list[str] = []
        while len(made) < count:
            self._step()
            digits = _DIGITS[self._counter : self._counter + count - len(made)]
            tails = self._more_tails(len(digits))
            head, middle = self._head, self._middle
            made += [f"{head}{number}{middle}{tail}" for number, tail in zip(digits, tails, strict=True)]
            self._counter += len(digits) - 1
        return cast("list[TaskId]", made)

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
        self._last_ms = ms
        self._counter = counter
        self._head = f"{ms >> 16:08x}-{ms & 0xFFFF:04x}-7"
        self._middle = f"8{_DIGITS[self._random.getrandbits(_COUNTER_BITS)]}"

    def _more_tails(self, count: int) -> list[str]:
        """Return random ends of 48 bits."""
        return self._random.randbytes(6 * count).hex(" ", 6).split()


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
    """Return an id that is above all those made up to a millisecond, and below all those made later."""
    text = f"{max(ms, 0) + 1:012x}"
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
