"""Puts a worker's executors together: an app's functions, and the built-in kinds that are enabled."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from msgspec import Struct

from drumline.core.mapping import MAP
from drumline.core.names import LONGEST_NAME
from drumline.outbound.guard import AddressGuard
from drumline.outbound.mail import MailServer
from drumline.outbound.sms import SmsGateway
from drumline.sdk.app_hooks import AppHooks
from drumline.sdk.definition import Mode, Registry, TaskDefinition
from drumline.worker.executors.batch import BatchFunction
from drumline.worker.executors.confinement import NO_WALLS, Confinement
from drumline.worker.executors.email import EmailExecutor
from drumline.worker.executors.executor import Executor
from drumline.worker.executors.function import AsyncFunction, ProcessFunction, ThreadFunction
from drumline.worker.executors.hooked import HookedExecutor
from drumline.worker.executors.http import HttpExecutor
from drumline.worker.executors.map import MapExecutor
from drumline.worker.executors.pdf import DEFAULT_PDF_LIMITS, PdfExecutor, PdfLimits, is_installed
from drumline.worker.executors.processes import Processes
from drumline.worker.executors.registry import Executors
from drumline.worker.executors.shell import ShellExecutor
from drumline.worker.executors.sms import SmsExecutor
from drumline.worker.executors.threads import Threads
from drumline.worker.options import WorkerOptions
from drumline.worker.watchdog import Watchdog

Lifespan = Callable[[], AbstractAsyncContextManager[Any]]


class App(Protocol):
    """What a worker needs of an app; `sdk.app.Drumline` is one."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def version(self) -> str | None:
        """The version of its code, if it says so."""
        ...

    @property
    def registry(self) -> Registry:
        """Its tasks."""
        ...

    @property
    def lifespan(self) -> Lifespan | None:
        """What it opens once per worker process and shows its tasks as `ctx.state`."""
        ...

    @property
    def hooks(self) -> AppHooks:
        """What runs around its executions."""
        ...


class BuiltIn(Struct, frozen=True, kw_only=True):
    """Which built-in kinds of task a worker runs."""

    shell: bool = False
    """Callers who may submit tasks may then run programs on the worker's machine."""
    walls: Confinement = NO_WALLS
    """Which programs those are, as whom they run and how much they get."""
    http: bool = True
    guard: AddressGuard | None = None
    """Where `http` tasks may go; without it, wherever the worker's machine reaches."""
    smtp: MailServer | None = None
    """Without it, the worker does not offer `send-email`."""
    sms: SmsGateway | None = None
    """Without it, the worker does not offer `send-sms`."""
    sms_guard: AddressGuard = AddressGuard(setting="sms.allow")
    """Where the gateway for text messages may be."""
    pdf: bool = True
    """Only with the extra `pdf`; without it, the worker does not offer `generate-pdf`."""
    pdf_limits: PdfLimits = DEFAULT_PDF_LIMITS
    """What one document may cost."""


class Pools:
    """Where functions of every app run: threads and child processes, so many at once."""

    def __init__(self, settings: WorkerOptions, watchdog: Watchdog) -> None:
        self.threads = Threads()
        self.processes = Processes(watchdog)
        self.thread_gate = asyncio.Semaphore(settings.threads)
        self.process_gate = asyncio.Semaphore(settings.processes)


class AppState:
    """What an app's lifespan yielded in this process; None while it is not open, or without one."""

    def __init__(self, lifespan: Lifespan) -> None:
        self._lifespan = lifespan
        self._value: Any = None

    def get(self) -> Any:
        """Return the state as it is now."""
        return self._value

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Keep the state for the time of the block."""
        async with self._lifespan() as value:
            self._value = value
            try:
                yield
            finally:
                self._value = None


def assemble(settings: WorkerOptions, apps: Iterable[App] = (), *, built_in: BuiltIn | None = None) -> Executors:
    """Return everything that a worker with these settings runs; an app's own task wins over a built-in name."""
    apps = tuple(apps)
    executors = Executors(app_version=version_of(apps, settings.app_version))
    watchdog = Watchdog()
    pools = Pools(settings, watchdog)
    for resource in (watchdog, pools.threads, pools.processes):
        executors.keep(resource)
    for app in apps:
        add_app(executors, pools, app)
    add_built_in(executors, watchdog, built_in or BuiltIn())
    add_map(executors)
    return executors


def version_of(apps: Iterable[App], default: str) -> str:
    """Return the names of apps with their versions as one line; `default` is the version of those that do not say it.

    Without any app it is `default` alone. It is cut to what a server takes of a worker.
    """
    versions = dict.fromkeys(f"{app.name} {version}" for app in apps if (version := app.version or default))
    return (", ".join(versions) or default)[:LONGEST_NAME]


def add_app(executors: Executors, pools: Pools, app: App) -> None:
    """Run an app's functions, each where its definition says."""
    get_state: Callable[[], Any] = _no_state
    if app.lifespan is not None:
        state = AppState(app.lifespan)
        executors.keep(state.opened())
        get_state = state.get
    around = tuple(app.hooks.around)

    def hooked(executor: Executor) -> Executor:
        return HookedExecutor(executor, around) if around else executor

    for definition in app.registry:
        add_function(executors, pools, definition, get_state, hooked)


def add_function(
    executors: Executors,
    pools: Pools,
    definition: TaskDefinition,
    get_state: Callable[[], Any],
    hooked: Callable[[Executor], Executor] = lambda executor: executor,
) -> None:
    """Run a function as a task, within the hooks of its app."""
    timeout = None if definition.defaults.timeout is None else definition.defaults.timeout.total_seconds()
    if definition.batch is not None:
        executors.add(hooked(BatchFunction(definition, definition.batch, pools.threads)), timeout=timeout)
        return
    match definition.mode:
        case Mode.ASYNC:
            executors.add(hooked(AsyncFunction(definition, get_state)), timeout=timeout)
        case Mode.THREAD:
            in_thread = hooked(ThreadFunction(definition, get_state, pools.threads))
            executors.add(in_thread, gate=pools.thread_gate, timeout=timeout)
        case Mode.PROCESS:
            in_process = hooked(ProcessFunction(definition, pools.processes))
            executors.add(in_process, gate=pools.process_gate, timeout=timeout)


def add_built_in(executors: Executors, watchdog: Watchdog, built_in: BuiltIn) -> None:
    """Run the built-in kinds that are enabled and whose names are free."""
    kinds: list[Executor] = []
    if built_in.shell:
        kinds.append(ShellExecutor(watchdog, built_in.walls))
    if built_in.http:
        http = HttpExecutor(built_in.guard)
        executors.keep(http)
        kinds.append(http)
    if built_in.smtp is not None:
        kinds.append(EmailExecutor(built_in.smtp))
    if built_in.sms is not None:
        sms = SmsExecutor(built_in.sms, built_in.sms_guard)
        executors.keep(sms)
        kinds.append(sms)
    if built_in.pdf and is_installed():
        kinds.append(PdfExecutor(watchdog, built_in.pdf_limits))
    for kind in kinds:
        if executors.get(kind.type.name) is None:
            executors.add(kind)


def add_map(executors: Executors) -> None:
    """Run `map`, unless an app has a task of that name; jobs count on it."""
    if executors.get(MAP) is None:
        executors.add(MapExecutor(), fills_secrets=False)


def _no_state() -> None:
    return None
