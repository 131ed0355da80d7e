"""Events: changes of tasks, jobs, workers and so on, published as CloudEvents 1.0 in JSON.

A *fact* is a change of anything but a task (a job, a schedule, a worker, a queue, a key …): its store writes it into
the outbox in the transaction that changes it, with all that is worth telling. Changes of tasks are kept as acts.
Readers of the outbox get both as an `Event`, in one order for all readers.
"""

import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

from msgspec import UNSET, Struct, UnsetType

from drumline.core.clock import Instant, moment_of
from drumline.core.codec import decode
from drumline.core.errors import Invalid
from drumline.core.ids import SessionId, TaskId, session_text
from drumline.core.outcome import ErrorInfo
from drumline.core.session import SessionSpec
from drumline.core.state import Act, State, Status
from drumline.core.task import NotifyTarget

SPEC_VERSION: Final = "1.0"
"""The version of CloudEvents."""
SCHEMA: Final = "https://drumline.readthedocs.io/schemas/event-1.json"
"""Names the version of our data. Fields may be added; a change that breaks readers gets another number."""
CONTENT_TYPE: Final = "application/json"
DEFAULT_SOURCE: Final = "/drumline"

TASK_SUBMITTED: Final = "drumline.task.submitted"
TASK_CLAIMED: Final = "drumline.task.claimed"
TASK_COMPLETED: Final = "drumline.task.completed"
TASK_FAILED: Final = "drumline.task.failed"
TASK_CANCELLED: Final = "drumline.task.cancelled"
TASK_CANCEL_REQUESTED: Final = "drumline.task.cancel_requested"

_TYPE_OF: Final = {
    Act.UNBLOCK: "drumline.task.unblocked",
    Act.SKIP: "drumline.task.skipped",
    Act.CLAIM: TASK_CLAIMED,
    Act.COMPLETE: TASK_COMPLETED,
    Act.BACK_OFF: "drumline.task.retried",
    Act.FAIL: TASK_FAILED,
    Act.SNOOZE: "drumline.task.snoozed",
    Act.PARK: "drumline.task.parked",
    Act.RESTART: "drumline.task.restarted",
    Act.WAKE: "drumline.task.woken",
    Act.RELEASE: "drumline.task.released",
    Act.REAP: "drumline.task.reaped",
    Act.STOP: TASK_CANCELLED,
    Act.CANCEL: TASK_CANCELLED,
    Act.FORCE_CANCEL: TASK_CANCELLED,
    Act.RESCHEDULE: "drumline.task.rescheduled",
    Act.RETRY: "drumline.task.requeued",
    Act.RESUME: "drumline.task.resumed",
}
END: Final = 999_999_999
"""Behind every event of a row: an id with it names no event, but the position of a reader."""

_ID: Final = re.compile(r"([0-9a-f]{8})-(\d{1,18})-(\d{1,9})", re.ASCII)


class Fact(Struct, frozen=True, array_like=True):
    """Something other than a task has changed."""

    type: str
    """What happened, in the past tense: `drumline.<noun>.<past participle>`, such as `drumline.job.completed`."""
    subject: str
    """The id of what changed. Facts about one subject reach every reader in their order."""
    tenant: str
    """Its tenant; empty for what belongs to none, such as a worker that serves all."""
    data: dict[str, Any] = {}
    """What is worth telling of it, ready for JSON: times by `core.clock.moment_of`, never a secret."""


class TaskChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The data of an event about a task. Times are UTC, durations seconds."""

    id: TaskId
    """The task."""
    status: Status
    """Where it stood right after the change: `PENDING`, `QUEUED`, `PROCESSING` or how it ended. A task that is due
    later becomes `QUEUED` by time alone: nothing is written then, so there is no event."""
    name: str = ""
    """What kind of task it is. Left out, like all that follows, if the task was pruned before its event was read."""
    queue: str = ""
    """The queue it is in."""
    job: str | None = None
    """The job it belongs to."""
    tags: tuple[str, ...] = ()
    """Its tags."""
    attempt: int = 0
    """The number of the execution that this is about; 0 before the first."""
    worker: str | None = None
    """Who runs or ran that execution."""
    created_at: str | None = None
    """When it was submitted."""
    due_at: str | None = None
    """When it is to run, for a task that waits; left out if it has moved on before the event was read."""
    started_at: str | None = None
    """When the execution began."""
    finished_at: str | None = None
    """When the execution ended, or the task without one."""
    duration: float | None = None
    """Seconds that the execution took."""
    error: ErrorInfo | None = None
    """Why the execution failed: kind, message and the end of the traceback."""
    log: str | None = None
    """The last lines that a failed execution logged; in notifications those of every execution that ended."""


class EventPosition(NamedTuple):
    """The position of an event in the log: the position of its row, and its index within the row."""

    position: int
    offset: int


class Event(Struct, frozen=True, kw_only=True):
    """Something that happened, as a reader of the log gets it."""

    log: str
    """The name of the log that it stands in: another database has another one."""
    place: EventPosition
    type: str
    at: Instant
    subject: str
    tenant: str
    """The tenant; empty for what belongs to no tenant."""
    data: TaskChange | dict[str, Any]
    """Of a task a `TaskChange`; else what the fact says."""
    notify: tuple[NotifyTarget, ...] = ()
    """The targets that the task itself names; for the notifier, not published."""
    trace: str | None = None
    """The trace that the task belongs to."""

    @property
    def id(self) -> str:
        """The same however often the event is delivered; no two events share one."""
        return f"{self.log}-{self.place.position}-{self.place.offset}"


class CloudEvent(Struct, frozen=True, kw_only=True):
    """An event as it is published."""

    specversion: str = SPEC_VERSION
    """The version of CloudEvents."""
    id: str
    """The same however often an event is delivered; no two events share one."""
    source: str
    """Which Drumline; the setting `events.source`."""
    type: str
    """What happened."""
    time: str
    """When it happened: ISO 8601, UTC."""
    subject: str
    """The id of the task, job, schedule … that changed."""
    tenant: str
    """The tenant; empty for what belongs to no tenant."""
    sequence: str
    """Rises with every event, hence for each subject; compares as text."""
    datacontenttype: str = CONTENT_TYPE
    """What the data is written in."""
    dataschema: str = SCHEMA
    """The version of the data."""
    data: Any
    """Of a task a `TaskChange`; else an object with what is worth telling."""
    traceparent: str | UnsetType = UNSET
    """The trace that the task belongs to, if it was submitted in one: CloudEvents' extension for W3C traces."""
    link: str | UnsetType = UNSET
    """The page of the web interface that shows the subject: only in notifications, where `public_url` is set."""


