"""Redaction of what schedules make: the payloads of a task, or of the tasks of a job."""

from collections.abc import Callable

from msgspec import Raw
from msgspec.structs import replace

from drumline.core.errors import Invalid
from drumline.core.redaction import Redaction
from drumline.core.schedule import Target

NOTHING = Raw(b"{}")


def redacted_target(target: Target, redaction: Redaction) -> Target:
    """Return what a schedule makes as it is shown."""
    return _changed(target, lambda payload, _field: redaction.payload(payload))


def restored_target(target: Target, original: Target, redaction: Redaction) -> Target:
    """Return what somebody has edited, with what they were not shown; `Invalid` if it was never there."""
    tasks = (
        {} if original.job is None else {f"job.tasks.{key}": task.payload for key, task in original.job.tasks.items()}
    )
    if original.task is not None:
        tasks["task"] = original.task.payload

    def restore(payload: Raw, field: str) -> Raw:
        try:
            return redaction.restored(payload, tasks.get(field, NOTHING))
        except Invalid as error:
            raise Invalid(error.message, field=f"{field}.{error.field}") from error

    return _changed(target, restore)


def _changed(target: Target, change: Callable[[Raw, str], Raw]) -> Target:
    if target.task is not None:
        return replace(target, task=replace(target.task, payload=change(target.task.payload, "task")))
    if target.job is None:
        return target
    tasks = {
        key: replace(task, payload=change(task.payload, f"job.tasks.{key}")) for key, task in target.job.tasks.items()
    }
    return replace(target, job=replace(target.job, tasks=tasks))
