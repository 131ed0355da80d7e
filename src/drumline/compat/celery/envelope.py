"""The payload of a task: arguments as they were given, and what Celery keeps in the headers of a message."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from drumline.compat.celery.canvas import Signature
from drumline.compat.celery.options import moment_of
from drumline.compat.celery.wire import to_wire

if TYPE_CHECKING:
    from drumline.compat.celery.app import Celery

_TRAVELS: Final = (
    "priority", "expires", "time_limit", "soft_time_limit", "headers", "group_id", "countdown", "retries", "nesting",
)  # fmt: skip
"""Options that a running task can see in its request."""
_NOT_PROPERTIES: Final = frozenset(
    {*_TRAVELS, "task_id", "link", "link_error", "eta", "queue", "ignore_result", "retries_allowed", "chord", "app"}
)


def envelope(
    app: "Celery",
    sig: Signature,
    options: Mapping[str, Any],
    *,
    errbacks: Sequence[Any] = (),
    lineage: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the payload of a call."""
    request: dict[str, Any] = {name: to_wire(options[name]) for name in _TRAVELS if options.get(name) is not None}
    if sig.id is not None:
        request["id"] = sig.id
    eta = moment_of(options.get("eta"))
    if eta is None and options.get("countdown"):
        eta = datetime.now(UTC) + timedelta(seconds=float(options["countdown"]))
    if eta is not None:
        request["eta"] = eta.isoformat()
    if options.get("ignore_result"):
        request["ignore_result"] = True
    properties = {name: to_wire(value) for name, value in options.items() if name not in _NOT_PROPERTIES}
    if properties:
        request["properties"] = properties
    if errbacks:
        request["errbacks"] = to_wire(list(errbacks))
    request |= {name: value for name, value in (lineage or {}).items() if value is not None}
    task = app.tasks.get(sig.task)
    prepared = task.prepare(sig.args, sig.kwargs) if task is not None else (sig.args, sig.kwargs)
    return {"args": to_wire(list(prepared[0])), "kwargs": to_wire(prepared[1]), "request": request}
