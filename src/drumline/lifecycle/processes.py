"""The processes: everything in one (`dev`), or API, scheduler and workers apart, each as many times as one likes.

Whatever stops, stops in order: the worker first, while the engine still takes its reports; then the duties; then the
API, which answers to the last.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import Any

from drumline._version import __version__
from drumline.api.app import create_app
from drumline.api.keys import KeyRing
from drumline.api.operation import Info
from drumline.api.server import Server
from drumline.core.clock import SystemClock
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.lifecycle.addresses import url_of
from drumline.lifecycle.apps import App, load_apps
from drumline.lifecycle.banner import Ready, banner
from drumline.lifecycle.data_folder import announced, first_key, make_data_folder, with_stored_key
from drumline.lifecycle.serving import listening, open_server
from drumline.lifecycle.stages import Service, Stage, run_in_stages
from drumline.lifecycle.stopping import stopping_by_signal
from drumline.lifecycle.working import Crew, built_in_kinds, worker_settings
from drumline.scheduler.duty import Duty, Rounds
from drumline.scheduler.prune import Pruner
from drumline.scheduler.reap import Reaper
from drumline.settings import Settings
from drumline.settings.fields import KEY_FILE
from drumline.wiring import Wired, remote_gateway, wire

Say = Callable[[str], None]
"""Tells a person something."""


def run(process: Coroutine[Any, Any, None]) -> None:
    """Run a process to its end, on the fastest event loop there is."""
    factory: Callable[[], asyncio.AbstractEventLoop]
    try:
        from uvloop import new_event_loop as factory  # noqa: PLC0415 - not to be had everywhere
    except ImportError:
        factory = asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(process)


async def run_dev(settings: Settings, targets: Sequence[str], *, say: Say) -> None:
    """Run API, scheduler duties and a worker in this process."""
    apps = load_apps(targets)
    make_data_folder(settings.data)
    key = _server_key(settings)
    async with _opened(settings) as wired:
        engine = wired.engine
        await engine.store.migrate()
        stop_api = asyncio.Event()
        server = _api_server(engine, settings, key, stop_api)
        kinds = built_in_kinds(settings, is_embedded=settings.sqlite_path is not None)
        crew = Crew(LocalGateway(engine), apps, worker_settings(settings), kinds)
        with stopping_by_signal() as stopping, ExitStack() as stack:
            is_found = stack.enter_context(announced(settings.data, url_of(settings.host, server.port)))
            stages = (
                Stage({"worker": partial(crew.run, hurry=stopping.hurried)}),
                Stage(_duties(wired, settings)),
                Stage(
                    {"api": server.run, "ready": _tell(settings, server, crew.names, say, is_found=is_found)}, stop_api
                ),
            )
            await run_in_stages(stages, stopping)


async def run_api(settings: Settings, *, say: Say) -> None:
    """Run the API alone."""
    key = _server_key(settings)
    async with _opened(settings) as wired:
        engine = wired.engine
        stop_api = asyncio.Event()
        server = _api_server(engine, settings, key, stop_api)
        with stopping_by_signal() as stopping, ExitStack() as stack:
            if settings.sqlite_path is not None:
                stack.enter_context(announced(settings.data, url_of(settings.host, server.port)))
            say(f"Drumline API {__version__} on {url_of(settings.host, server.port)}")
            await run_in_stages([Stage({"listen": _listen(engine)}), Stage({"api": server.run}, stop_api)], stopping)


async def run_scheduler(settings: Settings) -> None:
    """Run the duties alone."""
    async with _opened(settings) as wired:
        with stopping_by_signal() as stopping:
            await run_in_stages([Stage(_duties(wired, settings))], stopping)


async def run_worker(settings: Settings, targets: Sequence[str]) -> None:
    """Run a worker alone: through the API if the settings name a server, else on the engine's own backends."""
    apps = load_apps(targets)
    kinds = built_in_kinds(settings, is_embedded=False)
    if settings.url is not None:
        async with remote_gateway(with_stored_key(settings)) as gateway:
            await _run_crew(Crew(gateway, apps, worker_settings(settings), kinds), {})
        return
    async with _opened(settings) as wired:
        crew = Crew(LocalGateway(wired.engine), apps, worker_settings(settings), kinds)
        await _run_crew(crew, {"listen": _listen(wired.engine)})


async def _run_crew(crew: Crew, besides: dict[str, Service]) -> None:
    with stopping_by_signal() as stopping:
        serving = Stage({"worker": partial(crew.run, hurry=stopping.hurried)}, is_purpose=True)
        await run_in_stages([serving, *([Stage(besides)] if besides else [])], stopping)


async def run_embedded_worker(app: App, engine: Engine, stop: asyncio.Event) -> None:
    """Run a worker for one app on an engine that somebody else opened, until `stop` is set."""
    settings = Settings()
    kinds = built_in_kinds(settings, is_embedded=True)
    crew = Crew(LocalGateway(engine), [app], worker_settings(settings), kinds)
    reaper = Reaper(engine, clock=SystemClock(), poison_after=settings.poison_after)
    async with asyncio.TaskGroup() as group:
        group.create_task(Rounds(reaper).run(stop), name="reap")
        await crew.run(stop)


async def run_migrate(settings: Settings) -> None:
    """Bring the store's schema to this version."""
    async with _opened(settings) as wired:
        await wired.engine.store.migrate()


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Wired]:
    if settings.sqlite_path is not None:
        make_data_folder(settings.data)
    wired = await wire(settings)
    try:
        yield wired
    finally:
        await wired.engine.close()


def _server_key(settings: Settings) -> str:
    if settings.api_key is not None:
        return settings.api_key
    make_data_folder(settings.data)
    return first_key(settings.data)


def _api_server(engine: Engine, settings: Settings, key: str, stop: asyncio.Event) -> Server:
    info = Info(version=__version__, disk=str(settings.data))
    return open_server(create_app(engine, keys=KeyRing([key]), info=info, stop=stop), settings.host, settings.port)


def _duties(wired: Wired, settings: Settings) -> dict[str, Service]:
    engine = wired.engine
    duties: list[Duty] = [
        Reaper(engine, clock=SystemClock(), poison_after=settings.poison_after),
        Pruner(engine.store, retention=settings.retention),
    ]
    if wired.sweeper is not None:
        duties.append(wired.sweeper)
    return {duty.name: Rounds(duty).run for duty in duties} | {"listen": _listen(engine)}


def _listen(engine: Engine) -> Service:
    """Take wake-ups from other processes until told to stop."""

    async def service(stop: asyncio.Event) -> None:
        hearing = asyncio.create_task(engine.listen(), name="hear wake-ups")
        try:
            await stop.wait()
        finally:
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)

    return service


def _tell(settings: Settings, server: Server, names: tuple[str, ...], say: Say, *, is_found: bool) -> Service:
    """Say that everything is ready, once it is."""

    async def service(_stop: asyncio.Event) -> None:
        await listening(settings.host, server.port)
        key_file = settings.data / KEY_FILE
        ready = Ready(
            url=url_of(settings.host, server.port),
            key=None if settings.api_key else first_key(settings.data),
            key_file=key_file,
            store=str(settings.sqlite_path or "PostgreSQL"),
            names=names,
            is_found=is_found,
        )
        say(banner(ready))

    return service
