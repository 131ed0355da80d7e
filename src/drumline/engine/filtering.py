"""Filters of callers: read with the rules of redaction, and turned into what the store looks for."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from drumline.core.clock import Clock, Instant
from drumline.core.filter_subjects import TASKS
from drumline.core.filters import Filter, read_filter
from drumline.core.ids import SessionId, parse_job_id, parse_session_id
from drumline.core.job import JobStatus
from drumline.core.redaction import Redaction
from drumline.core.state import Status
from drumline.ports.dead_letters import DeadLetterFilter
from drumline.ports.jobs import JobFilter
from drumline.ports.query import TaskFilter

NOTHING: Final = Instant(0)
"""A time before which nothing was submitted."""


class TaskFilters:
    """Reads filters of tasks."""

    def __init__(self, redaction: Redaction, clock: Clock) -> None:
        self._redaction = redaction
        self._clock = clock

    def read(self, text: str) -> Filter:
        """Return what a text means now, or raise `Invalid`."""
        return read_filter(text, TASKS, now=self._clock.now(), hides=self._redaction.hides)

    def narrowed(self, which: TaskFilter, text: str | None) -> TaskFilter:
        """Return a filter with the conditions of a text, so narrow that an index finds little besides."""
        return which if text is None else narrowed_by(which, self.read(text))


def narrowed_by(which: TaskFilter, also: Filter, *, among: Sequence[Status] = tuple(Status)) -> TaskFilter:
    """Return a filter that means what is meant by both; of tasks with these statuses."""
    narrowing = also.narrowing(tuple(among))
    exact = narrowing.exact
    statuses = which.statuses
    if narrowing.statuses is not None:
        meant = frozenset(Status(status) for status in narrowing.statuses)
        statuses = statuses & meant if statuses else meant
        if not statuses:
            return replace(which, until=NOTHING, also=also)
        if len(statuses) == len(Status):
            statuses = frozenset()
    worker, job = exact.get("worker"), exact.get("job")
    since, until = narrowing.created
    return replace(
        which,
        also=also,
        statuses=statuses,
        name=which.name or exact.get("name"),
        queue=which.queue or exact.get("queue"),
        tag=which.tag or exact.get("tag"),
        idempotency_key=which.idempotency_key or exact.get("key"),
        worker=which.worker if worker is None else which.worker or SessionId(parse_session_id(worker)),
        job=which.job if job is None else which.job or parse_job_id(job),
        since=_later(which.since, since),
        until=_earlier(which.until, until),
    )


def jobs_narrowed_by(which: JobFilter, also: Filter) -> JobFilter:
    """Return a filter of jobs that an index answers, and that leaves out nothing which is meant."""
    narrowing = also.narrowing(tuple(JobStatus))
    exact, (since, until) = narrowing.exact, narrowing.created
    statuses = which.statuses
    if narrowing.statuses is not None:
        meant = frozenset(JobStatus(status) for status in narrowing.statuses)
        statuses = statuses & meant if statuses else meant
        if not statuses:
            return replace(which, until=NOTHING)
    return replace(
        which,
        statuses=statuses,
        name=which.name or exact.get("name"),
        owner=which.owner or exact.get("owner"),
        tag=which.tag or exact.get("tag"),
        idempotency_key=which.idempotency_key or exact.get("key"),
        since=_later(which.since, since),
        until=_earlier(which.until, until),
    )


def letters_narrowed_by(which: DeadLetterFilter, also: Filter) -> DeadLetterFilter:
    """Return a filter of dead letters that an index answers, and that leaves out nothing which is meant."""
    narrowing = also.narrowing(())
    exact = narrowing.exact
    return replace(
        which,
        name=which.name or exact.get("name"),
        queue=which.queue or exact.get("queue"),
        kind=which.kind or exact.get("kind"),
        fingerprint=which.fingerprint or exact.get("fingerprint"),
        since=_later(which.since, narrowing.ended_since),
    )


def _later(one: Instant | None, other: int | None) -> Instant | None:
    return one if other is None else Instant(max(one or 0, other))


def _earlier(one: Instant | None, other: int | None) -> Instant | None:
    return one if other is None else Instant(other if one is None else min(one, other))
