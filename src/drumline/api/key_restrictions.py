"""Checks for keys that are restricted to some task names or queues: whether they may change something that exists.

Submissions are checked in the engine, where the queue is known.
"""

from typing import Any

from drumline.api.operation import ApiCall
from drumline.core.access import are_within
from drumline.core.delivery import Delivery
from drumline.core.errors import Forbidden, Invalid, NotFound
from drumline.core.ids import JobId, SessionId, TaskId, parse_task_id
from drumline.core.mapping import MAP
from drumline.core.task import TaskView

SLICE = 1000
"""Tasks of a job looked up in one go."""


def check_task(call: ApiCall[Any, Any], view: TaskView) -> None:
    """Raise `Forbidden` if the caller is not meant for a task."""
    call.by.check_reach(view.lane.name, view.lane.queue)


async def check_new_payload(call: ApiCall[Any, Any], task: TaskId) -> None:
    """Raise `Forbidden` if the caller may not give a task another payload: it says which tasks a map starts."""
    if not call.by.is_narrowed:
        return
    view = await call.engine.queries.get(task, tenant=call.tenant)
    if view.lane.name == MAP:
        raise Forbidden("this key is for some tasks only, and the payload of a map names others", field="payload")


async def check_job_tasks(call: ApiCall[Any, Any], job: JobId) -> None:
    """Raise `Forbidden` unless the caller is meant for every task of a job; what is done to one reaches the others."""
    if not call.by.is_narrowed:
        return
    tasks = [node.task for node in await call.engine.jobs.nodes(job, tenant=call.tenant)]
    for start in range(0, len(tasks), SLICE):
        for view in await call.engine.store.queries.get(
            tasks[start : start + SLICE], tenant=call.tenant, payload=False
        ):
            if view is not None:
                check_task(call, view)


def check_filter(call: ApiCall[Any, Any], task: str | None, queue: str | None) -> None:
    """Raise `Forbidden` unless the caller is meant for all tasks of a name in a queue, where None is any."""
    by = call.by
    if by.names and (task is None or not by.may_run(task)):
        raise Forbidden(f"this key is for some tasks only: name one that fits {' or '.join(by.names)}", field="task")
    if by.queues and (queue is None or not are_within((queue,), by.queues)):
        raise Forbidden(f"this key is for some queues only: name one that fits {' or '.join(by.queues)}", field="queue")


def check_queue_reach(call: ApiCall[Any, Any], queue: str) -> None:
    """Raise `Forbidden` unless the caller is meant for every task of a queue, whatever its name."""
    if call.by.names:
        raise Forbidden("this key is for some task names only, and a queue has tasks of others too", field="name")
    check_filter(call, None, queue)


async def check_worker(call: ApiCall[Any, Any], session: SessionId) -> None:
    """Raise `Forbidden` unless a worker runs only what the caller is meant for."""
    by = call.by
    if not by.is_narrowed:
        return
    spec = await call.engine.sessions.spec(session)
    if not (are_within(spec.queues, by.queues) and all(map(by.may_run, spec.names))):
        raise Forbidden("this key is for some tasks only, and the worker runs others too", field="id")


async def check_delivery(call: ApiCall[Any, Any], delivery: Delivery) -> None:
    """Raise `Forbidden` unless a delivery tells of what the caller is meant for."""
    if not call.by.is_narrowed:
        return
    if delivery.subscription is not None:
        found = await call.engine.subscriptions.get(delivery.subscription, tenant=call.tenant)
        check_filter(call, found.filter.task, found.filter.queue)
        return
    try:
        view = await call.engine.queries.get(parse_task_id(delivery.subject or ""), tenant=call.tenant)
    except (Invalid, NotFound) as error:
        raise Forbidden("this key is for some tasks only, and the delivery is about something else") from error
    check_task(call, view)
