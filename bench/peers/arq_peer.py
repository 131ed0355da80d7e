"""arq: many jobs at once, results and logs off, short polls (it has no wake-up).

Settings: https://arq-docs.helpmanual.io/.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvloop
from arq import create_pool, func
from arq.connections import RedisSettings
from arq.worker import Worker
from harness import REDIS_URL, Peer, Producer, main, tally

SETTINGS = RedisSettings.from_dsn(REDIS_URL)


async def noop(_context: dict[str, Any], sent_ns: int) -> None:
    """Do nothing but count."""
    tally.count(sent_ns)


@asynccontextmanager
async def produce() -> AsyncIterator[Producer]:
    """Submit over one connection pool."""
    redis = await create_pool(SETTINGS)

    async def submit(sent_ns: int) -> None:
        await redis.enqueue_job("noop", sent_ns)

    yield Producer(submit=submit)
    await redis.aclose()


def work() -> None:
    """Run one worker."""
    uvloop.install()
    worker = Worker(
        functions=[func(noop, name="noop", keep_result=0)],
        redis_settings=SETTINGS,
        max_jobs=100,
        poll_delay=0.005,
        queue_read_limit=500,
        keep_result=0,
        log_results=False,
    )
    worker.run()


if __name__ == "__main__":
    main(Peer(distribution="arq", producer=produce, run=uvloop.run, work=work))
