"""From a task as the engine sees it to a task as clients see it."""

from typing import Any

from drumline.core.clock import Instant, to_datetime
from drumline.core.ids import session_text
from drumline.core.task import TaskView
from drumline.sdk.transport import NULL, TaskInfo


def info_of(view: TaskView, now: Instant) -> TaskInfo:
    """Return a task as clients see it."""

    def moment(instant: Instant | None) -> Any:
        return None if instant is None else to_datetime(instant)

    return TaskInfo(
        id=view.id,
        name=view.lane.name,
        queue=view.lane.queue,
        status=view.status(now),
        priority=view.lane.priority,
        created_at=to_datetime(view.created_at),
        due_at=moment(view.due_at),
        started_at=moment(view.started_at),
        finished_at=moment(view.finished_at),
        attempt=view.attempt,
        retries=view.options.retries,
        timeout=None if view.options.timeout_ms is None else view.options.timeout_ms / 1000,
        backoff=view.options.backoff,
        tags=view.options.tags,
        notify=view.options.notify,
        limit_key=view.options.limit_key,
        idempotency_key=view.idempotency_key,
        worker=None if view.worker is None else session_text(view.worker),
        cancel_requested=view.cancel_requested,
        job_id=view.options.job,
        key=view.options.key,
        schedule_id=view.options.schedule,
        fire_time=moment(view.options.fire_time),
        payload=view.payload or NULL,
        result=view.result or NULL,
        error=view.error,
    )
