"""Lines in the log of the process about what becomes of tasks: submitted, processing, completed.

Failures have lines of their own (`worker/process_log.py`). Of each kind at most so many are written in a second; how
many were left out is said at the end of that second. While the log is off, and it is until a process has set up its
logging, a batch of tasks costs the look at one attribute.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Final

from drumline.core.log_fields import FACTS

SUBMITTED: Final = "task.submitted"
PROCESSING: Final = "task.processing"
COMPLETED: Final = "task.completed"
LEFT_OUT: Final = "task.lines_left_out"
MOST_A_SECOND: Final = 20

Facts = Mapping[str, str | int | float | None]

_log = logging.getLogger("drumline.tasks")


class TaskLog:
    """Writes lines about tasks, at a level that is set."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.is_on = False
        """Whether lines are written; to be asked before facts are put together."""
        self._monotonic = monotonic
        self._level: int | None = None
        self._threshold = logging.INFO
        self._per_second = MOST_A_SECOND
        self._second = 0.0
        self._written: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()
        self._is_awaited = False
        self.later: Callable[[Callable[[], None]], bool] = _never
        """Has something called when a second is over; tells whether it will be."""

    def set_up(self, level: int | None, *, per_second: int = MOST_A_SECOND) -> None:
        """Write lines at this level, or with None none; at most so many of each kind in a second."""
        self._level, self._per_second = level, per_second
        self._look()

    def set_threshold(self, level: int) -> None:
        """Take over the least level that the process writes."""
        self._threshold = level
        self._look()

    def write(self, action: str, facts: Iterable[Facts], *, count: int = 1) -> None:
        """Write a line for each of `count` tasks, as far as there is room in this second."""
        room = self._room(action, count)
        for each in islice(facts, room):
            self._write_one(action, each)
        if room < count:
            self._left_out[action] += count - room
            # It is said when the second is over, also if no task comes any more.
            self._is_awaited = self._is_awaited or self.later(self.say_left_out)

    def say_left_out(self) -> None:
        """Say how many lines were left out, if any were."""
        self._is_awaited = False
        left_out, self._left_out = self._left_out, Counter()
        for action, count in left_out.items():
            facts = {"action": action, "left_out": count}
            _log.log(self._level or logging.INFO, "%s: %d of %s", LEFT_OUT, count, action, extra={FACTS: facts})

    def _look(self) -> None:
        self.is_on = self._level is not None and self._level >= self._threshold

    def _room(self, action: str, count: int) -> int:
        now = self._monotonic()
        if now - self._second >= 1:
            self._second = now
            self._written.clear()
            if self._left_out and not self._is_awaited:
                self.say_left_out()
        room = min(count, self._per_second - self._written[action])
        self._written[action] += room
        return room

    def _write_one(self, action: str, facts: Facts) -> None:
        seconds = facts.get("seconds")
        after = "" if seconds is None else f", after {seconds:.3g} s"
        known = {name: value for name, value in facts.items() if value is not None}
        _log.log(
            self._level or logging.INFO, "%s: %s %s%s", action, facts["task"], facts["task_id"], after,
            extra={FACTS: known},
        )  # fmt: skip


def _never(_say: Callable[[], None]) -> bool:
    return False


TASK_LOG: Final = TaskLog()
"""The one of this process, set up with its logging."""
