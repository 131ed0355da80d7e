"""Fields of log lines about an attempt."""

from collections.abc import Sequence

from drumline.core.ids import SessionId, session_text
from drumline.core.task import ClaimedTask
from drumline.core.task_log import PROCESSING, TASK_LOG


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
