"""Awa: a queue in PostgreSQL with a core in Rust, used from Python; bulk by COPY, two hundred jobs at once.

Settings: https://github.com/hardbyte/awa/blob/main/docs/getting-started-python.md (`start` with workers of a queue,
`enqueue_many_copy`) and https://github.com/hardbyte/awa/blob/main/docs/configuration.md (`poll_interval_ms`). Without
partitions: these give up the order within a queue.
"""

from __future__ import annotations  # the type of a job cannot be subscripted while it runs

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import uvloop
from awa import AsyncClient, Job
from harness import POSTGRES_URL, Peer, Producer, main, tally

CONCURRENCY = 200
CONNECTIONS = 20
POLLING_MS = 20
QUEUE = "peer"


@dataclass
class Noop:
    """The arguments of the task."""

    sent_ns: int


@asynccontextmanager
async def produce() -> AsyncIterator[Producer]:
    """Submit over the client's connections."""
    client = AsyncClient(POSTGRES_URL, max_connections=CONNECTIONS)

    async def submit(sent_ns: int) -> None:
        await client.insert(Noop(sent_ns), queue=QUEUE)

    async def submit_many(count: int) -> None:
        await client.enqueue_many_copy([Noop(0)] * count, queue=QUEUE)

    yield Producer(submit=submit, submit_many=submit_many)
    await client.close()


async def _work() -> None:
    client = AsyncClient(POSTGRES_URL, max_connections=CONNECTIONS)
    stop = asyncio.Event()

    @client.task(Noop, queue=QUEUE)
    async def noop(job: Job[Noop]) -> None:
        tally.count(job.args.sent_ns)

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await client.start([(QUEUE, CONCURRENCY)], poll_interval_ms=POLLING_MS)
    await stop.wait()
    await client.shutdown()
    await client.close()


async def _setup() -> None:
    client = AsyncClient(POSTGRES_URL)
    await client.migrate()
    await client.install_queue_storage()  # as a first start of a worker on an empty database does
    await client.close()


def setup() -> None:
    """Make the schema."""
    asyncio.run(_setup())


def work() -> None:
    """Run one worker."""
    uvloop.run(_work())


if __name__ == "__main__":
    main(Peer(distribution="awa-pg", producer=produce, run=uvloop.run, work=work, setup=setup))
