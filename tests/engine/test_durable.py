"""What durable tasks cost those that are not."""

from collections.abc import Sequence

import pytest

from drumline.core.durable import RecordPage, Wait, WaitKind, WaitRequest
from drumline.core.ids import SessionId, TaskId
from drumline.core.outcome import Succeeded
from drumline.core.session import SessionSpec, TaskType
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.engine.queue_metrics import update_queue_metrics
from drumline.ports.gateway import Report
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from tests.durable_factories import sleep, step
from tests.factories import request

WORKER = SessionSpec(host="h", pid=1, version="0", queues=(), types=(TaskType(name="work"),), capacity=9)


class CountedEngine:
    """An engine that counts how often records are read."""

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gateway = LocalGateway(engine)
        self.engine = engine
        self.reads = 0
        read = engine.store.durable.pages

        async def pages(tasks: Sequence[tuple[TaskId, int]]) -> list[RecordPage]:
            self.reads += 1
            return await read(tasks)

        monkeypatch.setattr(engine.store.durable, "pages", pages)

    async def session(self) -> SessionId:
        return await self.gateway.open_session(WORKER)


async def test_only_a_task_with_records_has_them_read_when_it_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(await SqliteStore.open(":memory:"), NoQueue())
    counted = CountedEngine(engine, monkeypatch)
    session = await counted.session()
    for _ in range(2):
        await engine.submissions.submit(request())
    plain, durable = await counted.gateway.claim(session, limit=2, wait=0)
    await counted.gateway.settle([Report(plain.lease, Succeeded())])
    before = counted.reads

    await counted.gateway.record([step(durable.lease, "a")])
    await counted.gateway.wait(WaitRequest(lease=durable.lease, waits=(sleep("nap", 1),)))
    await engine.control.reschedule(durable.lease.task, delay=0)
    (again,) = await counted.gateway.claim(session, limit=1, wait=5)

    assert before == 0
    assert counted.reads == 1
    assert [each.name for each in again.records.records] == ["a"]
    await engine.close()


async def test_records_waits_and_signals_are_counted_in_the_metrics() -> None:
    engine = Engine(await SqliteStore.open(":memory:"), NoQueue())
    gateway = LocalGateway(engine)
    session = await gateway.open_session(WORKER)
    task = (await engine.submissions.submit(request())).id
    (claimed,) = await gateway.claim(session, limit=1, wait=0)

    await gateway.record([step(claimed.lease, "a")])
    await engine.durable.signal("go", task=task, id="one")
    await engine.durable.signal("go", task=task, id="one")
    go = Wait(kind=WaitKind.SIGNAL, name="go")
    await gateway.wait(WaitRequest(lease=claimed.lease, waits=(go,)))
    await gateway.wait(WaitRequest(lease=claimed.lease, waits=(sleep("nap", 60_000),)))
    await update_queue_metrics(engine.store, engine.metrics, engine.clock)

    metrics = engine.metrics
    assert metrics.records.values[("done",)] == 1
    assert metrics.signals.values == {("new",): 1, ("repeated",): 1}
    assert metrics.waits.values == {("answered",): 1, ("parked",): 1}
    assert metrics.waiting_tasks.values == {(kind.word,): int(kind is WaitKind.SLEEP) for kind in WaitKind}
    await engine.close()
