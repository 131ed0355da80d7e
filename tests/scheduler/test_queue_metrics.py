"""Taking stock of what waits, who can run it, and how far the log was passed on."""

import pytest

from drumline.core.clock import ManualClock
from drumline.core.session import SessionSpec, TaskType
from drumline.core.task import TaskRequest
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.scheduler.queue_metrics import LONGEST_PAUSE, QueueMetrics
from tests.scheduler.workers import open_worker, submit


@pytest.fixture
def stocktaker(engine: Engine, clock: ManualClock) -> QueueMetrics:
    return QueueMetrics(engine.store, engine.metrics, clock=clock)


async def test_tasks_are_counted_by_queue_and_state(
    stocktaker: QueueMetrics, engine: Engine, clock: ManualClock
) -> None:
    await submit(engine, 3)
    await engine.submissions.submit(TaskRequest(name="add", queue="slow", delay=60))
    await (await open_worker(engine)).claim(limit=1)
    clock.advance(7)

    await stocktaker.pass_once()

    assert engine.metrics.queue_tasks.values == {
        ("default", "pending"): 0, ("default", "queued"): 2, ("default", "processing"): 1,
        ("slow", "pending"): 1, ("slow", "queued"): 0, ("slow", "processing"): 0,
    }  # fmt: skip
    assert engine.metrics.queue_oldest.values == {("default",): 7, ("slow",): 0}


async def test_tenants_share_a_line(stocktaker: QueueMetrics, engine: Engine) -> None:
    for tenant in ("red", "blue"):
        await engine.submissions.submit(TaskRequest(name="add"), tenant=tenant)

    await stocktaker.pass_once()

    assert engine.metrics.queue_tasks.values["default", "queued"] == 2


async def test_a_queue_has_the_slots_of_those_who_serve_it(stocktaker: QueueMetrics, engine: Engine) -> None:
    await submit(engine)
    await open_worker(engine)
    spec = SessionSpec(host="bob", pid=1, version="0", queues=("mail",), types=(TaskType(name="send"),), capacity=5)
    await LocalGateway(engine).open_session(spec)

    await stocktaker.pass_once()

    assert engine.metrics.queue_slots.values == {("default",): 10, ("mail",): 15}
    assert (engine.metrics.sessions.values[()], engine.metrics.session_slots.values[()]) == (2, 15)


async def test_what_a_consumer_has_not_passed_on_grows_old(
    stocktaker: QueueMetrics, engine: Engine, clock: ManualClock
) -> None:
    await engine.store.events.take_cursor("kafka", holder=1, seconds=60)
    await submit(engine, 2)
    clock.advance(9)
    await engine.store.events.sequence()

    await stocktaker.pass_once()

    assert engine.metrics.outbox_rows.values["kafka",] == 2
    assert engine.metrics.outbox_age.values["kafka",] == 9


async def test_the_longer_it_takes_the_less_often_it_is_done(engine: Engine, clock: ManualClock) -> None:
    class SlowStore:
        def __getattr__(self, name: str) -> object:
            clock.advance(0.5)
            return getattr(engine.store, name)

    slow = QueueMetrics(SlowStore(), engine.metrics, clock=clock)  # type: ignore[arg-type]
    await slow.pass_once()

    assert 200 < slow.every <= LONGEST_PAUSE
