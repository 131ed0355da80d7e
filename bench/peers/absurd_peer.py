"""Absurd: tasks and their checkpoints in PostgreSQL, by functions of the database.

Settings: https://github.com/earendil-works/absurd/tree/main/sdks/python (`start_worker`, `concurrency`). A client has
one connection, on which its tasks take turns; a process runs several.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import absurdctl
import psycopg
from absurd_sdk import AsyncAbsurd
from harness import POSTGRES_URL, STEPS, Peer, Producer, main, tally

CLIENTS = 4
CONCURRENCY = 25
POLLING_SECONDS = 0.02
QUEUE = "peer"


def _client() -> AsyncAbsurd:
    client = AsyncAbsurd(POSTGRES_URL, queue_name=QUEUE)

    @client.register_task(name="noop")
    async def noop(params: dict[str, int], ctx: Any) -> None:
        """Take steps, each of which counts when it is recorded; or count itself."""
        for number in range(STEPS):
            await ctx.step(f"step {number}", partial(_step, number))
            tally.add(1)
        if not STEPS:
            tally.count(params["sent_ns"])

    return client


async def _step(number: int) -> int:
    return number


@asynccontextmanager
async def produce() -> AsyncIterator[Producer]:
    """Submit by a client, one task by each call."""
    client = _client()

    async def submit(sent_ns: int) -> None:
        await client.spawn("noop", {"sent_ns": sent_ns})

    yield Producer(submit=submit)
    await client.close()


def work() -> None:
    """Run one worker."""

    async def working() -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: os._exit(0))
        clients = [_client() for _ in range(CLIENTS)]
        await asyncio.gather(
            *(
                client.start_worker(
                    worker_id=f"{os.getpid()}-{number}", concurrency=CONCURRENCY, poll_interval=POLLING_SECONDS
                )
                for number, client in enumerate(clients)
            )
        )

    asyncio.run(working())


def setup() -> None:
    """Make the schema and the queue."""
    with psycopg.connect(POSTGRES_URL, autocommit=True) as connection:
        connection.execute(absurdctl.BUNDLED_SCHEMA_SQL)
        connection.execute("SELECT absurd.create_queue(%s)", (QUEUE,))


if __name__ == "__main__":
    main(Peer(distribution="absurd-sdk", producer=produce, work=work, setup=setup))
