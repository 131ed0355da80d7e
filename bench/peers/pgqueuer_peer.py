"""PgQueuer on asyncpg: wide batches over one connection, uvloop, logged tables.

Settings: https://pgqueuer.readthedocs.io/en/latest/.
"""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import uvloop
from harness import POSTGRES_URL, Peer, Producer, main, tally
from pgqueuer import Job, PgQueuer, Queries
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver

BATCH_SIZE = 1000


@asynccontextmanager
async def produce() -> AsyncIterator[Producer]:
    """Submit over a pool of connections."""
    async with asyncpg.create_pool(POSTGRES_URL, min_size=1, max_size=16) as pool:
        queries = Queries(AsyncpgPoolDriver(pool))

        async def submit(sent_ns: int) -> None:
            await queries.enqueue("noop", b"%d" % sent_ns)

        async def submit_many(count: int) -> None:
            await queries.enqueue(["noop"] * count, [b"0"] * count, [0] * count)

        yield Producer(submit=submit, submit_many=submit_many)


async def _work() -> None:
    connection = await asyncpg.connect(POSTGRES_URL)
    manager = PgQueuer.from_asyncpg_connection(connection)

    @manager.entrypoint("noop")
    async def noop(job: Job) -> None:
        tally.count(int(job.payload or b"0"))

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, manager.shutdown.set)
    await manager.run(batch_size=BATCH_SIZE)


async def _setup() -> None:
    connection = await asyncpg.connect(POSTGRES_URL)
    await Queries(AsyncpgDriver(connection)).install()
    await connection.close()


def setup() -> None:
    """Make the schema, its tables logged."""
    asyncio.run(_setup())


def work() -> None:
    """Run one worker."""
    uvloop.run(_work())


if __name__ == "__main__":
    main(Peer(distribution="pgqueuer", producer=produce, run=uvloop.run, work=work, setup=setup))
