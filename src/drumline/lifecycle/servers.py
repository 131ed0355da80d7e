"""The processes with an API: everything in one (`dev`), or the API alone.

Whatever stops, stops in order: the worker first, while the engine still takes its reports; then the duties; then the
API, which answers to the last.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import NamedTuple

import structlog
from msgspec.structs import replace

from drumline._version import __version__
from drumline.aio.events import StopEvent
from drumline.api.addresses import Addresses
from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.api.server import Listener, Server
from drumline.core.api_key import check_first_key, is_strong
from drumline.engine.engine import Engine
from drumline.engine.gateway import gateway_of
from drumline.engine.options import SignInOptions
from drumline.lifecycle.addresses import url_of
from drumline.lifecycle.apps import bind_apps, load_apps
from drumline.lifecycle.banner import Ready, banner
from drumline.lifecycle.data_folder import announced, first_key, make_data_folder
from drumline.lifecycle.duties import scheduler_services
from drumline.lifecycle.listen import listening, open_server
from drumline.lifecycle.live import following
from drumline.lifecycle.monitoring import lingering, traced, watched
from drumline.lifecycle.notifier_process import notifier_services
from drumline.lifecycle.processes import hearing_services, opened
from drumline.lifecycle.schedule_registration import register_schedules
from drumline.lifecycle.shard_services import for_each_shard
from drumline.lifecycle.stages import Service, Stage, run_in_stages
from drumline.lifecycle.stop_signals import stopping_by_signal
from drumline.lifecycle.worker_setup import assemble_worker, built_in_kinds, follow_settings, worker_options
from drumline.observe.exposition import Exposition
from drumline.sdk.embedded import EngineTransport
from drumline.settings import Settings, Sources
from drumline.settings.convert import http_limits_of, sign_in_policy_of, sign_in_secret_of
from drumline.settings.fields import KEY_FILE
from drumline.worker.worker import Worker

log: structlog.stdlib.BoundLogger = structlog.get_logger()

Say = Callable[[str], None]
"""Tells a person something."""
Besides = Callable[[str, str], dict[str, Service]]
"""What else to run in the process, made from the server's address and its key."""


async def run_dev(
    settings: Settings,
    targets: Sequence[str],
    *,
    say: Say,
    besides: Besides = lambda _url, _key: {},
    sources: Sources | None = None,
) -> None:
    """Run API, scheduler duties, a notifier and a worker in this process; what is besides them stops first."""
    apps = load_apps(targets)
    make_data_folder(settings.data)
    key = _server_key(settings)
    async with (
        traced(settings.trace, role="dev") as tracer,
        opened(settings, tracer=tracer, sign_in=_sign_in(settings, key)) as wired,
        AsyncExitStack() as around,
    ):
        engine = wired.engine
        await engine.store.migrate()
        await engine.submissions.prepare()
        live = await around.enter_async_context(following(engine, settings, sources))
        stop_api = StopEvent()
        is_embedded = settings.sqlite_path is not None
        kinds = built_in_kinds(settings, is_embedded=is_embedded)
        worker = assemble_worker(gateway_of(engine), apps, worker_options(live.settings), kinds, engine.metrics, tracer)
        follow_settings(worker, live)
        own = EngineTransport(engine, asyncio.get_running_loop())
        bind_apps(apps, own, settings)
        async with AsyncExitStack() as stack:
            stopping = stack.enter_context(stopping_by_signal())
            watch = await stack.enter_async_context(watched(engine.metrics, settings, stopping, role="dev"))
            server = _api_server(engine, settings, key, ApiSignals(stop_api, stopping.asked, watch.exposition))
            is_found = stack.enter_context(announced(settings.data, url_of(settings.host, server.port)))
            more = besides(url_of(settings.host, server.port), key)
            ready = _ready(settings, worker.names, is_found=is_found, is_demo=bool(more))
            stages = (
                *([Stage(more, is_purpose=True)] if more else []),
                Stage(
                    {
                        "worker": partial(_work, worker, hurry=stopping.hurried),
                        "schedules": register_schedules(apps, own),
                    }
                ),
                Stage(
                    {
                        "notifier": for_each_shard(
                            wired.shards,
                            lambda shard: notifier_services(shard.engine, settings, is_embedded=is_embedded),
                        )
                    }
                ),
                Stage({**scheduler_services(wired, settings), **hearing_services(wired.shards)}),
                Stage({"linger": lingering(settings, stopping)}),
                Stage({"api": server.run, "ready": _tell(settings, server, ready, say)}, stop_api),
                Stage(watch.services),
            )
            await run_in_stages(stages, stopping)


