"""Services that every shard needs: begun when a shard is taken up, ended when it is removed."""

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple

from drumline.lifecycle.stages import Service
from drumline.shards.shard_set import Shard, ShardSet

ServicesOf = Callable[[Shard], Mapping[str, Service]]


class _Running(NamedTuple):
    stop: asyncio.Event
    tasks: "list[asyncio.Task[None]]"


def for_each_shard(shards: ShardSet, services_of: ServicesOf) -> Service:
    """Return a service that runs others for each shard, as long as it belongs to the installation."""

    async def service(stop: asyncio.Event) -> None:
        changed = asyncio.Event()
        shards.on_change(changed.set)
        running: dict[str, _Running] = {}
        async with asyncio.TaskGroup() as group:
            while not stop.is_set():
                changed.clear()
                present = {shard.name: shard for shard in shards}
                for name in running.keys() - present.keys():
                    running.pop(name).stop.set()
                for name in present.keys() - running.keys():
                    running[name] = _begin(group, present[name], services_of)
                await _first(stop, changed)
            for each in running.values():
                each.stop.set()

    return service


def following_shards(shards: ShardSet) -> Service:
    """Return the service that looks for changes of the shards and the map."""

    async def service(stop: asyncio.Event) -> None:
        following = asyncio.create_task(shards.follow(), name="follow shards")
        try:
            await stop.wait()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    return service


def _begin(group: asyncio.TaskGroup, shard: Shard, services_of: ServicesOf) -> _Running:
    stop = asyncio.Event()
    services = services_of(shard)
    return _Running(
        stop,
        [group.create_task(_run(service, stop), name=f"{shard.name}: {name}") for name, service in services.items()],
    )


async def _run(service: Service, stop: asyncio.Event) -> None:
    await service(stop)


async def _first(*events: asyncio.Event) -> None:
    waits = [asyncio.create_task(event.wait(), name="wait for an event") for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
