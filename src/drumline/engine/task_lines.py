"""Log lines about tasks that were stored."""

from collections.abc import Iterator, Sequence

from drumline.core.task import NewTask, SubmitAnswer, Submitted, decode_options
from drumline.core.task_log import SUBMITTED, TASK_LOG, Facts


def is_new(answer: SubmitAnswer) -> bool:
    """Tell whether a task was stored, and not merely known by its idempotency key."""
    return isinstance(answer, Submitted) and answer.created


def log_submitted(tasks: Sequence[NewTask]) -> None:
    """Write that tasks were stored."""
    if tasks:
        TASK_LOG.write(SUBMITTED, _facts(tasks), count=len(tasks))


def _facts(tasks: Sequence[NewTask]) -> Iterator[Facts]:
    for task in tasks:
        lane = task.lane
        job = decode_options(task.options).job
        yield {"task_id": task.id, "task": lane.name, "queue": lane.queue, "tenant": lane.tenant, "job": job}
