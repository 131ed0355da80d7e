"""Which tasks a request means."""

from typing import Annotated, Any

from msgspec import Struct

from drumline.api.operation import ApiCall
from drumline.api.reading import read_time
from drumline.core.field_schema import QUEUE, TIME, UUID, WORKER, about, line
from drumline.core.ids import parse_job_id, parse_session_id
from drumline.core.names import LONGEST_TAG, check_key, check_name, check_queue, check_text
from drumline.core.state import Status
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


def filter_of(call: ApiCall[Any, Any], query: TaskQuery, statuses: frozenset[Status] = frozenset()) -> TaskFilter:
    """Return which tasks a query means, or raise `Invalid` naming the field at fault."""
    return TaskFilter(
        tenant=call.tenant,
        statuses=statuses,
        queue=None if query.queue is None else check_queue(query.queue),
        name=None if query.name is None else check_name(query.name),
        tag=None if query.tag is None else check_text(query.tag, field="tag", longest=LONGEST_TAG),
        idempotency_key=None if query.idempotency_key is None else check_key(query.idempotency_key),
        worker=None if query.worker is None else parse_session_id(query.worker, field="worker"),
        job=None if query.job is None else parse_job_id(query.job, field="job"),
        finished_since=(
            None if query.finished_since is None else read_time(query.finished_since, field="finished_since")
        ),
    )
