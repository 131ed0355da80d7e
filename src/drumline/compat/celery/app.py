"""The app of Celery's interface: defines tasks, and submits them to Drumline."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, NoReturn, Self, overload

from drumline.compat.celery import signals
from drumline.compat.celery.beat import BeatSchedules
from drumline.compat.celery.canvas import Signature, signature
from drumline.compat.celery.conf import Settings
from drumline.compat.celery.exceptions import NotRegistered
from drumline.compat.celery.options import allowed_retries
from drumline.compat.celery.result import AsyncResult, GroupResult
from drumline.compat.celery.state import apps, current_app, make_current
from drumline.compat.celery.task import Task, task_from
from drumline.compat.celery.worker import function_of
from drumline.core.flow import LimitRequest
from drumline.sdk.app import Drumline
from drumline.sdk.definition import Defaults, define, module_of

MOST_REMEMBERED: Final = 10_000
"""Ids that a client gave to tasks, which are known in its own process only."""
_SHARED: Final[list[Task]] = []


class TaskTable(dict[str, Task]):
    """The tasks of an app by name."""

    def __missing__(self, name: str) -> Task:
        raise NotRegistered(name)


class Celery:
    """An app with Celery's interface. `drumline worker MODULE` serves it.

    Where tasks go is found as for `Drumline`: DRUMLINE_URL and so on, or `drumline_url`, `drumline_api_key` and
    `drumline_data` in the configuration. A broker and a result backend may be named, and are not used.
    """

    def __init__(
        self,
        main: str | None = None,
        *,
        broker: str | None = None,
        backend: str | None = None,
        include: Iterable[str] = (),
        config_source: Any = None,
        set_as_current: bool = True,
        task_cls: Any = None,
        **conf: Any,
    ) -> None:
        self.main = main
        self.conf = Settings(**{"broker_url": broker, "result_backend": backend, "include": tuple(include), **conf})
        self.Task = task_cls or Task
        self.tasks = TaskTable()
        self.on_configure = signals.Signal("on_configure")
        self.on_after_configure = signals.Signal("on_after_configure")
        self.on_after_finalize = signals.Signal("on_after_finalize")
        self._ids: OrderedDict[str, str] = OrderedDict()
        self._is_finalized = False
        self._discovering: list[tuple[Any, str | None]] = []
        if config_source is not None:
            self.config_from_object(config_source)
        make_current(self)
        if not set_as_current and len(apps()) > 1:
            make_current(apps()[-2])
        for task in (*_SHARED, *built_in_tasks(self)):
            self.register_task(task)

    # -- define

    @overload
    def task(self, function: Callable[..., Any], /) -> Task: ...
    @overload
    def task(self, **options: Any) -> Callable[[Callable[..., Any]], Task]: ...
    def task(self, *args: Any, **options: Any) -> Any:
        """Define a function as a task: `@app.task`, or `@app.task(bind=True, …)`."""
        if args and callable(args[0]) and not options:
            return self._defined(args[0], {})
        return lambda function: self._defined(function, options)

    def _defined(self, function: Callable[..., Any], options: Mapping[str, Any]) -> Task:
        given = dict(options)
        name = given.pop("name", None) or self.gen_task_name(function.__name__, module_of(function))
        given.setdefault("base", self.Task)
        task = task_from(function, self, name, **given)
        self.register_task(task)
        return task

    def register_task(self, task: Any, **_: Any) -> Any:
        """Take a task, or a class of one, into the app."""
        task = task() if isinstance(task, type) else task
        self.tasks[task.name] = task
        if "drumline" in self.__dict__:
            self._define(task)
        return task

    def gen_task_name(self, name: str, module: str) -> str:
        """Return the name of a task that has none."""
        return f"{module}.{name}"

    def autodiscover_tasks(self, packages: Any = None, related_name: str | None = "tasks", force: bool = False) -> None:
        """Import the `tasks` modules of packages, or of Django's installed apps, when a worker starts."""
        self._discovering.append((packages, related_name))
        if force or self._is_finalized:
            self._discover()

    def finalize(self, auto: bool = False) -> None:
        """Import what the configuration names, and let those who wait for it add their tasks and schedules."""
        if self._is_finalized:
            return
        self._is_finalized = True
        for module in (*self.conf.imports, *self.conf.include):
            import_module(module)
        self._discover()
        self.on_configure.send(sender=self)
        self.on_after_configure.send(sender=self)
        self.on_after_finalize.send(sender=self)

    def config_from_object(
        self, source: Any, silent: bool = False, force: bool = False, namespace: str | None = None
    ) -> None:
        """Take the settings of a module or an object; with `namespace="CELERY"` those that begin with it."""
        self.conf.take(source, namespace=namespace)

    def add_periodic_task(
        self, schedule: Any, sig: Any, args: Any = (), kwargs: Any = None, name: str | None = None, **options: Any
    ) -> str:
        """Add an entry to the beat schedule."""
        known = signature(sig)
        entry = {
            "task": known.task, "schedule": schedule, "args": tuple(args) or known.args,
            "kwargs": kwargs or known.kwargs, "options": {**known.options, **options},
        }  # fmt: skip
        key = name or repr(known)
        self.conf.beat_schedule[key] = entry
        return key

    # -- submit

    def send_task(self, name: str, args: Any = None, kwargs: Any = None, **options: Any) -> AsyncResult:
        """Submit a task by name, whose function may live elsewhere."""
        result: AsyncResult = signature(name, args, kwargs, app=self).apply_async(**options)
        return result

    def signature(self, *args: Any, **options: Any) -> Signature:
        """Return a call of a task that is not submitted yet."""
        found: Signature = signature(*args, **{**options, "app": self})
        return found

    def AsyncResult(self, id: str, **options: Any) -> AsyncResult:  # noqa: N802 - Celery's name
        """Return the result of a task that was submitted earlier."""
        return AsyncResult(id, app=self, **options)

    def GroupResult(self, id: str | None = None, results: Iterable[Any] = (), **options: Any) -> GroupResult:  # noqa: N802
        """Return results as those of a group."""
        return GroupResult(id, results, app=self, **options)

    @cached_property
    def control(self) -> "Control":
        """What cancels tasks by id."""
        return Control(self)

    # -- Drumline

    @cached_property
    def drumline(self) -> Drumline[Any]:
        """The app of the SDK that this one is built on."""
        conf = self.conf
        drumline: Drumline[Any] = Drumline(
            self.main or "celery", url=conf.drumline_url, api_key=conf.drumline_api_key, data=conf.drumline_data,
            lifespan=self._lifespan,
        )  # fmt: skip
        self.__dict__["drumline"] = drumline
        drumline.__dict__["schedules"] = BeatSchedules(self)
        for task in tuple(self.tasks.values()):
            self._define(task)
        return drumline

    @property
    def __drumline_app__(self) -> Drumline[Any]:
        """What a worker serves: the app with all its modules imported."""
        self.finalize()
        return self.drumline

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run a worker for this app in this process inside the block: for scripts and tests."""
        self.finalize()
        with self.drumline.running():
            yield

    def remember(self, id: str, task_id: str) -> None:
        """Note the id in Drumline of a task that the client gave another."""
        if id == task_id:
            return
        self._ids[id] = task_id
        self._ids.move_to_end(id)
        while len(self._ids) > MOST_REMEMBERED:
            self._ids.popitem(last=False)

    def known_id(self, id: str) -> str:
        """Return the id in Drumline."""
        return self._ids.get(id, id)

    def _define(self, task: Task) -> None:
        limit = None if task.rate_limit is None else LimitRequest(rate=task.rate_limit)
        defaults = Defaults(retries=allowed_retries(task), retry_on=(), limit=limit)
        self.drumline.registry.add(define(function_of(self, task), name=task.name, defaults=defaults))

    @asynccontextmanager
    async def _lifespan(self) -> AsyncIterator[None]:
        for signal in (signals.worker_init, signals.worker_process_init, signals.worker_ready):
            signal.send(sender=self)
        try:
            yield
        finally:
            for signal in (signals.worker_process_shutdown, signals.worker_shutdown):
                signal.send(sender=self)

    def _discover(self) -> None:
        waiting, self._discovering = self._discovering, []
        for packages, name in waiting:
            found = _installed_apps() if packages is None else packages() if callable(packages) else packages
            for package in found:
                module = f"{package}.{name}" if name else package
                if find_spec(package) is not None and find_spec(module) is not None:
                    import_module(module)

    # -- current

    def set_current(self) -> None:
        """Make it the current app."""
        make_current(self)

    set_default = set_current

    def close(self) -> None:
        """Let go of connections."""
        if "drumline" in self.__dict__:
            self.drumline.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Celery {self.main or '__main__'} on Drumline>"


class Control:
    """Cancels tasks by id."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def revoke(self, task_id: str | Iterable[str], terminate: bool = False, **_: Any) -> None:
        """Cancel tasks that wait; with `terminate` stop those that run."""
        for each in [task_id] if isinstance(task_id, str) else task_id:
            AsyncResult(each, app=self._app).revoke(terminate=terminate)

    def terminate(self, task_id: str | Iterable[str], **_: Any) -> None:
        """Stop tasks."""
        self.revoke(task_id, terminate=True)

    def inspect(self, *_: Any, **__: Any) -> NoReturn:
        """Raise: workers are not asked one by one."""
        raise NotImplementedError(
            "control.inspect has no counterpart: use `drumline workers list`, the web interface or the HTTP API"
        )

    def broadcast(self, *_: Any, **__: Any) -> NoReturn:
        """Raise: workers take no commands."""
        raise NotImplementedError("workers take no commands: use the settings, or `drumline workers drain`")

    def purge(self, *_: Any, **__: Any) -> NoReturn:
        """Raise: tasks are cancelled, and stay visible."""
        raise NotImplementedError("control.purge has no counterpart: cancel tasks with `drumline queues purge QUEUE`")


