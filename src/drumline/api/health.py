"""Whether the server lives, is ready, and what its parts say."""

import asyncio
import shutil
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Literal

import structlog
from msgspec import UNSET, Struct, UnsetType

from drumline.api.metrics import may_see
from drumline.api.operation import ApiCall, Info, NoQuery, Operation, Reply, Tag
from drumline.core.codec import encode
from drumline.core.errors import DrumlineError, Unavailable
from drumline.engine.configuration import ConfigState
from drumline.ports.bus import CONSUMER
from drumline.ports.shards import ShardOperations
from drumline.ports.store import Store

log: structlog.stdlib.BoundLogger = structlog.get_logger()

PATIENCE = 3.0
"""Seconds after which a part that does not answer counts as down."""

LATE_SECONDS = 30.0
"""How long events may wait to be sent to Kafka before it counts as away."""

SPARED = frozenset({"shards", "redis", "kafka", "workers", "config"})
"""Parts without which tasks are accepted still."""

Word = Literal["UP", "DOWN"]


class Component(Struct, frozen=True):
    """One part of the system. Details are for keys of the whole installation that may read figures."""

    status: Literal["UP", "DEGRADED", "DOWN"]
    details: dict[str, Any] | UnsetType = UNSET


class Health(Struct, frozen=True):
    """The state of the whole: DOWN if tasks cannot be stored, DEGRADED if they only run slower."""

    status: Literal["UP", "DEGRADED", "DOWN"]
    components: dict[str, Component]


class Alive(Struct, frozen=True):
    """The state of this process."""

    status: Word


async def health(call: ApiCall[None, NoQuery]) -> Reply:
    """Tell how each part is; 503 when tasks cannot be stored."""
    db, shards, redis, kafka, disk, workers, config = await asyncio.gather(
        _component(call.engine.store.check(), "db"),
        _component(_shards(call.engine.shards), "shards"),
        _component(_redis(call), "redis"),
        _component(_kafka(call.engine.store), "kafka"),
        _component(_disk(call.context.info), "diskSpace"),
        _component(_workers(call.engine.store), "workers"),
        _component(_config(call.engine.configuration.state), "config"),
    )
    components = {
        "db": db, "shards": shards, "redis": redis, "kafka": kafka, "diskSpace": disk, "workers": workers,
        "config": config,
    }  # fmt: skip
    named = {name: component for name, component in components.items() if component is not None}
    away = {name for name, component in named.items() if component.status != "UP"}
    # Redis only holds hints, what Kafka has not got yet waits in the store, and tasks without a worker wait there too:
    # without them everything is accepted. Without a shard other than the directory, what does not belong there is.
    status: Literal["UP", "DEGRADED", "DOWN"] = "UP" if not away else "DEGRADED" if away <= SPARED else "DOWN"
    if not may_see(call):
        named = {name: Component(component.status) for name, component in named.items()}
    return Reply(encode(Health(status, named)), 503 if status == "DOWN" else 200)


async def alive(call: ApiCall[None, NoQuery]) -> Reply:
    """Tell whether everything that goes on in this process by itself has got somewhere lately."""
    if stuck := call.engine.metrics.liveness.stuck():
        log.error("process.stuck", activities=stuck)
        return Reply(encode(Alive("DOWN")), 503)
    return Reply(encode(Alive("UP")))


async def ready(call: ApiCall[None, NoQuery]) -> Reply:
    """Tell whether requests should be sent here: the store answers, and the server is not stopping."""
    store = await _component(call.engine.store.check(), "db")
    is_leaving = call.context.leaving.is_set() or call.context.stop.is_set()
    is_ready = store is not None and store.status == "UP" and not is_leaving
    return Reply(encode(Alive("UP" if is_ready else "DOWN")), 200 if is_ready else 503)


async def _component(check: Awaitable[dict[str, Any] | None], name: str) -> Component | None:
    """Return how a part is; None for one that this system does not have."""
    try:
        async with asyncio.timeout(PATIENCE):
            details = await check
    except (DrumlineError, TimeoutError, OSError) as error:
        log.warning("health.down", component=name, error=repr(error))
        return Component("DOWN", {"error": str(error) or type(error).__name__})
    if details is None:
        return None
    if details.pop("is_down", False):
        return Component("DOWN", details)
    return Component("DEGRADED" if details.pop("is_degraded", False) else "UP", details)


async def _shards(shards: ShardOperations) -> dict[str, Any] | None:
    """Return how the other databases of the installation are; None if there is one."""
    faults = await shards.check()
    if not faults:
        return None
    told: dict[str, Any] = {name: fault or "UP" for name, fault in faults.items()}
    return told | {"is_degraded": any(fault is not None for fault in faults.values())}


async def _redis(call: ApiCall[None, NoQuery]) -> dict[str, Any] | None:
    """Return how the queue and the read model are; None if there is no such server."""
    queue = await call.engine.queue.check()
    if call.engine.read_model is None:
        return queue
    try:
        await call.engine.read_model.check()
    except Unavailable as error:
        return {**(queue or {}), "read_model": str(error), "is_degraded": True}
    return queue


async def _kafka(store: Store) -> dict[str, Any] | None:
    """Return how far the relay has come, and what it says of Kafka; None if there is none, or the store cannot tell."""
    try:
        view = next((view for view in await store.events.cursors() if view.consumer == CONSUMER), None)
    except Unavailable:
        return None
    if view is None:
        return None
    late = 0.0 if view.oldest_at is None else max(await store.queries.now() - view.oldest_at, 0) / 1000
    details = {"rows_behind": view.behind, "seconds_behind": late, "is_degraded": late > LATE_SECONDS}
    return details if view.error is None else details | {"error": view.error, "is_down": True}


async def _workers(store: Store) -> dict[str, Any] | None:
    """Return the live workers; None if the store cannot tell. Having none is a problem when tasks are due."""
    try:
        sessions = await store.sessions.sessions()
        is_lonely = not sessions and bool(await store.upcoming(due_before=await store.queries.now(), per_lane=1))
    except Unavailable:
        return None
    return {
        "open": len(sessions),
        "slots": sum(session.spec.capacity for session in sessions),
        "busy": sum(session.held for session in sessions),
        "is_degraded": is_lonely,
    }


async def _config(state: ConfigState | None) -> dict[str, Any] | None:
    """Return which configuration this process runs with; one that was refused leaves the previous one in effect."""
    if state is None:
        return None
    details = {"version": state.version, "needs_restart": list(state.restart)}
    return details if state.refused is None else details | {"refused": state.refused, "is_degraded": True}


async def _disk(info: Info) -> dict[str, Any]:
    usage = await asyncio.to_thread(_usage, Path(info.disk))
    return {
        "total": usage.total,
        "free": usage.free,
        "threshold": info.least_free,
        "is_down": usage.free < info.least_free,
    }


def _usage(folder: Path) -> Any:
    """Return how full the disk is that a folder lies on, or would: on a database server nothing is kept in it."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder)


OPERATIONS = (
    Operation(
        method="GET", path="/actuator/health", handler=health, tag=Tag.HEALTH,
        summary="The state of each component; details only for keys with system:read", answer=Health, also=(503,),
        is_open=True,
    ),
    Operation(
        method="GET", path="/livez", handler=alive, tag=Tag.HEALTH,
        summary="Tell whether the process gets anywhere", answer=Alive, also=(503,), is_open=True,
    ),
    Operation(
        method="GET", path="/readyz", handler=ready, tag=Tag.HEALTH,
        summary="Tell whether requests should be sent here", answer=Alive, also=(503,), is_open=True,
    ),
)  # fmt: skip
