"""Adds to events about ended jobs which tasks failed, and the last lines of their logs."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

import structlog
from msgspec import structs

from drumline.core.event import Event
from drumline.core.ids import JobId
from drumline.core.state import State
from drumline.ports.notifications import EndedTask
from drumline.ports.outbox import EventLog

MOST_FAILED: Final = 10
"""Failed tasks that are named; how many there are in all is in `tasks.failed`."""
MOST_LOGS: Final = 3
"""Failed tasks whose log is quoted."""
LONGEST_MESSAGE: Final = 1000
JOBS_AT_ONCE: Final = 50
SECONDS: Final = 8.0
"""Time limit for all jobs of a page; the others are sent without their tasks."""
STATE_OF: Final = {"drumline.job.failed": State.FAILED, "drumline.job.completed": State.COMPLETED}

log: structlog.stdlib.BoundLogger = structlog.get_logger()


async def describe_job_ends(event_log: EventLog, events: Iterable[Event]) -> dict[str, Event]:
    """Return the ends of jobs among the events, by event id, with the tasks that explain them."""
    found: dict[str, Event] = {}
    ends = [event for event in events if event.type in STATE_OF]
    try:
        async with asyncio.timeout(SECONDS):
            for type_, state in STATE_OF.items():
                of_type = [event for event in ends if event.type == type_]
                for start in range(0, len(of_type), JOBS_AT_ONCE):
                    found |= await _described(event_log, of_type[start : start + JOBS_AT_ONCE], state)
    except TimeoutError:
        # Rather a message without them than a notifier that reads the same page for ever.
        log.warning("jobs.not_described", jobs=len(ends) - len(found))
    return found


async def _described(event_log: EventLog, events: Sequence[Event], state: State) -> dict[str, Event]:
    limit = MOST_FAILED if state is State.FAILED else 1
    tasks = await event_log.ends_in_jobs([JobId(event.subject) for event in events], state, limit=limit)
    return {event.id: _with(event, found, state) for event, found in zip(events, tasks, strict=True)}


def _with(event: Event, tasks: Sequence[EndedTask], state: State) -> Event:
    data: dict[str, Any] = dict(event.data) if isinstance(event.data, dict) else {}
    if state is State.FAILED:
        data["failed_tasks"] = [_failed(task, with_log=number < MOST_LOGS) for number, task in enumerate(tasks)]
    elif tasks and tasks[0].log is not None:
        data |= {"log": tasks[0].log, "log_of": tasks[0].key}
    return structs.replace(event, data=data)


def _failed(task: EndedTask, *, with_log: bool) -> dict[str, Any]:
    told: dict[str, Any] = {"id": task.id, "key": task.key, "name": task.name}
    if task.error is not None:
        told["error"] = {"kind": task.error.kind, "message": task.error.message[:LONGEST_MESSAGE]}
    if with_log and task.log is not None:
        told["log"] = task.log
    return told