@overload
def shared_task(function: Callable[..., Any], /) -> Task: ...
@overload
def shared_task(**options: Any) -> Callable[[Callable[..., Any]], Task]: ...
def shared_task(*args: Any, **options: Any) -> Any:
    """Define a function as a task of every app of the program."""

    def shared(function: Callable[..., Any]) -> Task:
        given = dict(options)
        name = given.pop("name", None) or f"{module_of(function)}.{function.__name__}"
        task = task_from(function, None, name, **given)
        _SHARED[:] = [known for known in _SHARED if known.name != name]
        _SHARED.append(task)
        for app in apps():
            app.register_task(task)
        return task

    return shared(args[0]) if args and callable(args[0]) and not options else shared


def built_in_tasks(app: Celery) -> list[Task]:
    """Return the tasks behind `map` and `starmap`."""

    def xmap(task: Any, it: list[Any]) -> list[Any]:
        call = app.tasks[signature(task).task]
        return [call(item) for item in it]

    def xstarmap(task: Any, it: list[Any]) -> list[Any]:
        call = app.tasks[signature(task).task]
        return [call(*item) for item in it]

    return [task_from(xmap, app, "celery.map"), task_from(xstarmap, app, "celery.starmap")]


def _installed_apps() -> list[str]:
    """Return the packages of Django's apps, if Django is there and configured."""
    try:
        registry = import_module("django.apps").apps
    except ModuleNotFoundError:
        return []
    return [config.name for config in registry.get_app_configs()]


__all__ = ["Celery", "Control", "current_app", "shared_task"]
