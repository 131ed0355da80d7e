"""Values that a shell completes flags and arguments to: statuses, and names and ids that the server knows.

A server that does not answer within a second completes nothing: a shell that waits would be worse.
"""

from typing import Any, Final

import click

from drumline.cli.terminal import STATUSES
from drumline.core.errors import DrumlineError

ANSWER_SECONDS: Final = 1.0
MOST: Final = 50


def statuses(_context: click.Context, text: str) -> list[str]:
    """Return the statuses of tasks, in the case that the person has begun with."""
    return [status.lower() for status in STATUSES] if text.islower() else list(STATUSES)


def queues(context: click.Context, _text: str) -> list[str]:
    """Return the names of queues."""
    return [queue["name"] for queue in _items(context, "/queues")]


def task_names(context: click.Context, _text: str) -> list[str]:
    """Return the names of tasks that live workers can run."""
    return [kind["name"] for kind in _items(context, "/types")]


def tasks(context: click.Context, _text: str) -> list[str]:
    """Return the ids of the newest tasks."""
    return [task["id"] for task in _items(context, "/tasks", limit=MOST)]


def jobs(context: click.Context, _text: str) -> list[str]:
    """Return the ids of the newest jobs."""
    return [job["id"] for job in _items(context, "/jobs", limit=MOST)]


def schedules(context: click.Context, _text: str) -> list[str]:
    """Return the names of schedules."""
    return [schedule["name"] for schedule in _items(context, "/schedules", limit=MOST)]


def workers(context: click.Context, _text: str) -> list[str]:
    """Return the ids of live workers."""
    return [worker["id"] for worker in _items(context, "/workers")]


def _items(context: click.Context, path: str, **query: object) -> list[Any]:
    from drumline.cli.client import connect

    given = context.params
    try:
        client = connect(given.get("url"), given.get("api_key"), timeout=ANSWER_SECONDS)
        items: list[Any] = client.get(path, **query)["items"]
    except DrumlineError:
        return []  # there is nobody to tell: the person is typing
    return items
