"""What a key that is meant for some tasks only may submit."""

from drumline.core.accept_job import name_of
from drumline.core.access import Caller
from drumline.core.job import JobRequest


def check_job(by: Caller, request: JobRequest, *, field: str = "") -> None:
    """Raise `Forbidden`, naming the task, if the caller may not submit every task of a job."""
    if by.is_narrowed:
        for key, task in request.tasks.items():
            by.check_submission(name_of(key, task), task.queue, field=f"{field}tasks.{key}.")
