"""Forgetting everything that Redis holds of an installation: it is refilled from the store."""

from typing import Final

from redis.exceptions import RedisError

from drumline.core.errors import Unavailable
from drumline.redis.address import Address, Client
from drumline.redis.keys import FAMILIES

CONNECT_SECONDS: Final = 10.0
AT_ONCE: Final = 500


async def forget_all(url: str, *, prefix: str) -> int:
    """Delete every key of ours, a few at a time, and return how many there were.

    Without a prefix others may have keys beside ours: only those are deleted that look like ours.
    """
    client = Address(url).connect(connect=CONNECT_SECONDS)
    pattern = "".join(f"\\{sign}" if sign in "*?[]\\" else sign for sign in prefix) + "*"
    ours = tuple(prefix + family for family in FAMILIES)
    count = 0
    try:
        keys: list[str] = []
        async for key in client.scan_iter(match=pattern, count=1000):
            if prefix or key.startswith(ours):
                keys.append(key)
            if len(keys) == AT_ONCE:
                count += await _delete(client, keys)
                keys = []
        count += await _delete(client, keys)
    except RedisError as error:
        raise Unavailable(f"Redis does not answer: {error}", field="queue_url") from error
    finally:
        await client.aclose()
    return count


async def _delete(client: Client, keys: list[str]) -> int:
    # One by one, since in a cluster they lie in different places; a pipeline makes it one round trip.
    async with client.pipeline(transaction=False) as pipeline:
        for key in keys:
            pipeline.unlink(key)
        return sum(await pipeline.execute()) if keys else 0
