"""A worker hears soon that an attempt should stop, near and far, without a beat."""

import asyncio

import pytest

from drumline.core.errors import NotFound
from drumline.core.job import JobRequest, JobTaskRequest
from drumline.core.lease import Lease
from drumline.core.session import Stops
from drumline.engine.engine import Engine
from drumline.ports.gateway import Gateway
from drumline.remote import RemoteGateway
from drumline.stores.no_queue import NoQueue
from tests.factories import request
from tests.gateway.conftest import KEY, engines_of
from tests.gateway.test_gateway import WORKER
from tests.gateway.wire import Wire

A_WHILE = 20.0


class CarryingQueue(NoQueue):
    """A queue whose signals are not looked after: what is not signalled is not heard."""

    @property
    def carries_signals(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _only_signals(engine: Engine) -> None:
    for each in engines_of(engine):
        each.stops._queue = CarryingQueue()


async def listen(gateway: Gateway, lease: Lease) -> "asyncio.Task[Stops]":
    session = await gateway.open_session(WORKER)
    listening = asyncio.create_task(gateway.stops(session, [lease], wait=A_WHILE))
    await asyncio.sleep(0.05)  # so that it waits; should it not yet, it looks by itself
    return listening


async def held(engine: Engine, gateway: Gateway) -> Lease:
    await engine.submissions.submit(request())
    session = await gateway.open_session(WORKER)
    (task,) = await gateway.claim(session, limit=1, wait=10)
    return task.lease


async def test_a_worker_is_told_of_a_cancellation_at_once(engine: Engine, gateway: Gateway) -> None:
    lease = await held(engine, gateway)
    listening = await listen(gateway, lease)

    await engine.control.cancel(lease.task)

    assert await listening == Stops(cancelled=(lease.task,))


async def test_a_worker_is_told_of_a_forced_end_at_once(engine: Engine, gateway: Gateway) -> None:
    lease = await held(engine, gateway)
    listening = await listen(gateway, lease)

    await engine.control.cancel(lease.task, force=True)

    assert await listening == Stops(lost=(lease.task,))


async def test_a_worker_is_told_of_a_cancelled_job_at_once(engine: Engine, gateway: Gateway) -> None:
    job = await engine.jobs.submit(JobRequest(name="j", tasks={"a": JobTaskRequest(name="work")}))
    session = await gateway.open_session(WORKER)
    (task,) = await gateway.claim(session, limit=1, wait=10)
    listening = await listen(gateway, task.lease)

    await engine.jobs.cancel(job.id)

    assert await listening == Stops(cancelled=(task.lease.task,))


async def test_what_was_cancelled_before_it_was_asked_is_told_without_a_signal(
    engine: Engine, gateway: Gateway
) -> None:
    lease = await held(engine, gateway)
    await engine.store.control.cancel([lease.task])
    session = await gateway.open_session(WORKER)

    assert await gateway.stops(session, [lease], wait=A_WHILE) == Stops(cancelled=(lease.task,))


async def test_where_no_signal_is_heard_the_store_is_looked_at(engine: Engine, gateway: Gateway) -> None:
    engine.stops._queue = NoQueue()
    lease = await held(engine, gateway)
    listening = await listen(gateway, lease)

    await engine.store.control.cancel([lease.task])  # as another process does

    assert await listening == Stops(cancelled=(lease.task,))


async def test_a_task_that_was_begun_after_the_question_is_heard_of_with_the_next(
    engine: Engine, gateway: Gateway
) -> None:
    first, second = await held(engine, gateway), await held(engine, gateway)
    listening = await listen(gateway, first)

    await engine.control.cancel(second.task)

    assert await listening == Stops()
    session = await gateway.open_session(WORKER)
    assert await gateway.stops(session, [first, second], wait=A_WHILE) == Stops(cancelled=(second.task,))


async def test_an_older_server_is_not_asked(wire: Wire) -> None:
    async with RemoteGateway("http://drumline", api_key=KEY, transport=wire) as remote:
        session = await remote.open_session(WORKER)
        remote._tells_stops = False  # as its answer leaves it

        with pytest.raises(NotFound):
            await remote.stops(session, [], wait=A_WHILE)
