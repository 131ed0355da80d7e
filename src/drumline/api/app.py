"""Puts the API together from what is handed in."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from drumline.aio.events import StopEvent
from drumline.api.authentication import Authentication
from drumline.api.compression import Compression
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.log_quota import LogQuota
from drumline.api.middleware import Middleware, no_such_path
from drumline.api.operation import ApiContext, Info
from drumline.api.refusals import Refusals
from drumline.api.request_bytes import RequestBytes
from drumline.api.routes import OPEN_PATHS, OPERATIONS, Paths
from drumline.api.sign_in_with import paths_of
from drumline.api.site import WithSite
from drumline.api.ui import WithUi
from drumline.core.provider import Provider
from drumline.engine.engine import Engine
from drumline.engine.gateway import gateway_of

if TYPE_CHECKING:
    from drumline.outbound.issuer import Issuer


def create_app(
    engine: Engine,
    *,
    keys: ConfiguredKeys,
    info: Info,
    stop: StopEvent | None = None,
    leaving: asyncio.Event | None = None,
    write_metrics: Callable[[str], tuple[bytes, str]] | None = None,
) -> ASGIApp:
    """Return the API on an engine.

    `stop` ends long polls and followed logs when it is set; set it when the server begins to stop. Before that,
    `leaving` says that no more requests should be sent here.
    """
    providers = engine.access.sign_ins.policy.providers
    authentication = Authentication(keys, engine.access, clock=engine.clock)
    context = ApiContext(
        engine=engine,
        gateway=gateway_of(engine),
        info=info,
        limits=engine.limits,
        stop=stop or StopEvent(),
        authentication=authentication,
        log_quota=LogQuota(engine.limits.log_total, of_task=engine.limits.task_log),
        request_bytes=RequestBytes(
            info.http.request_bytes, metrics=engine.metrics, refusals=Refusals(engine.metrics, engine.clock)
        ),
        body_timeout=info.http.body_timeout,
        operations=OPERATIONS,
        leaving=leaving or asyncio.Event(),
        write_metrics=write_metrics,
        issuers=_issuers(providers, engine),
    )
    open_paths = OPEN_PATHS | {path for provider in providers for path in paths_of(provider)}
    front = Middleware(
        Paths(context, otherwise=no_such_path),
        authentication=authentication,
        open_paths=open_paths,
        metrics=engine.metrics,
    )
    return WithUi(WithSite(Compression(front)), environment=info.environment, colour=info.colour)


def _issuers(providers: tuple[Provider, ...], engine: Engine) -> "dict[str, Issuer]":
    if not providers:
        return {}
    from drumline.outbound.issuer import Issuer  # noqa: PLC0415 - few servers need what it needs

    return {provider.name: Issuer(provider, clock=engine.clock) for provider in providers}
