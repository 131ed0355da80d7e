"""taskiq on Redis lists: one process to a worker, uvloop, no type parsing, deep prefetch.

Settings: https://taskiq-python.github.io/guide/cli.html.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvloop
from harness import REDIS_URL, Peer, Producer, main, tally
from taskiq.cli.worker.cmd import WorkerCMD
from taskiq_redis import ListQueueBroker

broker = ListQueueBroker(REDIS_URL)


@broker.task(task_name="noop")
async def noop(sent_ns: int) -> None:
    """Do nothing but count."""
    tally.count(sent_ns)


@asynccontextmanager
async def produce() -> AsyncIterator[Producer]:
    """Submit through the broker."""
    await broker.startup()
    yield Producer(submit=noop.kiq)
    await broker.shutdown()


def work() -> None:
    """Run one worker."""
    here = Path(__file__)
    limits = ["--max-async-tasks", "1000", "--max-prefetch", "1000"]
    quiet = ["--no-parse", "--log-level", "ERROR"]
    sys.exit(
        WorkerCMD().exec([f"{here.stem}:broker", "--app-dir", str(here.parent), "--workers", "1", *limits, *quiet])
    )


if __name__ == "__main__":
    main(Peer(distribution="taskiq", producer=produce, run=uvloop.run, work=work))
