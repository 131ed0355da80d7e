"""What can be said about a task when it is defined, and about one submission of it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypedDict

import msgspec

from drumline.core.duration import Duration, parse_duration
from drumline.core.errors import Invalid
from drumline.core.flow import LimitRequest, accept_limit
from drumline.core.ids import TaskId
from drumline.core.priority import parse_priority
from drumline.core.retry import MOST_RETRIES, Backoff
from drumline.core.task import DEFAULT_TENANT, NotifyTarget, TaskRequest, accept
from drumline.sdk.checking import as_errors, check_options, kinds_of, one_of
from drumline.sdk.collapse import CollapseOption, collapse_of
from drumline.sdk.definition import Defaults, Mode

DECORATOR: Final = "@app.task"
_NO_ID: Final = TaskId("00000000-0000-7000-8000-000000000000")


class DecoratorOptions(TypedDict, total=False):
    """What `@app.task(…)` takes."""

    name: str
    """The name of the task; `module.function` when absent."""
    queue: str
    """The queue in which it waits; `default` when absent."""
    priority: int | str
    """-100 to 100, or `critical`, `high`, `normal`, `low`; a point is worth a minute of waiting."""
    retries: int
    """How often a failed attempt is repeated; 3 when absent."""
    max_attempts: int
    """`retries` plus one; give only one of them."""
    timeout: Duration
    """How long one attempt may take; no limit when absent."""
    expires: Duration
    """Cancel a task that has not started so long after it was due; never when absent."""
    backoff: Backoff | float
    """The pause before each retry: a `Backoff`, or the seconds of the first pause, which doubles."""
    retry_on: type[BaseException] | Sequence[type[BaseException]]
    """Only these exceptions are retried; every exception when absent."""
    give_up_on: type[BaseException] | Sequence[type[BaseException]]
    """These exceptions are never retried, whatever `retry_on` says."""
    tags: Sequence[str]
    """Words by which tasks can be found."""
    max_concurrent: int
    """How many may run at once, over all workers."""
    rate_limit: str
    """How many may start in a time, such as `50/s`."""
    limit_by: str
    """Count for each key by itself: `limit_key`, or where in the payload it is, such as `payload.customer_id`."""
    mode: Mode
    """Where the function runs; async functions on the event loop and others in threads when absent."""
    process: bool
    """Run in a child process, for functions that compute."""


class BatchOptions(TypedDict, total=False):
    """What `@app.batch(…)` takes besides `max` and `within`: as for `@app.task(…)`."""

    name: str
    """The name of the task; `module.function` when absent."""
    queue: str
    """The queue in which it waits; `default` when absent."""
    priority: int | str
    """-100 to 100, or `critical`, `high`, `normal`, `low`; a point is worth a minute of waiting."""
    retries: int
    """How often a failed attempt is repeated; 3 when absent."""
    timeout: Duration
    """How long one attempt may take, waiting for others included; no limit when absent."""
    expires: Duration
    """Cancel a task that has not started so long after it was due; never when absent."""
    backoff: Backoff | float
    """The pause before each retry: a `Backoff`, or the seconds of the first pause, which doubles."""
    tags: Sequence[str]
    """Words by which tasks can be found."""


class Options(TypedDict, total=False):
    """What `.options(…)` takes: how one submission differs from the task's defaults."""

    delay: Duration
    """How long to wait before the task is due."""
    run_at: datetime
    """When the task is due; give this or `delay`. A time without a zone is by the clock of this machine."""
    queue: str
    """The queue in which it waits."""
    priority: int | str
    """-100 to 100, or `critical`, `high`, `normal`, `low`."""
    retries: int
    """How often a failed attempt is repeated."""
    timeout: Duration
    """How long one attempt may take."""
    backoff: Backoff | float
    """The pause before each retry."""
    key: str
    """The idempotency key: the same key and arguments give the same task."""
    tags: Sequence[str]
    """Words by which the task can be found."""
    notify: Sequence[NotifyTarget]
    """Whom to tell when the task has ended."""
    limit_key: str
    """Whose limit it counts to, where a limit has keys: a customer's id, say."""
    expires: Duration
    """Cancel the task if it has not started so long after it was due."""
    collapse: CollapseOption
    """Let an earlier task stand for it: `Debounce`, `Throttle`, `Singleton` or `Unique`."""


class SubmitOptions(Options, total=False):
    """What `.options(…)` of a task and `submit_task` take besides."""

    tx: object
    """A connection or session with an open transaction, in which the task is stored."""


