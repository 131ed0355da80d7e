"""Executions as both stores keep them."""

from collections.abc import Iterable
from typing import Any

from drumline.core.attempt import AttemptOutcome, AttemptView, JobAttempt
from drumline.core.codec import decode
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo


def attempt_view(row: Iterable[Any]) -> AttemptView:
    """Return an execution from its row; the order is that of attempts.sql."""
    epoch, attempt, outcome, session, started_at, finished_at, error = row
    return AttemptView(
        epoch=epoch, attempt=attempt, outcome=AttemptOutcome(outcome), worker=session, started_at=started_at,
        finished_at=finished_at, error=error_info(error),
    )  # fmt: skip


def job_attempt(row: Iterable[Any]) -> JobAttempt:
    """Return an execution of a task of a job from its row; the order is that of job_attempts.sql."""
    key, task, epoch, attempt, outcome, session, started_at, finished_at, error = row
    return JobAttempt(
        key=key, task=TaskId(str(task)), epoch=epoch, attempt=attempt, outcome=AttemptOutcome(outcome), worker=session,
        started_at=started_at, finished_at=finished_at,
        reason=None if error is None else decode(error, ErrorInfo).message,
    )  # fmt: skip


def error_info(text: str | None) -> ErrorInfo | None:
    """Return an error from how it is kept."""
    return None if text is None else decode(text, ErrorInfo)
