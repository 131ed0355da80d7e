"""The beat schedule of an app as schedules of Drumline: registered when a worker starts, fired by any scheduler."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from msgspec import Raw

from drumline.compat.celery.canvas import Signature
from drumline.compat.celery.envelope import envelope
from drumline.compat.celery.options import drumline_options, merged_options
from drumline.compat.celery.schedules import rule_of
from drumline.core.app_schedules import AppSchedule, RegisterRequest
from drumline.core.errors import Invalid
from drumline.core.schedule import ScheduleRequest
from drumline.core.task import TaskRequest
from drumline.sdk.arguments import encode_arguments
from drumline.sdk.cron import ScheduleRegistry
from drumline.sdk.options import Options, apply

if TYPE_CHECKING:
    from drumline.compat.celery.app import Celery


class BeatSchedules(ScheduleRegistry):
    """The schedules of an app, read from its configuration when they are registered."""

    def __init__(self, app: "Celery") -> None:
        super().__init__()
        self._app = app

    def request(self, app: str, modules: Iterable[str]) -> RegisterRequest:
        """Return what is to be registered: the entries of `beat_schedule`."""
        module = f"celery.beat.{app}"
        entries = self._app.conf.beat_schedule or {}
        schedules = tuple(
            AppSchedule(module=module, schedule=schedule_of(self._app, name, entry)) for name, entry in entries.items()
        )
        return RegisterRequest(app=app, modules=tuple(dict.fromkeys([*modules, module])), schedules=schedules)

    def __len__(self) -> int:
        return len(self._app.conf.beat_schedule or {})


def schedule_of(app: "Celery", name: str, entry: Mapping[str, Any]) -> ScheduleRequest:
    """Return an entry of the beat schedule as a schedule."""
    where = f"beat_schedule[{name!r}]"
    if "task" not in entry or "schedule" not in entry:
        raise Invalid("needs a task and a schedule", field=where)
    sig = Signature(entry["task"], entry.get("args"), entry.get("kwargs"), entry.get("options"), app=app)
    merged = merged_options(app, sig.task, sig.options)
    payload = Raw(encode_arguments(envelope(app, sig, merged)))
    said = cast("Options", drumline_options(app, merged))  # which are checked there
    request = apply(TaskRequest(name=sig.task, payload=payload), said, of=where)
    zone = str(app.conf.timezone or "UTC")
    return ScheduleRequest(name=name, timezone=zone, task=request, **rule_of(entry["schedule"], field=where))
