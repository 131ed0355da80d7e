"""The limit: the same statements and scripts that the engine issues, by a bare loop with no engine or worker around it.

Two processes claim and settle; with `flow`, a third submits meanwhile. All have opened their connections before the
clock starts, as those of the engine have. What the engine reaches of this is what its validation, batching, execution,
logs, reports and the scheduler's duties cost. The limit of a lone task is to ask who waits for it, one durable commit,
and a message, one after the other, by one process that need not wake another.
"""

import asyncio
import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from bench.scale.meter import percentiles
from drumline.core.clock import SystemClock
from drumline.core.ids import IdSource, SessionId
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import Act
from drumline.core.task import ClaimedTask, Lane, NewTask, Submitted
from drumline.engine.engine import Engine
from drumline.lifecycle.processes import run
from drumline.ports.store import ClaimRequest, Hint, Settlement
from drumline.scheduler.sweep import Sweeper
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.wiring import open_engine, wire
from drumline.worker.held_attempts import GATHER

SUBMIT: Final = 500
CLAIM: Final = 500
FLIGHTS: Final = 2
WORKERS: Final = 2
PATIENCE: Final = 30.0
LOOK_EVERY: Final = 0.002
RATE: Final = 100
START_SECONDS: Final = 5.0
WARM_UP: Final = 50
LANE: Final = Lane("default", "default", "noop", 0)

_SPAWN = multiprocessing.get_context("spawn")


def measure_limit(store_url: str, queue_url: str, count: int) -> dict[str, Any]:
    """Return tasks per second: filled, drained, and both at once; and how soon a lone task can start."""
    settings = Settings(store_url=Secret(store_url), queue_url=Secret(queue_url))
    with ProcessPoolExecutor(1, _SPAWN) as pool:  # first: a lane that has been full is not empty before it is swept
        starts = pool.submit(_starts, settings).result()
    fill, drain = _round(settings, count, is_flow=False)
    _, flow = _round(settings, count, is_flow=True)
    return {
        "enqueue_bulk_per_s": fill,
        "drain_per_s": drain,
        "end_to_end_per_s": flow,
        "start_latency_ms": {name: value for name, value in percentiles(starts).items() if name != "max"},
    }


def _round(settings: Settings, count: int, *, is_flow: bool) -> tuple[float, float]:
    """Submit and drain `count` tasks, one after the other or at once; return both rates."""
    count -= count % (SUBMIT * FLIGHTS)
    done = _SPAWN.Value("q", 0)
    ready, fill, drain = _SPAWN.Semaphore(0), _SPAWN.Event(), _SPAWN.Event()
    drains = [_SPAWN.Process(target=_drain, args=(settings, count, done, ready, drain)) for _ in range(WORKERS)]
    fills = _SPAWN.Process(target=_fill, args=(settings, count, ready, fill))
    for process in (*drains, fills):
        process.start()
    for _ in (*drains, fills):
        ready.acquire(timeout=PATIENCE)
    began = time.perf_counter()
    fill.set()
    if is_flow:
        drain.set()
    fills.join()
    filled = time.perf_counter() - began
    if not is_flow:
        began = time.perf_counter()
        drain.set()
    while done.value < count:
        time.sleep(LOOK_EVERY)
    drained = time.perf_counter() - began
    for process in drains:
        process.join()
    return round(count / filled, 1), round(count / drained, 1)


def _fill(settings: Settings, count: int, ready: Any, go: Any) -> None:
    run(_submit(settings, count, ready, go))


def _drain(settings: Settings, count: int, done: Any, ready: Any, go: Any) -> None:
    run(_claim_and_settle(settings, count, done, ready, go))


def _starts(settings: Settings) -> list[float]:
    kept: list[float] = []
    run(_start_lone_tasks(settings, kept))
    if not kept:
        raise RuntimeError("nobody was found who waits for a lone task")
    return kept