async def run_api(settings: Settings, *, say: Say, sources: Sources | None = None) -> None:
    """Run the API alone."""
    key = _server_key(settings)
    async with (
        traced(settings.trace, role="api") as tracer,
        opened(settings, tracer=tracer, sign_in=_sign_in(settings, key)) as wired,
        following(wired.engine, settings, sources),
    ):
        engine = wired.engine
        await engine.submissions.prepare()
        stop_api = StopEvent()
        async with AsyncExitStack() as stack:
            stopping = stack.enter_context(stopping_by_signal())
            watch = await stack.enter_async_context(watched(engine.metrics, settings, stopping, role="api"))
            server = _api_server(engine, settings, key, ApiSignals(stop_api, stopping.asked, watch.exposition))
            if settings.sqlite_path is not None:
                stack.enter_context(announced(settings.data, url_of(settings.host, server.port)))
            say(f"Drumline API {__version__} on {url_of(settings.host, server.port)}")
            stages = (
                Stage({"linger": lingering(settings, stopping)}),
                Stage(hearing_services(wired.shards)),
                Stage({"api": server.run}, stop_api),
                Stage(watch.services),
            )
            await run_in_stages(stages, stopping)


def _server_key(settings: Settings) -> str:
    if settings.api_key is not None:
        key = check_first_key(settings.api_key)
        if not is_strong(key):
            log.warning("first_key.weak", help="it is short: take the output of `openssl rand -hex 32`")
        return key
    make_data_folder(settings.data)
    return check_first_key(first_key(settings.data, settings.access.environment))  # an operator may have written it


def _sign_in(settings: Settings, key: str) -> SignInOptions:
    return SignInOptions(sign_in_policy_of(settings), sign_in_secret_of(settings, key))


class ApiSignals(NamedTuple):
    """When the API stops, when it reports that it will stop, and the metrics that it shows."""

    stop: StopEvent
    leaving: asyncio.Event
    exposition: Exposition | None


def _api_server(engine: Engine, settings: Settings, key: str, signals: ApiSignals) -> Server:
    http = http_limits_of(settings.http)
    ui = settings.ui
    info = Info(version=__version__, disk=str(settings.data), http=http, environment=ui.environment, colour=ui.colour)
    write = None if signals.exposition is None else signals.exposition.write
    app = create_app(
        engine, keys=ConfiguredKeys([key]), info=info, stop=signals.stop, leaving=signals.leaving, write_metrics=write
    )
    listener = Listener(http, engine.metrics, Addresses(engine.access.policy.proxies))
    return open_server(app, settings.host, settings.port, listener)


def _ready(settings: Settings, names: tuple[str, ...], *, is_found: bool, is_demo: bool) -> Ready:
    return Ready(
        url="",
        key=None if settings.api_key else first_key(settings.data),
        key_file=settings.data / KEY_FILE,
        store=str(settings.sqlite_path or "PostgreSQL"),
        names=names,
        is_found=is_found,
        is_demo=is_demo,
    )


async def _work(worker: Worker, stop: asyncio.Event, hurry: asyncio.Event) -> None:
    """Run the worker; if it was drained, the rest of the process goes on without it, which is logged."""
    await worker.run(stop, hurry)
    if not stop.is_set():
        log.warning(
            "worker.drained",
            help="this process runs no more tasks: start it again, or a worker of its own with `drumline worker`",
        )


def _tell(settings: Settings, server: Server, ready: Ready, say: Say) -> Service:
    """Say that everything is ready, once it is."""

    async def service(_stop: asyncio.Event) -> None:
        await listening(settings.host, server.port)
        say(banner(replace(ready, url=url_of(settings.host, server.port))))

    return service
