"""Limits as workers meet them: through every gateway, on every store."""

from collections import Counter
from typing import Any

import pytest

from drumline.core.flow import LimitRequest
from drumline.core.ids import SessionId
from drumline.core.outcome import Succeeded
from drumline.core.session import SessionSpec, TaskType
from drumline.core.task import ClaimedTask
from drumline.engine.engine import Engine
from drumline.ports.gateway import Gateway, Report
from tests.factories import request

# How they go with shards: tests/shards/test_limits.py.
pytestmark = pytest.mark.parametrize("store_urls", ["sqlite", "postgres"], indirect=True)


async def open_worker(gateway: Gateway) -> SessionId:
    types = (TaskType(name="work"), TaskType(name="free"))
    return await gateway.open_session(
        SessionSpec(host="ada", pid=1, version="0", queues=(), types=types, capacity=9, label="w")
    )


async def submit(engine: Engine, count: int, name: str = "work", **fields: Any) -> None:
    await engine.submissions.submit_many([request(name, **fields) for _ in range(count)])


async def complete(gateway: Gateway, *tasks: ClaimedTask) -> None:
    await gateway.settle([Report(task.lease, Succeeded()) for task in tasks])


async def test_workers_are_given_no_more_than_a_limit_allows(engine: Engine, gateway: Gateway) -> None:
    await engine.flow.set("few", LimitRequest(task="work", max_concurrent=3), tenant="default")
    await submit(engine, 20)
    await submit(engine, 4, "free")
    ada, bob = await open_worker(gateway), await open_worker(gateway)

    tasks = [*await gateway.claim(ada, limit=9, wait=0), *await gateway.claim(bob, limit=9, wait=0)]

    assert Counter(task.name for task in tasks) == {"work": 3, "free": 4}


async def test_a_slot_that_is_freed_is_used_at_once(engine: Engine, gateway: Gateway) -> None:
    await engine.flow.set("one", LimitRequest(task="work", max_concurrent=1), tenant="default")
    await submit(engine, 30)
    ada = await open_worker(gateway)

    for _ in range(30):
        (task,) = await gateway.claim(ada, limit=4, wait=5)
        await complete(gateway, task)

    assert await gateway.claim(ada, limit=4, wait=0) == ()


async def test_whoever_waits_is_told_of_a_freed_slot(engine: Engine, gateway: Gateway) -> None:
    await engine.flow.set("one", LimitRequest(task="work", max_concurrent=1), tenant="default")
    await submit(engine, 2)
    ada, bob = await open_worker(gateway), await open_worker(gateway)
    (held,) = await gateway.claim(ada, limit=1, wait=5)
    assert await gateway.claim(bob, limit=1, wait=0.2) == ()

    await complete(gateway, held)

    assert len(await gateway.claim(bob, limit=1, wait=10)) == 1


async def test_limited_and_free_tasks_do_not_keep_each_other_out(engine: Engine, gateway: Gateway) -> None:
    await engine.flow.set("many", LimitRequest(task="work", max_concurrent=1000), tenant="default")
    await submit(engine, 40)
    await submit(engine, 40, "free")
    ada = await open_worker(gateway)

    started: list[str] = []
    for limit in (1, 1, 1, 1, 6, 6, 6):
        tasks = await gateway.claim(ada, limit=limit, wait=5)
        await complete(gateway, *tasks)
        started += [task.name for task in tasks]

    assert Counter(started) == {"work": 11, "free": 11}


async def test_a_claim_waits_for_the_rate(engine: Engine, gateway: Gateway) -> None:
    await engine.flow.set("slow", LimitRequest(task="work", rate="1/s"), tenant="default")
    await submit(engine, 2)
    ada = await open_worker(gateway)
    began = engine.clock.monotonic()

    for _ in range(2):
        assert len(await gateway.claim(ada, limit=2, wait=10)) == 1

    assert engine.clock.monotonic() - began >= 0.9


async def test_why_names_the_limit_that_a_task_waits_for(engine: Engine, gateway: Gateway) -> None:
    spec = LimitRequest(task="work", max_concurrent=1, key="payload.customer")
    await engine.flow.set("per-customer", spec, tenant="default")
    await submit(engine, 1, payload={"customer": "acme"})
    ada = await open_worker(gateway)
    await gateway.claim(ada, limit=1, wait=5)
    waiting = (await engine.submissions.submit(request(payload={"customer": "acme"}))).id
    other = (await engine.submissions.submit(request(payload={"customer": "bolt"}))).id

    (reason,) = await engine.wait_reasons.why(waiting)

    assert (reason.cause, reason.names) == ("limited", ("per-customer",))
    assert reason.text == "the limit per-customer lets 1 run at once for the key acme, and 1 do"
    assert [each.cause for each in await engine.wait_reasons.why(other)] != ["limited"]
