"""Registering the schedules and limits of the apps that a worker serves, when it starts."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final

import structlog
from msgspec.structs import replace

from drumline.core.app_schedules import Registered, RegisterRequest
from drumline.core.errors import DrumlineError, Forbidden, Overloaded, Unavailable
from drumline.core.log_fields import FACTS
from drumline.lifecycle.apps import App
from drumline.sdk.limits import SetLimit, limit_name
from drumline.sdk.schedules import RegisterSchedules
from drumline.sdk.transport import Transport

FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 30.0

Registering = Callable[[asyncio.Event], Coroutine[Any, Any, None]]
"""A service, which ends by itself."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()
_log = logging.getLogger("drumline.schedules")


def register_schedules(apps: Sequence[App], transport: Transport) -> Registering:
    """Return the service that registers the schedules of the apps, once; it retries until the server answers."""

    async def service(stop: asyncio.Event) -> None:
        # Limits first: what is about to be made may be under them.
        for limit in limits_of(apps):
            await _insist(stop, partial(_set_limit, transport, limit))
        for request in requests_of(apps):
            await _insist(stop, partial(_register, transport, request))

    return service


async def _insist(stop: asyncio.Event, act: Callable[[], Awaitable[bool]]) -> None:
    """Do something until it is settled, with longer and longer pauses."""
    pause = FIRST_PAUSE
    while not stop.is_set() and not await act():
        try:
            async with asyncio.timeout(pause):
                await stop.wait()
        except TimeoutError:
            pause = min(pause * 2, LONGEST_PAUSE)


def limits_of(apps: Sequence[App]) -> list[SetLimit]:
    """Return the limits that the apps declare."""
    return [
        SetLimit(limit_name(definition.name), replace(definition.defaults.limit, task=definition.name))
        for app in apps
        for definition in app.registry
        if definition.defaults.limit is not None
    ]


async def _set_limit(transport: Transport, limit: SetLimit) -> bool:
    """Set a limit, and tell whether that is settled, for better or worse."""
    try:
        await transport.asend(limit)
    except (Unavailable, Overloaded) as error:
        log.warning("limits.postponed", limit=limit.name, error=error.message)
        return False
    except DrumlineError as error:
        log.warning("limits.not_set", limit=limit.name, error=str(error))
    return True


def requests_of(apps: Sequence[App]) -> list[RegisterRequest]:
    """Return what is to be registered: one request for each name, since parts of an app may be loaded apart."""
    requests: dict[str, RegisterRequest] = {}
    for app in apps:
        new = app.schedules.request(app.name, (definition.module for definition in app.registry))
        known = requests.get(app.name, RegisterRequest(app=app.name, modules=()))
        requests[app.name] = RegisterRequest(
            app=app.name,
            modules=tuple(dict.fromkeys([*known.modules, *new.modules])),
            schedules=known.schedules + new.schedules,
        )
    return [request for request in requests.values() if request.modules]


async def _register(transport: Transport, request: RegisterRequest) -> bool:
    """Register, and tell whether that is settled, for better or worse."""
    try:
        _tell(request.app, await transport.asend(RegisterSchedules(request)))
    except (Unavailable, Overloaded) as error:
        log.warning("schedules.postponed", app=request.app, error=error.message)
        return False
    except DrumlineError as error:
        # A key that may not write schedules is a worker's own: that matters only to those who have some.
        if request.schedules or not isinstance(error, Forbidden):
            log.warning("schedules.not_registered", app=request.app, error=str(error))
    return True


def _tell(app: str, done: Registered) -> None:
    kept = {"created": done.created, "changed": done.changed, "resumed": done.resumed}
    if news := {word: list(names) for word, names in kept.items() if names}:
        # By the standard library: in a program of the user's, structlog is not set up and would print it.
        words = "; ".join(f"{word} {', '.join(names)}" for word, names in news.items())
        _log.info("schedules.registered: %s: %s", app, words, extra={FACTS: {"app": app, **news}})
    if done.paused:
        log.warning("schedules.paused", app=app, schedules=list(done.paused), reason="their code is gone")
    if done.refused:
        log.warning("schedules.refused", app=app, schedules=list(done.refused), reason="others have these names")
