"""Procrastinate on psycopg: many jobs at once, finished jobs deleted, woken by NOTIFY.

Settings: https://procrastinate.readthedocs.io/en/stable/.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvloop
from harness import POSTGRES_URL, Peer, Producer, main, tally
from procrastinate import App, PsycopgConnector

app = App(connector=PsycopgConnector(conninfo=POSTGRES_URL, min_size=4, max_size=16))


@app.task(name="noop", queue="peer")
async def noop(*, sent_ns: int) -> None:
    """Do nothing but count."""
    tally.count(sent_ns)


@asynccontextmanager
async def produce() -> AsyncIterator[Producer]:
    """Submit over the connector's pool."""

    async def submit(sent_ns: int) -> None:
        await noop.defer_async(sent_ns=sent_ns)

    async def submit_many(count: int) -> None:
        await noop.batch_defer_async(*({"sent_ns": 0} for _ in range(count)))

    async with app.open_async():
        yield Producer(submit=submit, submit_many=submit_many)


async def _setup() -> None:
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


async def _work() -> None:
    async with app.open_async():
        await app.run_worker_async(concurrency=50, delete_jobs="always")


def setup() -> None:
    """Make the schema."""
    asyncio.run(_setup())


def work() -> None:
    """Run one worker."""
    uvloop.run(_work())


if __name__ == "__main__":
    main(Peer(distribution="procrastinate", producer=produce, run=uvloop.run, work=work, setup=setup))
