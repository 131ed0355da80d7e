"""The processes without an API: schedulers and workers, each as many times as one likes, on any machine.

They need none of the API's packages. What has an API is in `servers.py`.
"""

import asyncio
import gc
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import structlog

from drumline.core.errors import DrumlineError, Forbidden, Unauthorized, Unavailable
from drumline.core.metrics import Metrics
from drumline.engine.engine import Engine
from drumline.engine.gateway import gateway_of
from drumline.engine.options import SignInOptions
from drumline.lifecycle.apps import App, bind_apps, load_apps
from drumline.lifecycle.data_folder import make_data_folder, with_stored_key
from drumline.lifecycle.live import Live, RemoteRuntime, following, kept_live, show_config_state
from drumline.lifecycle.monitoring import traced, watched
from drumline.lifecycle.schedule_registration import register_schedules
from drumline.lifecycle.shard_services import following_shards, for_each_shard
from drumline.lifecycle.stages import Service, Stage, run_in_stages
from drumline.lifecycle.stop_signals import ending_by_signal, stopping_by_signal
from drumline.lifecycle.worker_setup import assemble_worker, built_in_kinds, follow_settings, worker_options
from drumline.ports.tracing import NO_TRACER, Tracer
from drumline.sdk.embedded import EngineTransport
from drumline.sdk.http import HttpTransport
from drumline.sdk.transport import LiveNames
from drumline.settings import Settings, Sources
from drumline.settings.secret_key import box_of
from drumline.shards.migrating import migrate_shards
from drumline.shards.shard_set import ShardSet
from drumline.wiring import DEFAULT_SIGN_IN, Opened, open_postgres, remote_gateway, wire
from drumline.worker.hidden_environment import protect_process
from drumline.worker.worker import Worker

STORE_SECONDS = 60.0
"""How long a process that starts waits for its database."""
LOOK_EVERY = 0.5
INTERRUPTED = 130
"""The exit status of a process that Ctrl-C has ended while it started."""
COLLECT_AFTER = 20_000
"""Objects made and not freed, after which cycles are looked for; Python's own number is 700, and 2,000 from 3.13 on."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


def run(process: Coroutine[Any, Any, None]) -> None:
    """Run a process to its end, on the fastest event loop there is."""
    protect_process()
    spare_collector()
    factory: Callable[[], asyncio.AbstractEventLoop]
    try:
        from uvloop import new_event_loop as factory  # noqa: PLC0415 - not installed everywhere
    except ImportError:
        factory = asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        loop = runner.get_loop()
        main = loop.create_task(process, name="process")
        with ending_by_signal(loop, main) as startup:
            try:
                run_to_end(loop, main)
            except asyncio.CancelledError:
                if startup.ended_by is None:
                    raise
    if startup.ended_by is signal.SIGINT:
        sys.exit(INTERRUPTED)


def run_to_end(loop: asyncio.AbstractEventLoop, main: "asyncio.Task[None]") -> None:
    """Run the loop until `main` has ended, whatever user code raises in tasks and callbacks of its own.

    asyncio passes SystemExit and KeyboardInterrupt on to the caller that runs the loop. Code that waits for such a task
    gets the error too, so that the attempt fails; the process has other attempts, and goes on.
    """
    while True:
        try:
            loop.run_until_complete(main)
        except (SystemExit, KeyboardInterrupt) as error:
            if main.done():
                raise
            log.exception("loop.interrupted", error=repr(error))
        else:
            return


def spare_collector() -> None:
    """Run the garbage collector less often: by default it runs all the time in a process with hundreds of tasks.

    What is loaded by now stays to the end, and need not be looked at again. Tasks make few cycles and small ones, so
    the garbage that gathers meanwhile is some megabytes; a program that makes much of it can set its own thresholds.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 10, 10)


async def run_scheduler(settings: Settings, sources: Sources | None = None) -> None:
    """Run the duties alone."""
    from drumline.lifecycle.duties import scheduler_services  # noqa: PLC0415 - workers need none of them

    async with opened(settings) as wired, following(wired.engine, settings, sources):
        with stopping_by_signal() as stopping:
            async with watched(wired.engine.metrics, settings, stopping, role="scheduler") as watch:
                await run_in_stages([Stage(scheduler_services(wired, settings)), Stage(watch.services)], stopping)


async def run_relay(settings: Settings, urls: Sequence[str], tenants: Sequence[str], *, once: bool = False) -> None:
    """Relay outboxes alone; `once` stores what waits now, and ends."""
    from drumline.lifecycle.duties import outbox_relays  # noqa: PLC0415
    from drumline.scheduler.duty import Rounds  # noqa: PLC0415

    async with opened(settings) as wired:
        relays = outbox_relays(wired.engine, urls, tenants, retention=settings.retention)
        if once:
            for relay in relays:
                await relay.pass_once()
            return
        services: dict[str, Service] = {relay.name: Rounds(relay, metrics=wired.engine.metrics).run for relay in relays}
        services["shards"] = following_shards(wired.shards)
        with stopping_by_signal() as stopping:
            await run_in_stages([Stage(services)], stopping)


