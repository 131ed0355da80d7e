"""Functions that run at times: `@app.cron(…)` and `@app.every(…)`.

The function becomes a task, and the app has a schedule for it. A worker that serves the app registers its schedules
when it starts: new ones are created, changed ones changed, and those whose code is gone are paused.
"""

import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Literal, ParamSpec, TypedDict, TypeVar, overload

from msgspec.structs import replace

from drumline.core.accept_schedule import policy_of, rule_of
from drumline.core.app_schedules import AppSchedule, RegisterRequest
from drumline.core.clock import Instant, SystemClock, to_datetime, to_instant
from drumline.core.duration import Duration, parse_duration
from drumline.core.errors import Invalid, NotFound
from drumline.core.firing_policy import Misfire, Overlap
from drumline.core.json_errors import suggestion
from drumline.core.schedule import ScheduleRequest
from drumline.core.timetable import upcoming
from drumline.core.zone import Zone, zone_of
from drumline.sdk.checking import DURATION, TEXT, WHOLE, check_kind, check_options, kinds_of, one_of
from drumline.sdk.definition import TaskDefinition, define, module_of
from drumline.sdk.options import request_of
from drumline.sdk.task import AsyncTask, Submittable, Task

MOST_PREVIEWED: Final = 1000
P = ParamSpec("P")
R = TypeVar("R")


class CronOptions(TypedDict, total=False):
    """What `@app.cron(…)` and `@app.every(…)` take besides when."""

    name: str
    """What the schedule is called; the task's name when absent."""
    tz: str
    """The IANA time zone by whose clock a cron expression goes; UTC when absent."""
    overlap: Literal["allow", "skip", "queue", "cancel_previous"]
    """What a fire time does while the previous run has not ended; `allow` when absent."""
    catch_up: Literal["skip", "once", "all"]
    """What becomes of firings that were due while no scheduler was there."""
    start: datetime
    """No fire time before this. A time without a zone is by `tz`."""
    end: datetime
    """No fire time after this. A time without a zone is by `tz`."""
    jitter: Duration
    """Spread the firings over this much time."""
    max_runs: int
    """Finish after so many runs."""
    arguments: Mapping[str, Any]
    """What the function is called with."""


class ScheduleRegistry:
    """The schedules that stand in an app's code, by name."""

    def __init__(self) -> None:
        self._schedules: dict[str, AppSchedule] = {}

    def add(self, schedule: AppSchedule) -> None:
        """Note a schedule; a reload of its module may replace it."""
        name = schedule.schedule.name
        known = self._schedules.get(name)
        if known is not None and known.module != schedule.module:
            raise ValueError(f"the schedule name {name!r} is taken in {known.module}; give one of them another name=")
        self._schedules[name] = schedule

    def preview(
        self, schedule: "str | Submittable[..., Any]", *, count: int = 5, after: datetime | None = None
    ) -> list[datetime]:
        """Return when a schedule fires next, by the clock of its time zone: `app.schedules.preview(report)`.

        `schedule` is its name, or its task where that has one schedule. `after` is now when absent; a time without a
        zone is by the time zone of the schedule. No server is asked.
        """
        check_kind("count", count, WHOLE, of="app.schedules.preview")
        if not 1 <= count <= MOST_PREVIEWED:
            raise Invalid(f"must be from 1 to {MOST_PREVIEWED:,}", field="count")
        request = self._find(schedule)
        zone = zone_of(request.timezone)
        moment = _zoned(after, zone)
        begin = SystemClock().now() if moment is None else to_instant(moment, field="after")
        times = upcoming(rule_of(request, now=begin), after=begin, count=count)
        return [to_datetime(time.instant).astimezone(zone.info) for time in times]

    def _find(self, schedule: "str | Submittable[..., Any]") -> ScheduleRequest:
        if not isinstance(schedule, str):
            names = [name for name, each in self._schedules.items() if _runs(each.schedule, schedule.name)]
            if len(names) > 1:
                raise Invalid(f"{schedule.name} has several: name one of {', '.join(names)}", field="schedule")
            schedule = names[0] if names else schedule.name
        known = self._schedules.get(schedule)
        if known is None:
            near = suggestion(schedule, self._schedules)
            raise NotFound(f"no schedule named {schedule!r} is in the code of this app{near}", field="schedule")
        return known.schedule

    def request(self, app: str, modules: Iterable[str]) -> RegisterRequest:
        """Return what is to be registered, with all modules that the app has loaded."""
        schedules = tuple(self._schedules.values())
        loaded = dict.fromkeys([*modules, *(each.module for each in schedules)])
        return RegisterRequest(app=app, modules=tuple(loaded), schedules=schedules)

    def __len__(self) -> int:
        return len(self._schedules)


