"""Oban for Python: many jobs at once, inserted in bulk, woken by NOTIFY.

Settings: https://oban.pro/docs/py/defining_queues.html (`limit`, `debounce_interval`) and
https://oban.pro/docs/py/production.html (`create_pool`; pruning and the rescue of orphans are on by default).
"""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvloop
from harness import POSTGRES_URL, Peer, Producer, main, tally
from oban import Oban, job
from oban.schema import install

CONCURRENCY = 200
CONNECTIONS = 16
QUEUE = "peer"


@job(queue=QUEUE)
async def noop(sent_ns: int) -> None:
    """Do nothing but count."""
    tally.count(sent_ns)


@asynccontextmanager
async def produce() -> AsyncIterator[Producer]:
    """Submit by a client, which runs nothing itself."""
    pool = await Oban.create_pool(POSTGRES_URL, min_size=CONNECTIONS, max_size=CONNECTIONS)
    async with Oban(pool=pool) as client:

        async def submit(sent_ns: int) -> None:
            await client.enqueue(noop.new(sent_ns))

        async def submit_many(count: int) -> None:
            await client.enqueue_many([noop.new(0) for _ in range(count)])

        yield Producer(submit=submit, submit_many=submit_many)
    await pool.close()


async def _work() -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    pool = await Oban.create_pool(POSTGRES_URL, max_size=CONNECTIONS)
    async with Oban(pool=pool, queues={QUEUE: {"limit": CONCURRENCY}}, shutdown_grace_period=1.0):
        await stop.wait()
    await pool.close()


async def _setup() -> None:
    pool = await Oban.create_pool(POSTGRES_URL)
    await install(pool)
    await pool.close()


def setup() -> None:
    """Make the schema."""
    asyncio.run(_setup())


def work() -> None:
    """Run one worker."""
    uvloop.run(_work())


if __name__ == "__main__":
    main(Peer(distribution="oban", producer=produce, run=uvloop.run, work=work, setup=setup))
