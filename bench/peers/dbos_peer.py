"""DBOS: workflows on a queue, polled as often as it takes, one executor for each process.

Settings: https://docs.dbos.dev/python/reference/queues (`worker_concurrency`, `polling_interval_sec`, an `executor_id`
of its own for each process) and https://docs.dbos.dev/python/reference/client (`DBOSClient.enqueue`).
"""

import os
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dbos import DBOS, DBOSClient
from harness import POSTGRES_URL, STEPS, Peer, Producer, main, tally

CONCURRENCY = 100
POLLING_SECONDS = 0.05
QUEUE = "peer"
VERSION = "bench"


@DBOS.step()
async def step(number: int) -> int:
    """Do nothing that is worth keeping."""
    return number


@DBOS.workflow(name="noop")
async def noop(sent_ns: int) -> None:
    """Take steps, each of which counts when it is recorded; or count itself."""
    for number in range(STEPS):
        await step(number)
        tally.add(1)
    if not STEPS:
        tally.count(sent_ns)


def _launch() -> None:
    DBOS(
        config={
            "name": "peer",
            "system_database_url": POSTGRES_URL,
            "executor_id": str(os.getpid()),
            "application_version": VERSION,
            "log_level": "ERROR",
            "run_admin_server": False,
        }
    )
    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=CONCURRENCY, polling_interval_sec=POLLING_SECONDS)


@asynccontextmanager
async def produce() -> AsyncIterator[Producer]:
    """Submit by a client, which runs nothing itself."""
    client = DBOSClient(system_database_url=POSTGRES_URL)

    async def submit(sent_ns: int) -> None:
        await client.enqueue_async({"workflow_name": "noop", "queue_name": QUEUE, "app_version": VERSION}, sent_ns)

    yield Producer(submit=submit)
    client.destroy()


def work() -> None:
    """Run one worker."""
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    _launch()
    over.wait()
    os._exit(0)  # its threads would finish the queue first


def setup() -> None:
    """Make the schema and the queue."""
    _launch()
    DBOS.destroy()


if __name__ == "__main__":
    main(Peer(distribution="dbos", producer=produce, work=work, setup=setup))
