"""Values that a shell completes flags and arguments to: statuses, and names and ids that the server knows.

A server that does not answer within a second completes nothing: a shell that waits would be worse.
"""

from typing import TYPE_CHECKING, Any, Final

import click

from drumline.cli.terminal import STATUSES
from drumline.core.errors import DrumlineError

if TYPE_CHECKING:
    from drumline.cli.parameters import Complete

Value = str | tuple[str, str]
"""A value, and what it is: zsh and fish show that beside it."""

ANSWER_SECONDS: Final = 1.0
MOST: Final = 50


def statuses(_context: click.Context, text: str) -> list[Value]:
    """Return the statuses of tasks, in the case that the person has begun with."""
    return [status.lower() for status in STATUSES] if text.islower() else list(STATUSES)


def of(*words: str) -> "Complete":
    """Return what completes to one of some words."""
    return lambda _context, _text: list(words)


PRIORITIES: Final = of("critical", "high", "normal", "low")


def queues(context: click.Context, _text: str) -> list[Value]:
    """Return the names of queues."""
    return [queue["name"] for queue in _items(context, "/queues")]


def task_names(context: click.Context, _text: str) -> list[Value]:
    """Return the names of tasks that live workers can run."""
    return [(kind["name"], kind["doc"].partition("\n")[0]) for kind in _items(context, "/types")]


def tasks(context: click.Context, _text: str) -> list[Value]:
    """Return the ids of the newest tasks."""
    return [_described(task) for task in _items(context, "/tasks", limit=MOST)]


def jobs(context: click.Context, _text: str) -> list[Value]:
    """Return the ids of the newest jobs."""
    return [_described(job) for job in _items(context, "/jobs", limit=MOST)]


def tasks_and_jobs(context: click.Context, text: str) -> list[Value]:
    """Return the ids of the newest tasks and jobs."""
    return tasks(context, text) + jobs(context, text)


def failures(context: click.Context, _text: str) -> list[Value]:
    """Return the ids of the tasks that failed last."""
    return [(failure["id"], failure["name"]) for failure in _items(context, "/failures", limit=MOST)]


def groups(context: click.Context, _text: str) -> list[Value]:
    """Return the fingerprints of groups of failures."""
    found = _items(context, "/failures/groups", limit=MOST)
    return [(group["fingerprint"], f"{group['count']:,} of {group['kind']}: {group['message']}") for group in found]


def failures_and_groups(context: click.Context, text: str) -> list[Value]:
    """Return fingerprints of groups of failures, and ids of failed tasks."""
    return groups(context, text) + failures(context, text)


def bulks(context: click.Context, _text: str) -> list[Value]:
    """Return the ids of the newest bulk operations."""
    return [(bulk["id"], f"{bulk['act']} {bulk['state']}") for bulk in _items(context, "/bulk", limit=MOST)]


def keys(context: click.Context, _text: str) -> list[Value]:
    """Return the ids of API keys."""
    return [(key["id"], key["name"]) for key in _items(context, "/keys", limit=MOST)]


def subscriptions(context: click.Context, _text: str) -> list[Value]:
    """Return the names of subscriptions."""
    return _names(context, "/subscriptions")


def workers(context: click.Context, _text: str) -> list[Value]:
    """Return the ids of live workers."""
    return [(worker["id"], worker["label"] or worker["host"]) for worker in _items(context, "/workers")]


def schedules(context: click.Context, _text: str) -> list[Value]:
    """Return the names of schedules."""
    return _names(context, "/schedules", limit=MOST)


def alerts(context: click.Context, _text: str) -> list[Value]:
    """Return the names of alerts."""
    return _names(context, "/alerts", limit=MOST)


def slos(context: click.Context, _text: str) -> list[Value]:
    """Return the names of objectives."""
    return _names(context, "/slos", limit=MOST)


def limits(context: click.Context, _text: str) -> list[Value]:
    """Return the names of limits."""
    return _names(context, "/limits")


