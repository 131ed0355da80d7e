"""Runs a task in a worker of Drumline: what a payload says, as Celery's worker would do it."""

import inspect
import logging
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from drumline.compat.celery import signals, states
from drumline.compat.celery.async_result import NO_REASON, AsyncResult, replacements
from drumline.compat.celery.errors import exception_of
from drumline.compat.celery.exceptions import Ignore, Reject, Replaced, Retry, UpstreamFailed
from drumline.compat.celery.request import Request, running
from drumline.compat.celery.wire import REPLACED, TYPE, from_wire, to_wire
from drumline.core.state import Status, is_ended
from drumline.sdk.context import Context, inject
from drumline.sdk.jobs import NodeInfo
from drumline.sdk.signals import Retry as RetryLater
from drumline.sdk.signals import Snooze

if TYPE_CHECKING:
    from drumline.compat.celery.app import Celery
    from drumline.compat.celery.task import Task

_log: Final = logging.getLogger("drumline.compat.celery")

SHORTEST_WAIT: Final = 0.1
LONGEST_WAIT: Final = 30.0
"""Seconds between two looks at a replacement: a tenth of the time that it has taken, within these."""


@dataclass(frozen=True)
class ExceptionInfo:
    """An exception and its traceback, as hooks and signals get them."""

    exception: BaseException
    traceback: str
    tb: TracebackType | None = None

    @property
    def type(self) -> type[BaseException]:
        """The exception's class."""
        return type(self.exception)

    def __str__(self) -> str:
        return self.traceback


def function_of(app: "Celery", task: "Task") -> Callable[..., Any]:
    """Return the function that a worker calls with a task's payload."""

    def run(
        args: list[Any],
        kwargs: dict[str, Any],
        request: dict[str, Any] = {},  # noqa: B006 - it is only read
        feed: Any = None,
        takes_feed: bool | None = None,
        errback: dict[str, Any] | None = None,
        *,
        ctx: Context[Any] = inject(),
    ) -> Any:
        given = from_wire(args)
        if takes_feed is not None:
            value = settled(app, feed)
            given = [value, *given] if takes_feed else given
        if errback is not None:
            before = errback_arguments(app, task, errback, ctx)
            if before is None:
                return None
            given = [*before, *given]
        return Execution(app, task, given, from_wire(kwargs), request, ctx).run()

    run.__module__, run.__qualname__ = task.function.__module__, task.function.__qualname__
    run.__doc__ = task.__doc__
    return run