class CronDecorator:
    """Takes the function, or the task, that is to run at times."""

    def __init__(self, app: Any, rule: ScheduleRequest, options: CronOptions) -> None:
        self._app = app
        self._rule = rule
        self._options = options

    # A plain function takes in an async one, and a task is callable too: the first form that fits wins.
    @overload
    def __call__(self, function: AsyncTask[P, R]) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, function: Task[P, R]) -> Task[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]]) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, function: Callable[P, R]) -> Task[P, R]: ...
    def __call__(self, function: Any) -> Any:
        """Define the function as a task, unless it is one, and let it run at times."""
        task = function if isinstance(function, Submittable) else self._defined(function)
        definition: TaskDefinition = task.definition
        try:
            payload = definition.payload(**self._options.get("arguments", {}))
        except TypeError as error:
            raise TypeError(f"{definition.name} cannot run on a schedule: {error}; give it arguments={{…}}") from error
        request = replace(
            self._rule,
            name=self._options.get("name", definition.name),
            task=replace(request_of(definition.name, definition.defaults), payload=payload),
        )
        module = module_of(definition.function)
        self._app.schedules.add(AppSchedule(module=module, schedule=request))
        return task

    def _defined(self, function: Callable[..., Any]) -> Any:
        definition = define(function)
        self._app.registry.add(definition)
        kind = AsyncTask if inspect.iscoroutinefunction(function) else Task
        return kind(definition, self._app)


def rule_for(options: CronOptions, *, cron: str | None = None, interval: Duration | None = None) -> ScheduleRequest:
    """Return what a decorator says of a schedule, checked where it is written; name and task are still to come."""
    of = "@app.cron" if interval is None else "@app.every"
    check_options(options, kinds_of(CronOptions), of=of)
    one_of("catch_up", options.get("catch_up", Misfire.ONCE), Misfire, of=of)
    one_of("overlap", options.get("overlap", Overlap.ALLOW), Overlap, of=of)
    if interval is None:
        check_kind("the expression", cron, TEXT, of=of)
    else:
        check_kind("the interval", interval, DURATION, of=of)
    zone = zone_of(options.get("tz", "UTC"))
    request = ScheduleRequest(
        name="",
        cron=cron,
        interval=_seconds(interval, "interval"),
        timezone=options.get("tz", "UTC"),
        misfire=Misfire(options.get("catch_up", Misfire.ONCE)),
        overlap=Overlap(options.get("overlap", Overlap.ALLOW)),
        start=_zoned(options.get("start"), zone),
        end=_zoned(options.get("end"), zone),
        jitter=_seconds(options.get("jitter"), "jitter") or 0.0,
        max_runs=options.get("max_runs"),
    )
    rule_of(request, now=Instant(0))
    policy_of(request)
    return request


def _runs(schedule: ScheduleRequest, task: str) -> bool:
    return schedule.task is not None and schedule.task.name == task


def _zoned(moment: datetime | None, zone: Zone) -> datetime | None:
    """Return a time with its zone; one without is by the schedule's, so that every worker registers the same."""
    if moment is None or moment.utcoffset() is not None:
        return moment
    return moment.replace(tzinfo=zone.info)


def _seconds(value: Duration | None, field: str) -> float | str | None:
    return parse_duration(value, field=field).total_seconds() if isinstance(value, timedelta) else value
