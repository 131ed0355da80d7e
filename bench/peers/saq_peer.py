"""SAQ on Redis: many jobs at once, results not kept, uvloop.

Settings: https://saq-py.readthedocs.io/.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvloop
from harness import REDIS_URL, Peer, Producer, main, tally
from saq import Job, Queue, Worker


async def noop(_context: dict[str, Any], *, sent_ns: int) -> None:
    """Do nothing but count."""
    tally.count(sent_ns)


@asynccontextmanager
async def produce() -> AsyncIterator[Producer]:
    """Submit over one queue."""
    queue = Queue.from_url(REDIS_URL, name="peer")

    async def submit(sent_ns: int) -> None:
        await queue.enqueue(Job("noop", kwargs={"sent_ns": sent_ns}, ttl=-1))

    await queue.connect()
    yield Producer(submit=submit)
    await queue.disconnect()


async def _work() -> None:
    queue = Queue.from_url(REDIS_URL, name="peer")
    await queue.connect()
    await Worker(queue, functions=[("noop", noop)], concurrency=50).start()


def work() -> None:
    """Run one worker."""
    uvloop.install()
    asyncio.run(_work())


if __name__ == "__main__":
    main(Peer(distribution="saq", producer=produce, run=uvloop.run, work=work))