async def _submit(settings: Settings, count: int, ready: Any, go: Any) -> None:
    engine = await open_engine(settings)
    ids = IdSource(SystemClock().now, Random(1))
    await engine.store.queries.now()
    await engine.store.submit([])
    ready.release()
    await asyncio.to_thread(go.wait)
    await asyncio.gather(*(_submitter(engine, ids, count // FLIGHTS) for _ in range(FLIGHTS)))
    await engine.close()


async def _submitter(engine: Engine, ids: IdSource, count: int) -> None:
    for _ in range(0, count, SUBMIT):
        await _submit_batch(engine, ids, SUBMIT)


async def _submit_batch(engine: Engine, ids: IdSource, count: int) -> list[Hint]:
    tasks = [NewTask(id=ids.next(), lane=LANE, payload=b'{"sent_ns":0}') for _ in range(count)]
    answers = await engine.store.submit(tasks)
    hints = [Hint(answer.id, LANE, answer.due_at) for answer in answers if isinstance(answer, Submitted)]
    await engine.queue.push(hints)
    return hints


async def _claim_and_settle(settings: Settings, count: int, done: Any, ready: Any, go: Any) -> None:
    engine = await _open_filled(settings)
    session = await _open_session(engine)
    ready.release()
    await asyncio.to_thread(go.wait)
    await asyncio.gather(*(_claimer(engine, session, count, done) for _ in range(FLIGHTS)))
    await engine.close()


async def _open_filled(settings: Settings) -> Engine:
    """Return an engine whose queue has been filled once, as the scheduler does: until then the store would choose."""
    directory = (await wire(settings)).shards.directory
    if directory.swept is not None:
        await Sweeper(directory.store, directory.swept, metrics=directory.engine.metrics).pass_once()
    return directory.engine


async def _open_session(engine: Engine) -> SessionId:
    session = SessionId(Random().getrandbits(63))
    await engine.store.sessions.open_session(
        session,
        SessionSpec(host="limit", pid=0, version="0", queues=(), types=(TaskType(name="noop"),), capacity=CLAIM),
    )
    return session


async def _claimer(engine: Engine, session: SessionId, count: int, done: Any) -> None:
    random = Random()
    while done.value < count:
        tasks = await _claim(engine, session, random)
        if not tasks:
            await asyncio.sleep(0.002)
            continue
        await _settle(engine, tasks)
        with done.get_lock():
            done.value += len(tasks)
        if len(tasks) < CLAIM // 2:
            await asyncio.sleep(GATHER)  # as a busy worker does: small batches cost more


async def _claim(engine: Engine, session: SessionId, random: Random) -> Sequence[ClaimedTask]:
    request = _request(session, random)
    popped = await engine.queue.pop(request)
    if popped is not None and not popped.tasks and not popped.asks_store:
        return ()
    if popped is not None and popped.tasks:
        request = replace(request, hints=popped.tasks)
    (claim,) = await engine.store.claim([request])
    return claim.tasks


def _request(session: SessionId, random: Random) -> ClaimRequest:
    nonce = random.getrandbits(63)
    return ClaimRequest(session=session, nonce=nonce, limit=CLAIM, queues=(), names=("noop",), tenant=None)


async def _settle(engine: Engine, tasks: Sequence[ClaimedTask]) -> None:
    await engine.store.settle([Settlement(lease=task.lease, act=Act.COMPLETE) for task in tasks])


async def _start_lone_tasks(settings: Settings, kept: list[float]) -> None:
    """Keep the milliseconds from before a session is asked for until it hears of its task, a hundred times a second."""
    engine = await _open_filled(settings)
    session, random = await _open_session(engine), Random()
    ids = IdSource(SystemClock().now, random)
    heard: asyncio.Queue[ClaimedTask] = asyncio.Queue()
    listening = asyncio.create_task(
        engine.queue.listen(lambda *_: None, lambda *_: True, lambda _, task: heard.put_nowait(task)),
        name="hear of leases",
    )
    await _submit_batch(engine, ids, 1)
    await _settle(engine, await _claim(engine, session, random))  # from now on Redis knows what such a session can run
    began = time.perf_counter()
    for turn in range(int(RATE * START_SECONDS)):
        await engine.queue.pop(replace(_request(session, random), waits=True))
        await asyncio.sleep(max(0.0, began + turn / RATE - time.perf_counter()))
        sent = time.perf_counter()
        task = NewTask(id=ids.next(), lane=LANE, payload=b'{"sent_ns":0}')
        reserved = await engine.queue.reserve(LANE)
        if reserved is None:
            continue  # it does not listen yet
        stored = await engine.store.submit_leased(task, session=reserved.session, nonce=reserved.nonce)
        if stored.claimed is None:
            raise RuntimeError("the store did not lease a task to a session that waits for it")
        handing = asyncio.create_task(engine.queue.hand(reserved, stored.claimed), name="hand")
        claimed = await heard.get()
        if turn >= WARM_UP:
            kept.append((time.perf_counter() - sent) * 1000)
        await handing
        await _settle(engine, [claimed])
    listening.cancel()
    await asyncio.wait({listening})
    await engine.close()
