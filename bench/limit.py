"""The limit: the same statements and scripts that the engine issues, by a bare loop with no engine or worker around it.

Two processes claim and settle; with `flow`, a third submits meanwhile. What the engine reaches of this is what its
validation, batching, execution, logs and reports cost.
"""

import asyncio
import multiprocessing
import time
from random import Random
from typing import Any, Final

from drumline.core.clock import SystemClock
from drumline.core.ids import IdSource, SessionId
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import Act
from drumline.core.task import Lane, NewTask, Submitted
from drumline.engine.engine import Engine
from drumline.lifecycle.processes import run
from drumline.ports.store import ClaimRequest, Hint, Settlement
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.wiring import open_engine

SUBMIT: Final = 1000
CLAIM: Final = 500
WORKERS: Final = 2
PATIENCE: Final = 30.0
LANE: Final = Lane("default", "default", "noop", 0)

_SPAWN = multiprocessing.get_context("spawn")


def measure_limit(store_url: str, queue_url: str, count: int) -> dict[str, float]:
    """Return tasks per second: filled, drained, and both at once."""
    fill, drain = _round(store_url, queue_url, count, is_flow=False)
    _, flow = _round(store_url, queue_url, count, is_flow=True)
    return {"enqueue_bulk_per_s": fill, "drain_per_s": drain, "end_to_end_per_s": flow}


def _round(store_url: str, queue_url: str, count: int, *, is_flow: bool) -> tuple[float, float]:
    """Submit and drain `count` tasks, one after the other or at once; return both rates."""
    settings = Settings(store_url=Secret(store_url), queue_url=Secret(queue_url))
    done = _SPAWN.Value("q", 0)
    ready, go = _SPAWN.Semaphore(0), _SPAWN.Event()
    drains = [_SPAWN.Process(target=_drain, args=(settings, count, done, ready, go)) for _ in range(WORKERS)]
    fills = _SPAWN.Process(target=_fill, args=(settings, count))
    for process in drains:
        process.start()
    for _ in drains:
        ready.acquire(timeout=PATIENCE)
    began = time.perf_counter()
    if is_flow:
        go.set()
    fills.start()
    fills.join()
    filled = time.perf_counter() - began
    if not is_flow:
        began = time.perf_counter()
        go.set()
    for process in drains:
        process.join()
    return round(count / filled, 1), round(count / (time.perf_counter() - began), 1)


def _fill(settings: Settings, count: int) -> None:
    run(_submit(settings, count))


def _drain(settings: Settings, count: int, done: Any, ready: Any, go: Any) -> None:
    run(_claim_and_settle(settings, count, done, ready, go))


async def _submit(settings: Settings, count: int) -> None:
    engine = await open_engine(settings)
    ids = IdSource(SystemClock().now, Random(1))
    for _ in range(0, count, 2 * SUBMIT):
        await asyncio.gather(*(_submit_batch(engine, ids) for _ in range(2)))
    await engine.close()


async def _submit_batch(engine: Engine, ids: IdSource) -> None:
    tasks = [NewTask(id=ids.next(), lane=LANE, payload=b'{"sent_ns":0}') for _ in range(SUBMIT)]
    answers = await engine.store.submit(tasks)
    await engine.queue.push(
        [Hint(answer.id, LANE, answer.due_at) for answer in answers if isinstance(answer, Submitted)]
    )


async def _claim_and_settle(settings: Settings, count: int, done: Any, ready: Any, go: Any) -> None:
    engine = await open_engine(settings)
    random = Random()
    session = SessionId(random.getrandbits(63))
    await engine.store.open_session(
        session,
        SessionSpec(host="limit", pid=0, version="0", queues=(), types=(TaskType(name="noop"),), capacity=CLAIM),
    )
    ready.release()
    await asyncio.to_thread(go.wait)
    await asyncio.gather(*(_claimer(engine, session, random, count, done) for _ in range(2)))
    await engine.close()


async def _claimer(engine: Engine, session: SessionId, random: Random, count: int, done: Any) -> None:
    while done.value < count:
        request = ClaimRequest(
            session=session, nonce=random.getrandbits(63), limit=CLAIM, queues=(), names=("noop",), tenant=None
        )
        popped = await engine.queue.pop(request)
        if popped is not None and popped.tasks:
            request = ClaimRequest(
                session=session, nonce=request.nonce, limit=CLAIM, queues=(), names=("noop",), hints=popped.tasks
            )
        (claim,) = await engine.store.claim([request])
        if request.hints:
            await engine.queue.drop(request.hints)
        if not claim.tasks:
            await asyncio.sleep(0.002)
            continue
        await engine.store.settle([Settlement(lease=task.lease, act=Act.COMPLETE) for task in claim.tasks])
        with done.get_lock():
            done.value += len(claim.tasks)
