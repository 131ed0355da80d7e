"""Lines about attempts in the worker's own log; of failures at most so many a second, and the number of the others."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from drumline.core.ids import SessionId, session_text
from drumline.core.log_fields import FACTS
from drumline.core.outcome import Failed
from drumline.core.task import ClaimedTask
from drumline.core.task_log import PROCESSING, TASK_LOG

MOST_A_SECOND: Final = 50
LONGEST_MESSAGE: Final = 500

_log = logging.getLogger("drumline.worker")


class FailureLog:
    """Writes failures of attempts to the log of the process."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._second = 0.0
        self._written = 0
        self._left_out = 0

    def write(self, facts: Mapping[str, str | int], failed: Failed, *, seconds: float) -> None:
        """Write that an attempt failed: which, how, and after how long."""
        if not self._has_turn():
            self._left_out += 1
            return
        error = failed.error
        message = error.message[:LONGEST_MESSAGE]
        fields = {
            **facts,
            "seconds": round(seconds, 3),
            "error": f"{error.kind}: {message}",
            "permanent": failed.permanent,
        }
        _log.warning(
            "task.failed: %s %s, attempt %s, after %.3g s: %s: %s",
            *(facts["task"], facts["task_id"], facts["attempt"], seconds, error.kind, message),
            extra={FACTS: fields},
        )  # fmt: skip

    def _has_turn(self) -> bool:
        now = self._monotonic()
        if now - self._second >= 1:
            if self._left_out:
                _log.warning("task.failures_left_out: %d more attempts failed", self._left_out)
            self._second, self._written, self._left_out = now, 0, 0
        self._written += 1
        return self._written <= MOST_A_SECOND


def facts_of(task: ClaimedTask, session: SessionId) -> dict[str, str | int]:
    """Return the fields that all log lines of an attempt share."""
    return {
        "task_id": task.lease.task,
        "task": task.name,
        "queue": task.queue,
        "attempt": task.attempt,
        "worker": session_text(session),
    }


def log_processing(tasks: Sequence[ClaimedTask], session: SessionId) -> None:
    """Write that attempts begin."""
    TASK_LOG.write(PROCESSING, (facts_of(task, session) for task in tasks), count=len(tasks))