def secrets(context: click.Context, _text: str) -> list[Value]:
    """Return the names of secrets."""
    return _names(context, "/secrets", limit=MOST)


def tenants(context: click.Context, _text: str) -> list[Value]:
    """Return the names of tenants."""
    return _names(context, "/tenants", limit=MOST)


def shards(context: click.Context, _text: str) -> list[Value]:
    """Return the names of shards."""
    return _names(context, "/shards")


def views(context: click.Context, _text: str) -> list[Value]:
    """Return the names of the views of the chosen list."""
    page = context.params.get("page")
    return [(view["name"], view["filter"]) for view in _items(context, "/views", page=page)]


def deliveries(context: click.Context, _text: str) -> list[Value]:
    """Return the ids of the newest deliveries."""
    found = _items(context, "/deliveries", limit=MOST)
    return [(delivery["id"], f"{delivery['state']} {delivery['event_type']}") for delivery in found]


def sort_fields(context: click.Context, _text: str) -> list[Value]:
    """Return the fields that a list can be sorted by: those of its newest item that have one value."""
    noun = "" if context.parent is None else context.parent.info_name
    found = _items(context, f"/{noun}", limit=1)
    return [name for item in found for name, value in item.items() if not isinstance(value, dict | list)]


def settings(_context: click.Context, _text: str) -> list[Value]:
    """Return the names of settings."""
    from drumline.settings.leaves import LEAVES

    return [leaf.path for leaf in LEAVES.values()]


def live_settings(_context: click.Context, _text: str) -> list[Value]:
    """Return the settings that can be changed while the fleet runs, ready for a value."""
    from drumline.settings.leaves import LEAVES

    return [f"{leaf.path}=" for leaf in LEAVES.values() if leaf.is_live]


def fleet_settings(context: click.Context, _text: str) -> list[Value]:
    """Return the settings that are set for the whole fleet."""
    answer = _answer(context, "/config") or {}
    return [(key, str(value)) for key, value in answer.get("settings", {}).items()]


def time_zones(_context: click.Context, _text: str) -> list[Value]:
    """Return the names of time zones."""
    from zoneinfo import available_timezones

    return list[Value](sorted(available_timezones()))


def contexts(_context: click.Context, _text: str) -> list[str]:
    """Return the names of the contexts that `drumline login` made."""
    from drumline.cli.context_store import ContextStore

    return ContextStore.of_user().names


def event_types(_context: click.Context, _text: str) -> list[Value]:
    """Return the types of events, without what all begin with."""
    from drumline.core.event_types import DEAD_LETTERS, FACTS, TASK_CHANGES

    types = {**TASK_CHANGES, **FACTS, **DEAD_LETTERS}
    return [(name.removeprefix("drumline."), meaning) for name, meaning in types.items()]


def commands(context: click.Context, _text: str) -> list[Value]:
    """Return the commands that `drumline help` may go on with."""
    one = context.find_root().command
    for name in context.params.get("command") or ():
        found = one.get_command(context, name) if isinstance(one, click.Group) else None
        if found is None:
            return []
        one = found
    return list(one.list_commands(context)) if isinstance(one, click.Group) else []


def _names(context: click.Context, path: str, **query: object) -> list[Value]:
    return [item["name"] for item in _items(context, path, **query)]


def _described(item: dict[str, Any]) -> Value:
    return item["id"], f"{item['status']} {item['name']}"


def _items(context: click.Context, path: str, **query: object) -> list[Any]:
    answer = _answer(context, path, **query)
    return [] if answer is None else list(answer["items"])


def _answer(context: click.Context, path: str, **query: object) -> dict[str, Any] | None:
    from drumline.cli.client import connect

    given = context.params
    try:
        with context.scope(cleanup=False):  # where --context was noted
            client = connect(given.get("url"), given.get("api_key"), timeout=ANSWER_SECONDS)
        answer: dict[str, Any] = client.get(path, **query)
    except DrumlineError:
        return None  # there is nobody to tell: the person is typing
    return answer
