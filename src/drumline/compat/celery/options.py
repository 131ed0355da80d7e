"""What Celery's options of a submission are as Drumline's."""

from collections.abc import Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from drumline.core.retry import MOST_RETRIES
from drumline.sdk.options import local_time

if TYPE_CHECKING:
    from drumline.compat.celery.app import Celery

LEAST_RETRIES: Final = 3
"""So often a task runs again whose worker died, even if it says max_retries=0."""
_SHORTEST: Final = 0.001
_OF_TASK: Final = ("queue", "priority", "expires", "time_limit", "soft_time_limit", "ignore_result")


def merged_options(app: "Celery", name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of one submission over those of the task and the configuration."""
    task = app.tasks.get(name)
    merged: dict[str, Any] = dict(route_of(app, name))
    for field in _OF_TASK:
        value = getattr(task, field, None)
        if value is not None:
            merged.setdefault(field, value)
    merged.update({field: value for field, value in options.items() if value is not None})
    merged.setdefault("time_limit", app.conf.task_time_limit)
    merged.setdefault("soft_time_limit", app.conf.task_soft_time_limit)
    merged.setdefault("ignore_result", app.conf.task_ignore_result)
    merged["retries_allowed"] = allowed_retries(task)
    check_time_limits(merged)
    return merged


def check_time_limits(options: Mapping[str, Any]) -> None:
    """Raise `ValueError` for a soft limit beyond the hard one, as Celery does."""
    soft, hard = options.get("soft_time_limit"), options.get("time_limit")
    if soft and hard and soft > hard:
        raise ValueError("soft_time_limit must be less than or equal to time_limit")


def allowed_retries(task: Any) -> int:
    """Return how often Drumline may run the task again; the task itself decides within this."""
    most = getattr(task, "max_retries", LEAST_RETRIES)
    return MOST_RETRIES if most is None else min(max(int(most), LEAST_RETRIES), MOST_RETRIES)


def drumline_options(app: "Celery", merged: Mapping[str, Any]) -> dict[str, Any]:
    """Return merged options under Drumline's names."""
    options: dict[str, Any] = {"retries": merged["retries_allowed"]}
    queue = merged.get("queue") or app.conf.task_default_queue
    queue = getattr(queue, "name", queue)
    if queue not in {"default", "celery"}:
        options["queue"] = queue
    priority = merged.get("priority", app.conf.task_default_priority)
    if priority is not None:
        options["priority"] = priority
    eta = moment_of(merged.get("eta"))
    if eta is not None:
        options["run_at"] = eta
    elif merged.get("countdown"):
        options["delay"] = max(float(merged["countdown"]), 0.0)
    if merged.get("time_limit"):
        options["timeout"] = float(merged["time_limit"])
    if merged.get("expires") is not None:
        options["expires"] = _expires(merged["expires"], eta, options.get("delay", 0.0))
    return options


def moment_of(value: Any) -> datetime | None:
    """Return a time that may be written as a text; one without a zone is by the clock of this machine."""
    if value is None:
        return None
    return local_time(datetime.fromisoformat(value) if isinstance(value, str) else value)


def _expires(value: Any, eta: datetime | None, delay: float) -> float:
    """Return how long after it is due a task expires: Celery counts from now."""
    now = datetime.now(UTC)
    if isinstance(value, datetime | str):
        value = (moment_of(value) or now).timestamp() - now.timestamp()
    ahead = delay if eta is None else max((eta - now).total_seconds(), 0.0)
    return max(float(value) - ahead, _SHORTEST)


def route_of(app: "Celery", name: str) -> dict[str, Any]:
    """Return what `task_routes` says of a task: a mapping from names or patterns, or a list of these."""
    routes = app.conf.task_routes
    for table in routes if isinstance(routes, list | tuple) else [routes]:
        pairs = table.items() if isinstance(table, Mapping) else ()
        for pattern, route in pairs:
            if fnmatchcase(name, pattern):
                return {"queue": route} if isinstance(route, str) else dict(route)
    return {}