def type_of(act: Act | None, state: State) -> str:
    """Return the type of the event that an act on a task makes; no act is its submission."""
    if act is None:
        return TASK_SUBMITTED
    if act is Act.CANCEL and state is State.RUNNING:
        return TASK_CANCEL_REQUESTED  # its worker learns it by a signal or its next heartbeat
    return _TYPE_OF[act]


def cloud_event(event: Event, *, source: str = DEFAULT_SOURCE, link: str | None = None) -> CloudEvent:
    """Return an event as it is published."""
    position, offset = event.place
    return CloudEvent(
        id=event.id,
        source=source,
        type=event.type,
        time=moment_of(event.at),
        subject=event.subject,
        tenant=event.tenant,
        sequence=f"{position:018d}-{offset:06d}",
        data=event.data,
        traceparent=event.trace or UNSET,
        link=link or UNSET,
    )


class _Traced(Struct, frozen=True):
    traceparent: str | None = None


MOST_LOGS: Final = 256
"""Logs, one for each shard, in which the id of a message names a place."""


def trace_of(event: bytes) -> str | None:
    """Return the trace that a written event belongs to, if it belongs to one."""
    return decode(event, _Traced).traceparent


def parse_event_id(text: str, *, field: str) -> tuple[str, EventPosition]:
    """Return the log and the place that an event's id names, or raise `Invalid`."""
    match = _ID.fullmatch(text)
    if match is None:
        raise Invalid("must be the id of an event, such as 5f0c9a1e-1042-0", field=field)
    return match[1], EventPosition(int(match[2]), int(match[3]))


def parse_event_ids(text: str, *, field: str) -> dict[str, EventPosition]:
    """Return the place in each log that the id of a message names: one for each shard; or raise `Invalid`."""
    parts = text.split(".", MOST_LOGS)
    if len(parts) > MOST_LOGS:
        raise Invalid(f"must name at most {MOST_LOGS} logs", field=field)
    return dict(parse_event_id(part, field=field) for part in parts)


@lru_cache(maxsize=1024)
def worker_text(session: int | None) -> str | None:
    """Return the public id of the worker of an execution; stores keep 0 or nothing where there was none."""
    return session_text(SessionId(session)) if session else None


def worker_opened(session: SessionId, spec: SessionSpec) -> Fact:
    """A worker has come."""
    details = {
        "queues": spec.queues,
        "tasks": spec.names,
        "capacity": spec.capacity,
        "version": spec.version,
        "app_version": spec.app_version,
    }
    return _worker("opened", session, spec, details)


def worker_draining(session: SessionId, spec: SessionSpec) -> Fact:
    """A worker was asked to finish what it holds and leave."""
    return _worker("draining", session, spec, {})


def worker_undrained(session: SessionId, spec: SessionSpec) -> Fact:
    """The draining of a worker was undone: it takes tasks again."""
    return _worker("undrained", session, spec, {})


def worker_closed(session: SessionId, spec: SessionSpec) -> Fact:
    """A worker has left in order."""
    return _worker("closed", session, spec, {})


def worker_reaped(session: SessionId, spec: SessionSpec) -> Fact:
    """A worker's session has expired, and its tasks were given to others."""
    return _worker("reaped", session, spec, {})


def queue_paused(queue: str, *, tenant: str, reason: str | None) -> Fact:
    """A queue's tasks are not handed out any more."""
    return Fact("drumline.queue.paused", queue, tenant, {"reason": reason})


def queue_resumed(queue: str, *, tenant: str) -> Fact:
    """A queue's tasks are handed out again."""
    return Fact("drumline.queue.resumed", queue, tenant)


def _worker(word: str, session: SessionId, spec: SessionSpec, details: dict[str, Any]) -> Fact:
    who = {"host": spec.host, "pid": spec.pid, "label": spec.label}
    return Fact(f"drumline.worker.{word}", session_text(session), spec.tenant or "", who | details)
