"""Examining the server: what it says of itself."""

import asyncio
from typing import Any, Final

from redis.exceptions import RedisError, ResponseError

from drumline.core.doctor_report import RedisFacts
from drumline.core.errors import Unavailable
from drumline.redis.address import Address
from drumline.stores.clock_reading import clock_distance

SECONDS: Final = 10.0


async def examine_redis(url: str) -> RedisFacts:
    """Return the facts, of a cluster those of the node that was named first; or raise `Unavailable`."""
    address = Address(url)
    client = address.subscribers(connect=SECONDS)[0]
    try:
        async with asyncio.timeout(SECONDS):
            return await _ask(client)
    except (RedisError, TimeoutError, OSError) as error:
        raise Unavailable(f"Redis does not answer: {str(error) or type(error).__name__}", field="queue_url") from error
    finally:
        await client.aclose()


async def _ask(client: Any) -> RedisFacts:
    async def clock() -> float:
        seconds, micros = await client.time()
        return float(seconds) + float(micros) / 1_000_000

    distance = await clock_distance(clock)
    info = await client.info()
    return RedisFacts(
        version=tuple(int(part) for part in str(info["redis_version"]).split(".")[:3] if part.isdecimal()),
        clock=round(distance * 1000),
        role=str(info.get("role", "master")),
        is_cluster=bool(info.get("cluster_enabled", 0)),
        policy=str(info.get("maxmemory_policy") or await _setting(client, "maxmemory-policy")),
        memory=int(info.get("used_memory", 0)),
        most_memory=int(info.get("maxmemory", 0)),
    )


async def _setting(client: Any, name: str) -> str:
    """Return a setting; nothing where the provider keeps it to itself."""
    try:
        return str((await client.config_get(name)).get(name, ""))
    except ResponseError:
        return ""
