"""Redaction of what schedules make: the payloads of a task, or of the tasks of a job."""

from collections.abc import Callable

from msgspec import Raw
from msgspec.structs import replace

from drumline.core.accept_job import name_of
from drumline.core.errors import Invalid
from drumline.core.redaction import REDACTED, Redaction
from drumline.core.schedule import ScheduleTarget

NOTHING = Raw(b"{}")


def redacted_target(target: ScheduleTarget, redaction: Redaction) -> ScheduleTarget:
    """Return a schedule's target with hidden values redacted."""
    return _changed(target, lambda payload, _field: redaction.payload(payload))


def restored_target(target: ScheduleTarget, original: ScheduleTarget, redaction: Redaction) -> ScheduleTarget:
    """Return an edited target with its hidden values restored; `Invalid` if there was no such value.

    It is put back for a task of the same name only: another would do something else with it.
    """
    before, after = _names(original), _names(target)
    tasks = {field: payload for field, (name, payload) in before.items() if after.get(field, ("",))[0] == name}

    def restore(payload: Raw, field: str) -> Raw:
        try:
            return redaction.restored(payload, tasks.get(field, NOTHING))
        except Invalid as error:
            raise Invalid(error.message, field=f"{field}.{error.field}") from error

    return _changed(target, restore)


def hidden_in(target: ScheduleTarget) -> str | None:
    """Return where a payload asks for what its author was not shown; None if nowhere."""
    mark = REDACTED.encode()
    return next((field for field, (_, payload) in _names(target).items() if mark in bytes(payload)), None)


def _names(target: ScheduleTarget) -> dict[str, tuple[str, Raw]]:
    """Return the name and payload of each task that a target makes, by its field."""
    if target.task is not None:
        return {"task": (target.task.name, target.task.payload)}
    if target.job is None:
        return {}
    return {f"job.tasks.{key}": (name_of(key, task), task.payload) for key, task in target.job.tasks.items()}


def _changed(target: ScheduleTarget, change: Callable[[Raw, str], Raw]) -> ScheduleTarget:
    if target.task is not None:
        return replace(target, task=replace(target.task, payload=change(target.task.payload, "task")))
    if target.job is None:
        return target
    tasks = {
        key: replace(task, payload=change(task.payload, f"job.tasks.{key}")) for key, task in target.job.tasks.items()
    }
    return replace(target, job=replace(target.job, tasks=tasks))