def defaults_of(settings: DecoratorOptions) -> Defaults:
    """Return a task's defaults; raises `TypeError` or `Invalid` for settings that make no sense."""
    check_options(settings, _DECORATOR_KINDS, of=DECORATOR, noun="setting")
    retries = _retries_of(settings)
    timeout = parse_duration(settings["timeout"], field="timeout") if "timeout" in settings else None
    defaults = Defaults(
        queue=settings.get("queue"),
        priority=parse_priority(settings["priority"]) if "priority" in settings else None,
        retries=retries,
        backoff=_backoff_of(settings["backoff"]) if "backoff" in settings else None,
        timeout=timeout,
        tags=tuple(settings["tags"]) if "tags" in settings else None,
        expires=parse_duration(settings["expires"], field="expires") if "expires" in settings else None,
        retry_on=as_errors(settings["retry_on"]) if "retry_on" in settings else None,
        give_up_on=as_errors(settings.get("give_up_on", ())),
        limit=_limit_of(settings),
    )
    accept(request_of("task", defaults), id=_NO_ID)  # so that a mistake shows where it is written
    return defaults


def _limit_of(settings: DecoratorOptions) -> LimitRequest | None:
    """Return the limit that settings ask for, still without the task's name."""
    if not {"max_concurrent", "rate_limit", "limit_by"} & settings.keys():
        return None
    limit = LimitRequest(
        max_concurrent=settings.get("max_concurrent"), rate=settings.get("rate_limit"), key=settings.get("limit_by")
    )
    accept_limit("task", msgspec.structs.replace(limit, task="task"), tenant=DEFAULT_TENANT)
    return limit


def mode_of(settings: DecoratorOptions) -> Mode | None:
    """Return where the task runs, or None to go by its function."""
    mode = settings.get("mode")
    if settings.get("process"):
        if mode not in {None, Mode.PROCESS}:
            raise TypeError("give either mode or process, not both")
        return Mode.PROCESS
    if mode is not None:
        one_of("mode", mode, Mode, of=DECORATOR)
    return None if mode is None else Mode(mode)


def request_of(name: str, defaults: Defaults) -> TaskRequest:
    """Return the request that a plain submission of the task makes, still without its payload."""
    declared = defaults.published()
    return TaskRequest(name=name, **{field: getattr(declared, field) for field in declared.__struct_fields__})


def apply(request: TaskRequest, options: Options, *, of: str = "options") -> TaskRequest:
    """Return the request with the options said over it; raises `TypeError` for those that are not of their type.

    Their values are checked when they are submitted, like those that come over HTTP. `of` is who takes
    them, for errors.
    """
    changes: dict[str, Any] = dict(options)
    check_options(changes, _KINDS, of=of)
    if "key" in changes:
        changes["idempotency_key"] = changes.pop("key")
    for name in changes.keys() & _WRITTEN.keys():
        changes[name] = _WRITTEN[name](changes[name])
    # Only one of the two holds: the one given last.
    if "delay" in changes:
        changes.setdefault("run_at", None)
    elif "run_at" in changes:
        changes["delay"] = None
    return msgspec.structs.replace(request, **changes)


def local_time(moment: datetime) -> datetime:
    """Return a time with its zone; one without is by the clock of this machine, as everywhere in Python."""
    return moment if moment.utcoffset() is not None else moment.replace(tzinfo=None).astimezone()


def _seconds(value: Duration) -> float | str:
    return value.total_seconds() if isinstance(value, timedelta) else value


_KINDS: Final = kinds_of(Options)
_DECORATOR_KINDS: Final = kinds_of(DecoratorOptions)
_BY_TYPE: Final[Mapping[Any, Callable[[Any], Any]]] = {
    datetime: local_time,
    Duration: _seconds,
    Sequence[str]: tuple,
    Sequence[NotifyTarget]: tuple,
    CollapseOption: collapse_of,
}
_WRITTEN: Final = {name: _BY_TYPE[type_] for name, type_ in Options.__annotations__.items() if type_ in _BY_TYPE}
"""How options are written in a request, where that differs from how they are given."""


def _retries_of(settings: DecoratorOptions) -> int | None:
    if "max_attempts" not in settings:
        return settings.get("retries")
    if "retries" in settings:
        raise TypeError("give either retries or max_attempts (retries plus one), not both")
    if not 1 <= settings["max_attempts"] <= MOST_RETRIES + 1:
        raise Invalid(f"must be from 1 to {MOST_RETRIES + 1}", field="max_attempts")
    return settings["max_attempts"] - 1


def _backoff_of(backoff: Backoff | float) -> Backoff:
    return backoff if isinstance(backoff, Backoff) else Backoff(base=backoff)
