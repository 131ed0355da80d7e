"""Drumline on PostgreSQL and Redis: everything on. A task counts when its settlement is committed."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

from harness import POSTGRES_URL, REDIS_URL, STEPS, Peer, Producer, main, tally

from drumline.core.errors import Unavailable
from drumline.engine.engine import Engine
from drumline.engine.gateway import gateway_of
from drumline.lifecycle.processes import run, run_migrate, run_scheduler
from drumline.lifecycle.worker_setup import assemble_worker
from drumline.ports.gateway import Acknowledged, Report, ServerGateway
from drumline.sdk.app import Drumline
from drumline.sdk.context import Context, inject
from drumline.sdk.locate import Direct
from drumline.sdk.task import AsyncTask
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.wiring import wire
from drumline.worker.executors.catalogue import BuiltIn
from drumline.worker.options import WorkerOptions

CONCURRENCY = int(os.environ.get("DRUMLINE_BENCH_CONCURRENCY", "500"))
WITHOUT_REDIS = bool(os.environ.get("DRUMLINE_BENCH_WITHOUT_REDIS"))

SECRET_KEY = os.environ.get("DRUMLINE_SECRET_KEY")

settings = Settings(
    store_url=Secret(POSTGRES_URL),
    queue_url=None if WITHOUT_REDIS else Secret(REDIS_URL),
    secret_key=None if SECRET_KEY is None else Secret(SECRET_KEY),
)
app = Drumline("bench", direct=Direct(store=POSTGRES_URL, queue=None if WITHOUT_REDIS else REDIS_URL))


async def step(number: int) -> int:
    """Do nothing that is worth keeping."""
    return number


async def plain(sent_ns: int) -> None:
    """Do nothing but keep the delay."""
    if sent_ns:
        tally.keep_delay(sent_ns)


async def stepping(sent_ns: int, *, ctx: Context[None] = inject()) -> None:
    """Take steps, each of which counts when it is recorded."""
    del sent_ns
    for number in range(STEPS):
        await ctx.step("step", step, number, key=number)
        tally.add(1)


noop: AsyncTask[[int], None] = app.task(name="noop")(stepping if STEPS else plain)


def counting(gateway: ServerGateway) -> ServerGateway:
    """Let a gateway count tasks once their settlement is committed, not when they have run."""
    if STEPS:
        return gateway  # its steps count
    settle = gateway.settle

    async def counted(reports: Sequence[Report]) -> Sequence[Acknowledged]:
        answers = await settle(reports)
        tally.add(sum(not isinstance(answer, Unavailable) for answer in answers))
        return answers

    gateway.settle = counted  # type: ignore[method-assign]
    return gateway


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
        wired = await wire(settings)
        engine: Engine = wired.engine
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        options = WorkerOptions(capacity=CONCURRENCY, grace=1.0)
        worker = assemble_worker(counting(gateway_of(engine)), [app], options, BuiltIn(http=False, pdf=False))
        listening = {asyncio.create_task(shard.engine.listen(), name="hear wake-ups") for shard in wired.shards}
        await worker.run(stop)
        for each in listening:
            each.cancel()
        await asyncio.wait(listening)
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
