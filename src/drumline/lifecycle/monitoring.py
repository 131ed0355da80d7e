"""Monitoring of a process: metrics and health at its monitor port, traces, and the lag of its event loop."""

import asyncio
import errno
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import structlog

from drumline.core.errors import Invalid
from drumline.core.metrics import Metrics
from drumline.lifecycle.stages import Service
from drumline.lifecycle.stop_signals import Stopping
from drumline.observe.loop import watch_loop
from drumline.ports.tracing import NO_TRACER, Tracer
from drumline.settings import Settings
from drumline.settings.fields import MonitorSettings, TraceSettings

if TYPE_CHECKING:
    from drumline.observe.exposition import Exposition

LONGEST_LINE = 8192
_WITH_API = frozenset({"api", "dev"})
"""Roles of processes that show their metrics at /metrics of the API."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class WatchedProcess(NamedTuple):
    """A process that is watched: the services for it, and its metrics where they are shown and can be."""

    services: Mapping[str, Service]
    exposition: "Exposition | None"


@asynccontextmanager
async def watched(
    metrics: Metrics, settings: Settings, stopping: Stopping, *, role: str
) -> AsyncIterator[WatchedProcess]:
    """Monitor a process; its monitor port, if it has one, is open inside the block."""
    is_shown = role in _WITH_API or settings.monitor.port is not None
    exposition = exposition_of(metrics, role=role) if is_shown else None
    watch = WatchedProcess({"watch the event loop": partial(watch_loop, metrics)}, exposition)
    async with _monitored(watch, metrics, settings, stopping):
        yield watch


@asynccontextmanager
async def _monitored(
    watch: WatchedProcess, metrics: Metrics, settings: Settings, stopping: Stopping
) -> AsyncIterator[None]:
    exposition = watch.exposition
    if settings.monitor.port is None:
        yield
        return
    if exposition is None:
        raise Invalid("metrics need prometheus-client: pip install 'drumline[worker]'", field="monitor.port")
    from drumline.observe.monitor import Monitor  # noqa: PLC0415 - only where there is a port

    monitor = Monitor(exposition, metrics.liveness, is_ready=lambda: not stopping.asked.is_set())
    async with await _listening(monitor.serve, settings.monitor) as server:
        log.info("monitor.listening", host=settings.monitor.host, port=server.sockets[0].getsockname()[1])
        yield


@asynccontextmanager
async def traced(settings: TraceSettings, *, role: str) -> AsyncIterator[Tracer]:
    """Give a tracer, and flush its spans at the end; one that does nothing if no endpoint is set."""
    if settings.endpoint is None:
        yield NO_TRACER
        return
    try:
        from drumline.observe.tracing import OpenTracer  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("opentelemetry"):
            raise
        raise Invalid("traces need OpenTelemetry: pip install 'drumline[traces]'", field="trace.endpoint") from error
    tracer = OpenTracer(settings.endpoint, role=role, headers=settings.headers, sample=settings.sample)
    try:
        yield tracer
    finally:
        await asyncio.to_thread(tracer.close)


def exposition_of(metrics: Metrics, *, role: str) -> "Exposition | None":
    """Return the metrics exposition; None if its package is not installed."""
    try:
        from drumline.observe.exposition import Exposition  # noqa: PLC0415 - not installed everywhere
    except ModuleNotFoundError as error:
        if error.name != "prometheus_client":
            raise
        return None
    return Exposition(metrics, role=role)


def lingering(settings: Settings, stopping: Stopping) -> Service:
    """Return the service that delays the stop, so that load balancers notice and send no more requests."""

    async def service(stop: asyncio.Event) -> None:
        await stop.wait()
        try:
            async with asyncio.timeout(settings.drain_delay.total_seconds()):
                await stopping.hurried.wait()
        except TimeoutError:
            return

    return service


async def _listening(serve: "asyncio.streams._ClientConnectedCallback", monitor: MonitorSettings) -> asyncio.Server:
    try:
        return await asyncio.start_server(serve, monitor.host, monitor.port, limit=LONGEST_LINE)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            taken = (
                f"port {monitor.port} of {monitor.host} is taken by another program; each process needs one of its own"
            )
            raise Invalid(taken, field="monitor.port") from error
        raise Invalid(f"cannot listen on {monitor.host}: {error.strerror or error}", field="monitor.host") from error
