"""A task under Celery's interface: a function, or a class with `run`."""

import inspect
import random
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, get_type_hints

from drumline.compat.celery.canvas import Canvas, Signature, chain, group, signature
from drumline.compat.celery.exceptions import (
    Ignore,
    ImproperlyConfigured,
    MaxRetriesExceededError,
    Reject,
    Replaced,
    Retry,
)
from drumline.compat.celery.options import check_time_limits, moment_of
from drumline.compat.celery.request import Request, request_for, running
from drumline.compat.celery.state import current_app
from drumline.core.errors import KeyReused
from drumline.core.names import LONGEST_NAME
from drumline.sdk.context import current_or_none
from drumline.sdk.signals import Signal

if TYPE_CHECKING:
    from drumline.compat.celery.app import Celery

_CONTROL = (Retry, Ignore, Reject, Replaced, Signal)
"""What a task raises to steer itself, which is no error to retry."""


class Task:
    """A task; subclasses set these attributes, and `@app.task(…)` takes them as arguments."""

    name: str = ""
    max_retries: ClassVar[int | None] = 3
    default_retry_delay: ClassVar[float] = 180
    autoretry_for: ClassVar[tuple[type[BaseException], ...]] = ()
    dont_autoretry_for: ClassVar[tuple[type[BaseException], ...]] = ()
    retry_kwargs: ClassVar[Mapping[str, Any]] = {}
    retry_backoff: ClassVar[bool | float] = False
    retry_backoff_max: ClassVar[float] = 600
    retry_jitter: ClassVar[bool] = True
    ignore_result: ClassVar[bool | None] = None
    queue: ClassVar[str | None] = None
    priority: ClassVar[int | None] = None
    expires: ClassVar[Any] = None
    time_limit: ClassVar[float | None] = None
    soft_time_limit: ClassVar[float | None] = None
    rate_limit: ClassVar[str | None] = None
    typing: ClassVar[bool] = True
    pydantic: ClassVar[bool] = False
    throws: ClassVar[tuple[type[BaseException], ...]] = ()

    bound_app: "Celery | None" = None
    """The app that it was defined with; None for a shared task, which belongs to the current app."""
    is_bound: ClassVar[bool] = True
    """Whether `run` takes the task as `self`."""

    def __init__(self) -> None:
        if not self.name:
            self.name = f"{type(self).__module__}.{type(self).__qualname__}"

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Do the work; subclasses define it."""
        raise NotImplementedError("a task must define run()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it here and now."""
        if self.request.id is not None:  # by a worker, or inside another call
            return self.run(*args, **kwargs)
        with running(Request(task=self.name, args=args, kwargs=kwargs, app=self.bound_app)):
            return self.run(*args, **kwargs)

    @property
    def app(self) -> "Celery":
        """The app."""
        return self.bound_app or current_app()

    @property
    def request(self) -> Request:
        """What is known of the execution that runs here."""
        return request_for(self.name)

    @property
    def backend(self) -> Any:
        """Refuse: results are kept by Drumline."""
        raise NotImplementedError("there is no result backend: Drumline keeps results with their tasks")

    # -- submit

    def delay(self, *args: Any, **kwargs: Any) -> Any:
        """Submit a call."""
        return self.apply_async(args, kwargs)

    def apply_async(
        self, args: Iterable[Any] | None = None, kwargs: Mapping[str, Any] | None = None, **options: Any
    ) -> Any:
        """Submit a call with options; `task_id` makes it one task however often it is submitted."""
        args, kwargs = tuple(args or ()), dict(kwargs or {})
        self.check_arguments(args, kwargs)
        check_time_limits({"time_limit": self.time_limit, "soft_time_limit": self.soft_time_limit, **options})
        if options.get("task_id"):
            options.setdefault("key", str(options["task_id"])[:LONGEST_NAME])
        return self.signature(args, kwargs).apply_async(**options)

    def apply(self, args: Iterable[Any] | None = None, kwargs: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """Run a call here and now, and return what happened as a result."""
        return self.signature(args or (), kwargs or {}).apply(**options)

    def signature(self, args: Iterable[Any] = (), kwargs: Mapping[str, Any] | None = None, **options: Any) -> Signature:
        """Return a call that is not submitted yet."""
        immutable = options.pop("immutable", False)
        return Signature(self, args, kwargs, options, immutable=immutable)

    subtask = signature

    def s(self, *args: Any, **kwargs: Any) -> Signature:
        """Return a call that takes the result of the task before it as its first argument."""
        return self.signature(args, kwargs)

    def si(self, *args: Any, **kwargs: Any) -> Signature:
        """Return a call that takes no result of the task before it."""
        return self.signature(args, kwargs, immutable=True)

    def map(self, items: Iterable[Any]) -> Any:
        """Return one task that calls this one for each item."""
        return signature("celery.map", kwargs={"task": self.s(), "it": list(items)}, immutable=True, app=self.bound_app)

    def starmap(self, items: Iterable[Any]) -> Any:
        """Return one task that calls this one for each item, which is a list of arguments."""
        given = {"task": self.s(), "it": [list(item) for item in items]}
        return signature("celery.starmap", kwargs=given, immutable=True, app=self.bound_app)

    def chunks(self, items: Iterable[Any], size: int) -> group:
        """Return a group of `starmap`s of so many items each."""
        known = list(items)
        return group(self.starmap(known[start : start + size]) for start in range(0, len(known), size))

    # -- steer, inside the task

    def retry(
        self,
        args: Any = None,
        kwargs: Any = None,
        exc: Any = None,
        throw: bool = True,
        eta: datetime | None = None,
        countdown: float | None = None,
        max_retries: int | None = None,
        **options: Any,
    ) -> Retry:
        """End this attempt and run the task again later; raise the error if it has been retried often enough."""
        request = self.request
        most = self.max_retries if max_retries is None else max_retries
        cause = exc or (sys.exc_info()[1] if request.called_directly or exc is None else None)
        if request.called_directly:
            raise cause or Retry("the task was called directly")
        if most is not None and request.retries >= most:
            raise cause or MaxRetriesExceededError(
                f"Can't retry {self.name}[{request.id}] args:{request.args} kwargs:{request.kwargs}",
                task_args=request.args,
                task_kwargs=request.kwargs,
            )
        wait = self.default_retry_delay if countdown is None else countdown
        if eta is not None:
            wait = max(((moment_of(eta) or eta) - datetime.now(UTC)).total_seconds(), 0.0)
        again = Retry(f"Retry in {wait}s: {cause!r}" if cause else f"Retry in {wait}s", exc=cause, when=wait)
        again.args_given, again.kwargs_given, again.options_given = args, kwargs, options
        if throw:
            raise again
        return again

    def replace(self, sig: Any) -> NoReturn:
        """End this task; what it is replaced with gives the result in its place."""
        sig = self.on_replace(signature(sig)) or signature(sig)
        if isinstance(sig, chain) and not sig.tasks:
            raise ImproperlyConfigured("Cannot replace with an empty chain")
        request = self.request
        copy = sig.clone()
        for errback in request.errbacks:
            copy.link_error(signature(errback))
        if request.is_eager:
            raise Replaced(copy)
        raise Replaced(self.submit_instead(copy, request))

    def on_replace(self, sig: Signature) -> Any:
        """Change what the task is replaced with; subclasses may define it."""
        return sig

    def submit_instead(self, sig: Signature, request: Request, **options: Any) -> Any:
        """Submit what stands for this task, once however often the attempt is repeated, and return the ids."""
        from drumline.compat.celery.submit import submit  # noqa: PLC0415 - which imports the canvas, which tasks need

        options["nesting"] = request.replaced_task_nesting + 1
        lineage = {"root_id": request.root_id, "parent_id": request.parent_id}
        key = f"celery-replace:{request.task_id}"
        sig = sig.clone() if isinstance(sig, Canvas) else sig
        try:
            result = submit(sig, {**options, "key": key}, lineage=lineage)
        except KeyReused:
            # A former attempt got as far as this with other arguments, and died before it was reported.
            context = current_or_none()
            attempt = 0 if context is None else context.attempt
            result = submit(sig, {**options, "key": f"{key}:{attempt}"}, lineage=lineage)
        return _ids_of(self.app, result)

    def add_to_chord(self, sig: Any, lazy: bool = False) -> NoReturn:
        """Refuse: the tasks of a job are known when it is submitted."""
        raise NotImplementedError("Drumline cannot add tasks to a chord that runs; replace the task with a group")

    def update_state(self, task_id: str | None = None, state: str | None = None, meta: Any = None, **_: Any) -> None:
        """Report progress: `current` and `total` of the meta, or the state as a message."""
        context = current_or_none()
        if context is None:
            return
        known = meta if isinstance(meta, Mapping) else {}
        done, total = known.get("current", known.get("done", 0)), known.get("total")
        message = str(known.get("status") or known.get("message") or state or "")
        context.progress(float(done), None if total is None else float(total), message)

    # -- hooks, for subclasses

    def before_start(self, task_id: str, args: Any, kwargs: Any) -> None:
        """Do something before each attempt."""

    def on_success(self, retval: Any, task_id: str, args: Any, kwargs: Any) -> None:
        """Do something after success."""

    def on_failure(self, exc: BaseException, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        """Do something after the task has failed for good."""

    def on_retry(self, exc: BaseException, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        """Do something when the task is about to be retried."""

    def after_return(self, status: str, retval: Any, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        """Do something after each attempt."""

    # -- for those who run it

    def invoke(self, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call it, and retry by itself where its class says so."""
        args, kwargs = self._validated(tuple(args), dict(kwargs)) if self.pydantic else (tuple(args), dict(kwargs))
        try:
            value = self(*args, **kwargs)
        except Exception as error:
            is_retried = isinstance(error, tuple(self.autoretry_for))
            if not is_retried or isinstance(error, (*_CONTROL, *self.dont_autoretry_for)):
                raise
            # `max_retries` of `retry_kwargs` wins over the task's.
            given = {"countdown": self._backoff(self.request.retries), **self.retry_kwargs}
            raise self.retry(exc=error, **given) from error
        return value.model_dump() if self.pydantic and hasattr(value, "model_dump") else value

    def check_arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Raise `TypeError` for a call that the function would refuse, unless the task says `typing=False`."""
        if self.typing:
            try:
                self.parameters.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{self.name}(): {error}") from None

    def prepare(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return arguments as they are written: models of Pydantic as dictionaries."""
        return args, dict(kwargs)

    @cached_property
    def parameters(self) -> inspect.Signature:
        """The parameters of `run`, without `self`."""
        return inspect.signature(self.run)

    @property
    def function(self) -> Callable[..., Any]:
        """The function behind it."""
        function: Callable[..., Any] = inspect.unwrap(getattr(self.run, "__func__", self.run))
        return function

    def _backoff(self, retries: int) -> float:
        if self.retry_backoff is False:
            return self.default_retry_delay
        first = 1.0 if self.retry_backoff is True else float(self.retry_backoff)
        longest = min(first * 2**retries, self.retry_backoff_max)
        return random.uniform(0, longest) if self.retry_jitter else longest  # noqa: S311 - no secret

    def _validated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return arguments with models of Pydantic made of dictionaries, as the annotations say."""
        hints = get_type_hints(self.function)
        bound = self.parameters.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            model: Any = hints.get(name)
            if hasattr(model, "model_validate") and isinstance(value, Mapping):
                bound.arguments[name] = model.model_validate(value)
        return bound.args, bound.kwargs

    def __repr__(self) -> str:
        return f"<@task: {self.name}>"

    def __reduce__(self) -> Any:
        return _task_by_name, (self.name,)


def task_from(function: Callable[..., Any], app: "Celery | None", name: str, **options: Any) -> Task:
    """Return a function as a task of a class of its own, below `base`."""
    base = options.pop("base", None) or Task
    is_bound = bool(options.pop("bind", False))
    run = function if is_bound else staticmethod(function)
    body = {
        **options, "run": run, "is_bound": is_bound, "name": name, "bound_app": app, "__doc__": function.__doc__,
        "__module__": function.__module__, "__qualname__": function.__qualname__,
    }  # fmt: skip
    kind: type[Task] = type(function.__name__, (base,), body)
    task = kind()
    task.__wrapped__ = function  # type: ignore[attr-defined]
    task.__name__ = function.__name__  # type: ignore[attr-defined]
    return task


def _task_by_name(name: str) -> Any:
    return current_app().tasks[name]


def _ids_of(app: "Celery", result: Any) -> Any:
    """Return the ids of a result as they are written: one, or a list."""
    results = getattr(result, "results", None)
    return app.known_id(result.id) if results is None else [_ids_of(app, each) for each in results]