class Execution:
    """One attempt of a task, with its hooks and signals."""

    def __init__(
        self,
        app: "Celery",
        task: "Task",
        args: list[Any],
        kwargs: dict[str, Any],
        written: Mapping[str, Any],
        ctx: Context[Any],
    ) -> None:
        self._task = task
        self._args = tuple(args)
        self._kwargs = kwargs
        self._request = Request(
            id=str(written.get("id") or ctx.id), task=task.name, args=args, kwargs=kwargs, app=app, task_id=ctx.id,
            retries=int(written.get("retries") or 0) + ctx.attempt - 1, called_directly=False, written=written,
            delivery_info={"priority": written.get("priority"), "routing_key": ctx.queue, "redelivered": False},
        )  # fmt: skip

    def run(self) -> Any:
        """Run the task and return its result as it is stored, or raise what Drumline understands."""
        task, request = self._task, self._request
        signals.task_received.send(sender=task, request=request)
        named = {"task_id": request.id, "task": task, "args": self._args, "kwargs": self._kwargs}
        signals.task_prerun.send(sender=task, **named)
        state, value = states.SUCCESS, None
        try:
            with running(request):
                task.before_start(request.id or "", self._args, self._kwargs)
                try:
                    value = self._succeeded(task.invoke(self._args, self._kwargs))
                except Ignore:
                    state = "IGNORED"
                except Replaced as replaced:
                    value = {REPLACED: replaced.ids}
                except Retry as again:
                    state, value = states.RETRY, again
                    return self._retried(again)
                except Reject as reject:
                    state, value = states.FAILURE, reject
                    raise self._rejected(reject) from reject
                except Exception as error:
                    state, value = states.FAILURE, error
                    self._failed(error)
                    raise
            return value
        finally:
            signals.task_postrun.send(sender=task, **named, retval=value, state=state)
            task.after_return(state, value, request.id or "", self._args, self._kwargs, None)

    def _succeeded(self, value: Any) -> Any:
        task, request = self._task, self._request
        written = to_wire(value)
        task.on_success(value, request.id or "", self._args, self._kwargs)
        signals.task_success.send(sender=task, result=value)
        # A task of a job keeps its result for those after it.
        is_dropped = request.ignore_result and "root" not in request.written
        return None if is_dropped else written

    def _failed(self, error: BaseException) -> None:
        info = _info_of(error)
        self._task.on_failure(error, self._request.id or "", self._args, self._kwargs, info)
        signals.task_failure.send(
            sender=self._task, task_id=self._request.id, exception=error, args=self._args, kwargs=self._kwargs,
            traceback=error.__traceback__, einfo=info,
        )  # fmt: skip

    def _rejected(self, reject: Reject) -> Exception:
        if reject.requeue:
            return Snooze(1)
        self._failed(reject)
        return reject

    def _retried(self, again: Retry) -> Any:
        """Let the task run again: as it is, or, with other arguments or options, as another in its place."""
        task, request = self._task, self._request
        info = _info_of(again)
        task.on_retry(again.exc or again, request.id or "", self._args, self._kwargs, info)
        signals.task_retry.send(sender=task, request=request, reason=again.exc or again, einfo=info)
        is_changed = again.args_given is not None or again.kwargs_given is not None or again.options_given.get("queue")
        if not is_changed:
            raise RetryLater(again.message, after=again.when) from again.exc
        sig = task.signature(*self._changed(again)).set(**{"countdown": again.when, **again.options_given})
        return {REPLACED: task.submit_instead(sig, request, retries=request.retries + 1)}

    def _changed(self, again: Retry) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a retry: those that are given, and the others as they were."""
        bound = self._task.parameters.bind_partial(*self._args, **self._kwargs).arguments
        args = self._args if again.args_given is None else tuple(again.args_given)
        kwargs = dict(self._kwargs if again.kwargs_given is None else again.kwargs_given)
        if again.args_given is None:  # keywords may name what was given by position
            names = list(bound)
            first = min((names.index(name) for name in kwargs if name in names[: len(args)]), default=len(args))
            kwargs = {**{name: bound[name] for name in names[first : len(args)]}, **kwargs}
            args = args[:first]
        elif again.kwargs_given is None:
            taken = list(self._task.parameters.parameters)[: len(args)]
            kwargs = {name: value for name, value in kwargs.items() if name not in taken}
        return args, kwargs


def settled(app: "Celery", feed: Any) -> Any:
    """Return the results before a task, those of replaced tasks from what they were replaced with.

    While a replacement has not ended, the task waits outside of the worker (`Snooze`), before anything of it ran.
    """
    if isinstance(feed, list):
        return [settled(app, each) for each in feed]
    if not isinstance(feed, dict):
        return feed
    if REPLACED in feed:
        return _result_of(app, feed[REPLACED])
    return from_wire(feed) if TYPE in feed else {name: settled(app, each) for name, each in feed.items()}


def _result_of(app: "Celery", ids: Any) -> Any:
    if not isinstance(ids, str):
        return [_result_of(app, each) for each in ids]
    info = app.drumline.handle(ids).info()
    if not is_ended(info.status):
        raise Snooze(_pause(info.created_at))
    inner = replacements(info)
    if info.status is Status.COMPLETED and not inner:
        return from_wire(AsyncResult(ids, app=app).written())
    if inner:
        return _result_of(app, AsyncResult(ids, app=app).written()[REPLACED])
    error = info.error or NO_REASON
    raise UpstreamFailed(f"{ids} {info.status.value.lower()}: {error.kind}: {error.message}")


def _pause(since: datetime | None) -> float:
    age = 0.0 if since is None else (datetime.now(UTC) - since).total_seconds()
    return min(max(age / 10, SHORTEST_WAIT), LONGEST_WAIT)


def errback_arguments(app: "Celery", task: "Task", errback: Mapping[str, Any], ctx: Context[Any]) -> list[Any] | None:
    """Return the arguments that an errback is called with; None if what it is for did not fail by itself.

    A task that was skipped because one before it failed has no failure of its own; but the body of a chord has that
    of its header.
    """
    job = app.drumline.handle(ctx.id).info().job_id
    nodes = {node.key: node for node in app.drumline.job(job).nodes()} if job is not None else {}
    node = nodes[errback["of"]]
    source = _source_of(app, node, nodes, errback["header"])
    if source is None:
        return None
    if errback["immutable"]:
        return []
    info = app.drumline.handle(source.task_id).info()
    failed_id = node.task_id if errback["id"] == node.key else errback["id"]
    if not _takes_exception(task):
        return [failed_id]
    error = info.error or NO_REASON
    request = Request(id=failed_id, task=info.name, app=app, task_id=info.id, called_directly=False)
    return [request, exception_of(error), error.traceback]


def _source_of(app: "Celery", node: NodeInfo, nodes: Mapping[str, NodeInfo], header: list[str]) -> NodeInfo | None:
    """Return the task whose failure an errback is told of."""
    if node.status is Status.SKIPPED:
        return nodes[node.cause] if node.cause in header else None
    if node.status is not Status.FAILED:
        return None
    error = app.drumline.handle(node.task_id).info().error
    is_upstream = error is not None and error.kind == UpstreamFailed.__qualname__
    return None if is_upstream and not header else node


def _takes_exception(task: "Task") -> bool:
    """Tell whether an errback takes (request, exc, traceback), and not the id alone, as Celery decides it."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = task.parameters.parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind in positional]
    has_rest = any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters)
    return len(names) >= 3 or has_rest


def _info_of(error: BaseException) -> ExceptionInfo:
    return ExceptionInfo(error, "".join(traceback.format_exception(error)), error.__traceback__)