async def run_worker(settings: Settings, targets: Sequence[str], sources: Sources | None = None) -> None:
    """Run a worker alone: through the API if the settings name a server, else on the engine's own backends."""
    apps = load_apps(targets)
    kinds = built_in_kinds(settings, is_embedded=False)
    if settings.url is not None:
        settings = with_stored_key(settings)
        transport = HttpTransport(str(settings.url), api_key=settings.api_key)
        await _check_key(transport, settings)
        bind_apps(apps, transport, settings)
        async with (
            traced(settings.trace, role="worker") as tracer,
            remote_gateway(settings) as gateway,
            kept_live(Live(settings, sources, RemoteRuntime(gateway))) as live,
        ):
            besides: dict[str, Service] = {"schedules": register_schedules(apps, transport)}
            worker = assemble_worker(gateway, apps, worker_options(live.settings), kinds, Metrics(), tracer)
            follow_settings(worker, live)
            live.tell(show_config_state(worker.metrics))
            await _run_until_stopped(worker, besides, settings)
        return
    async with (
        traced(settings.trace, role="worker") as tracer,
        opened(settings, tracer=tracer) as wired,
        following(wired.engine, settings, sources) as live,
    ):
        metrics = wired.engine.metrics
        worker = assemble_worker(gateway_of(wired.engine), apps, worker_options(live.settings), kinds, metrics, tracer)
        follow_settings(worker, live)
        own = EngineTransport(wired.engine, asyncio.get_running_loop())
        bind_apps(apps, own, settings)
        await _run_until_stopped(
            worker, {**hearing_services(wired.shards), "schedules": register_schedules(apps, own)}, settings
        )


async def _check_key(transport: HttpTransport, settings: Settings) -> None:
    """Raise at once if the key is wrong: that does not pass by waiting, as a server that is still starting does."""
    try:
        await transport.asend(LiveNames())
    except Unauthorized as error:
        raise Unauthorized(f"{settings.url} does not take this API key\nSet DRUMLINE_API_KEY.") from error
    except Forbidden:
        return  # a worker's own key may not look at other workers, but it is a key
    except DrumlineError as error:
        log.warning("server.awaited", error=error.message)


async def _run_until_stopped(worker: Worker, besides: dict[str, Service], settings: Settings) -> None:
    with stopping_by_signal() as stopping:
        serving = Stage({"worker": partial(worker.run, hurry=stopping.hurried)}, is_purpose=True)
        async with watched(worker.metrics, settings, stopping, role="worker") as watch:
            await run_in_stages([serving, Stage({**besides, **watch.services})], stopping)


async def run_embedded_worker(app: App, engine: Engine, stop: asyncio.Event) -> None:
    """Run a worker for one app on an engine that the caller has opened, until `stop` is set."""
    from drumline.lifecycle.duties import least_duties  # noqa: PLC0415
    from drumline.scheduler.duty import Rounds  # noqa: PLC0415

    settings = Settings()
    kinds = built_in_kinds(settings, is_embedded=True)
    worker = assemble_worker(gateway_of(engine), [app], worker_options(settings), kinds, engine.metrics)
    async with asyncio.TaskGroup() as group:
        for duty in least_duties(engine, settings):
            group.create_task(Rounds(duty).run(stop), name=duty.name)
        own = EngineTransport(engine, asyncio.get_running_loop())
        group.create_task(register_schedules([app], own)(stop), name="schedules")
        await worker.run(stop)


async def run_migrate(settings: Settings) -> None:
    """Bring the schema of the store, and of every other shard, to this version."""
    async with opened(settings) as wired:
        directory = wired.shards.directory.store
        await directory.migrate()
        box = await asyncio.to_thread(box_of, settings)
        await migrate_shards(directory, box, open_postgres)


@asynccontextmanager
async def opened(
    settings: Settings, *, tracer: Tracer = NO_TRACER, sign_in: SignInOptions = DEFAULT_SIGN_IN
) -> AsyncIterator[Opened]:
    """Give an engine, and close it at the end."""
    if settings.sqlite_path is not None:
        make_data_folder(settings.data)
    wired = await _wired(settings, tracer, sign_in)
    try:
        yield wired
    finally:
        await wired.engine.close()


async def _wired(settings: Settings, tracer: Tracer, sign_in: SignInOptions) -> Opened:
    """Wire; a database server that is unavailable at the moment is waited for, since it may be starting too."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + STORE_SECONDS
    is_told = False
    while True:
        try:
            return await wire(settings, tracer=tracer, sign_in=sign_in)
        except Unavailable as error:
            if settings.sqlite_path is not None or loop.time() >= deadline:
                raise
            if not is_told:
                log.warning("store.awaited", error=error.message, seconds=STORE_SECONDS)
                is_told = True
        await asyncio.sleep(LOOK_EVERY)


def hearing_services(shards: ShardSet) -> dict[str, Service]:
    """Return what keeps a process in touch with others: wake-ups of every shard, and changes of the map."""
    return {
        "listen": for_each_shard(shards, lambda shard: {"listen": hear(shard.engine)}),
        "shards": following_shards(shards),
    }


def hear(engine: Engine) -> Service:
    """Return the service that receives wake-ups from other processes."""

    async def service(stop: asyncio.Event) -> None:
        hearing = asyncio.create_task(engine.listen(), name="hear wake-ups")
        hearing.add_done_callback(_tell_if_failed)
        try:
            await stop.wait()
        finally:
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)

    return service


def _tell_if_failed(hearing: "asyncio.Task[None]") -> None:
    # Those who wait look by themselves each second: without wake-ups everything is slower, and nothing is lost.
    if not hearing.cancelled() and (error := hearing.exception()) is not None:
        log.error("wake_ups.lost", error=repr(error), exc_info=error)
