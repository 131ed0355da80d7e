"""Drumline on PostgreSQL and Redis: everything on. A task counts when its settlement is committed."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

from harness import POSTGRES_URL, REDIS_URL, Peer, Producer, main, tally

from drumline.core.errors import Fenced
from drumline.core.state import State
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.lifecycle.processes import run, run_migrate, run_scheduler
from drumline.lifecycle.worker_setup import assemble_worker
from drumline.ports.gateway import Report
from drumline.sdk.app import Drumline
from drumline.sdk.locate import Direct
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.wiring import open_engine
from drumline.worker.executors.catalogue import BuiltIn
from drumline.worker.options import WorkerOptions

CONCURRENCY = int(os.environ.get("DRUMLINE_BENCH_CONCURRENCY", "500"))
WITHOUT_REDIS = bool(os.environ.get("DRUMLINE_BENCH_WITHOUT_REDIS"))

settings = Settings(store_url=Secret(POSTGRES_URL), queue_url=None if WITHOUT_REDIS else Secret(REDIS_URL))
app = Drumline("bench", direct=Direct(store=POSTGRES_URL, queue=None if WITHOUT_REDIS else REDIS_URL))


@app.task(name="noop")
async def noop(sent_ns: int) -> None:
    """Do nothing but keep the delay."""
    if sent_ns:
        tally.keep_delay(sent_ns)


class CountingGateway(LocalGateway):
    """Counts tasks once their settlement is committed, not when they have run."""

    async def settle(self, reports: Sequence[Report]) -> list[State | Fenced]:
        """Settle, then count."""
        answers = await super().settle(reports)
        tally.add(len(answers))
        return answers


@asynccontextmanager
async def produce() -> AsyncIterator[Producer]:
    """Submit through the SDK; concurrent submissions are joined by its batcher."""

    async def submit_many(count: int) -> None:
        await app.asubmit_many([noop.call(0) for _ in range(count)])

    async with app.connected():
        yield Producer(submit=noop.asubmit, submit_many=submit_many)


def work() -> None:
    """Run one worker on the engine's own backends."""

    async def working() -> None:
        engine: Engine = await open_engine(settings)
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        options = WorkerOptions(capacity=CONCURRENCY, grace=1.0)
        worker = assemble_worker(CountingGateway(engine), [app], options, BuiltIn(http=False, pdf=False))
        listening = asyncio.create_task(engine.listen(), name="hear wake-ups")
        await worker.run(stop)
        listening.cancel()
        await asyncio.wait({listening})
        await engine.close()

    run(working())


def attend() -> None:
    """Run the scheduler's duties, as a deployment does."""
    run(run_scheduler(settings))


def setup() -> None:
    """Make the schema."""
    run(run_migrate(settings))


def run_producer(work_: Coroutine[Any, Any, None]) -> None:
    """Run a producer on the event loop that the processes use."""
    run(work_)


if __name__ == "__main__":
    main(Peer(distribution="drumline", producer=produce, work=work, setup=setup, run=run_producer, attend=attend))
