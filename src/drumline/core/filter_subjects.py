"""The fields by which tasks, jobs and failures can be filtered.

When something was created is told by its id, as in lists, which are in the order of ids.
"""

from typing import Any, Final

from drumline.core.clock import Instant
from drumline.core.filters import Field, Kind, Subject
from drumline.core.ids import made_at
from drumline.core.job import JobStatus
from drumline.core.state import Status

LONGEST_ERROR: Final = 2000
"""Characters of a task's error in which filters search: its class and the beginning of its message."""


def _lasted(subject: Any, now: Instant) -> int | None:
    """Return how long a task or job has run, up to now if it still does."""
    if subject.started_at is None:
        return None
    ended = subject.finished_at if subject.finished_at is not None else now
    return int(ended - subject.started_at)


def searched_characters(task: Any) -> int:
    """Return how many characters of a task's error a filter may search."""
    return 0 if task.error is None else min(len(task.error.kind) + len(task.error.message), LONGEST_ERROR)


def _error_text(task: Any) -> str | None:
    if task.error is None:
        return None
    return f"{task.error.kind}: {task.error.message[:LONGEST_ERROR]}"[:LONGEST_ERROR]


TASKS: Final = Subject(
    fields={
        "status": Field(Kind.STATUS, lambda task, now: task.status(now)),
        "name": Field(Kind.PATTERN, lambda task, _: task.lane.name),
        "queue": Field(Kind.PATTERN, lambda task, _: task.lane.queue),
        "tag": Field(Kind.PATTERN, lambda task, _: task.options.tags),
        "key": Field(Kind.PATTERN, lambda task, _: task.idempotency_key),
        "error": Field(Kind.PART, lambda task, _: _error_text(task)),
        "created": Field(Kind.TIME, lambda task, _: made_at(task.id)),
        "due": Field(Kind.TIME, lambda task, _: task.due_at),
        "started": Field(Kind.TIME, lambda task, _: task.started_at),
        "ended": Field(Kind.TIME, lambda task, _: task.finished_at),
        "duration": Field(Kind.SPAN, _lasted),
        "age": Field(Kind.SPAN, lambda task, now: now - made_at(task.id)),
        "priority": Field(Kind.PRIORITY, lambda task, _: task.lane.priority),
        "attempts": Field(Kind.NUMBER, lambda task, _: task.attempt),
        "worker": Field(Kind.WORKER, lambda task, _: task.worker),
        "job": Field(Kind.JOB, lambda task, _: task.options.job),
        "id": Field(Kind.ID, lambda task, _: task.id),
    },
    texts=lambda task: (task.lane.name, task.idempotency_key, task.id),
    statuses=tuple(Status),
    aliases={"state": "status", "attempt": "attempts", "idempotency_key": "key", "finished": "ended"},
    has_payload=True,
)

JOBS: Final = Subject(
    fields={
        "status": Field(Kind.STATUS, lambda job, _: job.status),
        "name": Field(Kind.PATTERN, lambda job, _: job.name),
        "owner": Field(Kind.PATTERN, lambda job, _: job.owner),
        "tag": Field(Kind.PATTERN, lambda job, _: job.options.tags),
        "key": Field(Kind.PATTERN, lambda job, _: job.idempotency_key),
        "schedule": Field(Kind.PATTERN, lambda job, _: job.schedule_id),
        "error": Field(Kind.PART, lambda job, _: job.reason),
        "created": Field(Kind.TIME, lambda job, _: made_at(job.id)),
        "started": Field(Kind.TIME, lambda job, _: job.started_at),
        "ended": Field(Kind.TIME, lambda job, _: job.finished_at),
        "duration": Field(Kind.SPAN, _lasted),
        "age": Field(Kind.SPAN, lambda job, now: now - made_at(job.id)),
        "tasks": Field(Kind.NUMBER, lambda job, _: job.counts.total),
        "failed": Field(Kind.NUMBER, lambda job, _: job.counts.failed),
        "id": Field(Kind.ID, lambda job, _: job.id),
    },
    texts=lambda job: (job.name, job.idempotency_key, job.id),
    statuses=tuple(JobStatus),
    aliases={"state": "status", "idempotency_key": "key", "finished": "ended"},
)

GROUPS: Final = Subject(
    fields={
        "name": Field(Kind.PATTERN, lambda each, _: each.group.names),
        "queue": Field(Kind.PATTERN, lambda each, _: each.group.queues),
        "kind": Field(Kind.PATTERN, lambda each, _: each.group.kind),
        "fingerprint": Field(Kind.PATTERN, lambda each, _: each.group.fingerprint),
        "error": Field(Kind.PART, lambda each, _: f"{each.group.kind}: {each.group.message}"),
        "owner": Field(Kind.PATTERN, lambda each, _: None if each.triage is None else each.triage.owner),
        "count": Field(Kind.NUMBER, lambda each, _: each.group.count),
        "first": Field(Kind.TIME, lambda each, _: each.group.first_at),
        "last": Field(Kind.TIME, lambda each, _: each.group.last_at),
    },
    texts=lambda each: (*each.group.names, each.group.kind, each.group.message),
    aliases={"seen": "last", "ended": "last", "failed": "last"},
)

FAILURES: Final = Subject(
    fields={
        "name": Field(Kind.PATTERN, lambda letter, _: letter.lane.name),
        "queue": Field(Kind.PATTERN, lambda letter, _: letter.lane.queue),
        "kind": Field(Kind.PATTERN, lambda letter, _: letter.kind),
        "reason": Field(Kind.PATTERN, lambda letter, _: str(letter.reason)),
        "fingerprint": Field(Kind.PATTERN, lambda letter, _: letter.fingerprint),
        "error": Field(Kind.PART, lambda letter, _: f"{letter.kind}: {letter.message}"),
        "created": Field(Kind.TIME, lambda letter, _: made_at(letter.task)),
        "ended": Field(Kind.TIME, lambda letter, _: letter.at),
        "priority": Field(Kind.PRIORITY, lambda letter, _: letter.lane.priority),
        "attempts": Field(Kind.NUMBER, lambda letter, _: letter.attempts),
        "job": Field(Kind.JOB, lambda letter, _: letter.job),
        "id": Field(Kind.ID, lambda letter, _: letter.task),
    },
    texts=lambda letter: (letter.lane.name, letter.message, letter.task),
    aliases={"attempt": "attempts", "failed": "ended", "finished": "ended"},
)
