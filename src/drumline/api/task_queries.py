"""Questions about tasks: the filter that lists share, how many there are, and why one is not running."""

from collections.abc import Iterable
from typing import Annotated, Any

from msgspec import Struct

from drumline.api.operation import ApiCall, NoQuery, Operation, Reply, Tag
from drumline.api.reading import read_time
from drumline.api.shapes import moment
from drumline.core.access import Permission
from drumline.core.clock import Instant
from drumline.core.codec import encode
from drumline.core.field_schema import QUEUE, TIME, UUID, WORKER, about, line
from drumline.core.filter_syntax import LONGEST_FILTER
from drumline.core.ids import parse_job_id, parse_session_id, parse_task_id
from drumline.core.names import LONGEST_TAG, check_key, check_name, check_queue, check_text
from drumline.core.state import Status
from drumline.core.views import Moment, TaskIdText
from drumline.core.wait_reasons import Cause, WaitReason
from drumline.ports.store import TaskFilter


class TaskQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which tasks; what is absent does not narrow."""

    queue: Annotated[str | None, about(**QUEUE)] = None
    name: Annotated[str | None, line()] = None
    tag: Annotated[str | None, line(LONGEST_TAG)] = None
    idempotency_key: Annotated[str | None, line()] = None
    worker: Annotated[str | None, about(**WORKER)] = None
    job: Annotated[str | None, about("Only the tasks of this job.", **UUID)] = None
    finished_since: Annotated[
        str | None, about("Only tasks that ended at this time or later, and were not run again.", **TIME)
    ] = None
    since: Annotated[str | None, about("Only tasks that were submitted at this time or later.", **TIME)] = None
    until: Annotated[str | None, about("Only tasks that were submitted before this time.", **TIME)] = None
    filter: Annotated[
        str | None,
        line(
            LONGEST_FILTER,
            "Terms that all have to hold: `status:failed name:charge* -queue:bulk payload.order_id=17 duration>5s`.",
        ),
    ] = None


def filter_of(call: ApiCall[Any, Any], query: TaskQuery, statuses: frozenset[Status] = frozenset()) -> TaskFilter:
    """Return which tasks a query means, or raise `Invalid` naming the field at fault."""
    which = TaskFilter(
        tenant=call.tenant,
        statuses=statuses,
        queue=None if query.queue is None else check_queue(query.queue),
        name=None if query.name is None else check_name(query.name),
        tag=None if query.tag is None else check_text(query.tag, field="tag", longest=LONGEST_TAG),
        idempotency_key=None if query.idempotency_key is None else check_key(query.idempotency_key),
        worker=None if query.worker is None else parse_session_id(query.worker, field="worker"),
        job=None if query.job is None else parse_job_id(query.job, field="job"),
        finished_since=_time(query.finished_since, "finished_since"),
        since=_time(query.since, "since"),
        until=_time(query.until, "until"),
    )
    return which if query.filter is None else call.engine.filters.narrowed(which, query.filter)


def _time(text: str | None, field: str) -> Instant | None:
    return None if text is None else read_time(text, field=field)


class ReasonBody(Struct, frozen=True, kw_only=True):
    """One reason. `cause` is stable; `until` is when it will be over by itself, where that is known."""

    cause: Cause
    text: str
    until: Moment | None
    count: int | None
    names: tuple[str, ...]


class WhyBody(Struct, frozen=True):
    """Why a task is not running, the weightiest reason first."""

    id: TaskIdText
    reasons: tuple[ReasonBody, ...]


async def why(call: ApiCall[None, NoQuery]) -> Reply:
    """Return why a task is not running: due later, dependency, paused queue, limit, no worker, its turn."""
    task = parse_task_id(call.params["id"], field="id")
    reasons = await call.engine.wait_reasons.why(task, tenant=call.tenant)
    return Reply(encode(WhyBody(task, reason_bodies(reasons))))


def reason_bodies(reasons: Iterable[WaitReason]) -> tuple[ReasonBody, ...]:
    """Return reasons as JSON shows them."""
    return tuple(
        ReasonBody(
            cause=reason.cause, text=reason.text, until=moment(reason.until), count=reason.count, names=reason.names
        )
        for reason in reasons
    )


class CountBody(Struct, frozen=True, kw_only=True):
    """How many tasks have a status; at least so many where `is_more`."""

    status: Status
    count: int
    is_more: bool


class CountList(Struct, frozen=True):
    """The counts of all statuses."""

    items: tuple[CountBody, ...]


async def count_tasks(call: ApiCall[None, TaskQuery]) -> Reply:
    """Return how many tasks have each status; a count that would take long says how many there are at least."""
    counts = await call.engine.counts.count(filter_of(call, call.query))
    bodies = tuple(
        CountBody(status=status, count=counts[status].count, is_more=counts[status].is_more) for status in Status
    )
    return Reply(encode(CountList(bodies)))


OPERATIONS = (
    Operation(
        method="GET", path="/api/v1/tasks/{id}/why", handler=why, merges=True, tag=Tag.TASKS,
        summary="Tell why a task is not running", answer=WhyBody, permission=Permission.TASKS_READ,
    ),
    Operation(
        method="GET", path="/api/v1/tasks/counts", handler=count_tasks, merges=True, tag=Tag.TASKS,
        summary="Count tasks by status", query=TaskQuery, answer=CountList, permission=Permission.TASKS_READ,
    ),
)  # fmt: skip
