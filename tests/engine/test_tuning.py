"""An engine that is told to work otherwise while it works."""

import asyncio
from typing import Any

from msgspec.structs import replace

from drumline.core.job import JobRequest, JobTaskRequest
from drumline.core.retry import Backoff, RetryDefaults
from drumline.core.session import SessionSpec, TaskType
from drumline.core.tuning import DEFAULT_TUNING
from drumline.core.wait_reasons import Cause
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from tests.factories import request
from tests.worker.house import until

EAGER = RetryDefaults(retries=7, backoff=Backoff(base=0.5))


async def open_worker(engine: Engine, *names: str) -> Any:
    types = tuple(TaskType(name=name) for name in names)
    spec = SessionSpec(host="ada", pid=1, version="1", queues=(), types=types, capacity=4)
    return await LocalGateway(engine).open_session(spec)


async def test_a_paused_name_is_passed_over_and_handed_out_again(engine: Engine) -> None:
    gateway = LocalGateway(engine)
    session = await open_worker(engine, "a", "b")
    engine.tune(replace(DEFAULT_TUNING, paused_names=frozenset({"a"})))
    paused = await engine.submissions.submit(request("a"))
    await engine.submissions.submit(request("b"))

    got = await gateway.claim(session, limit=4, wait=0)
    (why, *_) = await engine.wait_reasons.why(paused.id)
    engine.tune(DEFAULT_TUNING)
    later = await gateway.claim(session, limit=4, wait=0)

    assert [task.name for task in got] == ["b"]
    assert [task.name for task in later] == ["a"]
    assert why.cause is Cause.NAME_PAUSED
    assert "pauses.names" in why.text


async def test_a_pause_holds_for_those_who_wait_already(engine: Engine) -> None:
    gateway = LocalGateway(engine)
    session = await open_worker(engine, "a", "b")
    waiting = asyncio.create_task(gateway.claim(session, limit=4, wait=10))
    await until(lambda: bool(engine._waiters._watches))  # it has looked, and waits
    engine.tune(replace(DEFAULT_TUNING, paused_names=frozenset({"a"})))

    await engine.submissions.submit(request("a"))
    await engine.submissions.submit(request("b"))

    assert [task.name for task in await waiting] == ["b"]


async def test_tasks_and_jobs_that_say_nothing_of_retries_get_what_is_set(engine: Engine) -> None:
    engine.tune(replace(DEFAULT_TUNING, retry=EAGER))
    silent = await engine.submissions.submit(request())
    explicit = await engine.submissions.submit(request(retries=3, backoff=2.0))
    (listed,) = await engine.submissions.submit_many([request()])
    tasks = {"one": JobTaskRequest(name="one"), "two": JobTaskRequest(name="two", retries=1)}
    job = await engine.jobs.submit(JobRequest(name="job", tasks=tasks))
    engine.tune(DEFAULT_TUNING)
    after = await engine.submissions.submit(request())

    async def retries(task: Any) -> tuple[int, float]:
        options = (await engine.queries.get(task.id)).options
        return options.retries, options.backoff.base

    assert await retries(silent) == await retries(listed) == (7, 0.5)
    assert await retries(explicit) == (3, 2.0)
    assert await retries(after) == (3, 2.0)
    nodes = {node.key: node.task for node in await engine.store.jobs.nodes(job.id)}
    views = {key: await engine.queries.get(task) for key, task in nodes.items()}
    assert (views["one"].options.retries, views["two"].options.retries) == (7, 1)
    assert (await engine.jobs.get(job.id)).options.retries == 7


async def test_one_key_means_one_task_whatever_the_defaults_were(engine: Engine) -> None:
    first = await engine.submissions.submit(request(idempotency_key="k"))
    engine.tune(replace(DEFAULT_TUNING, retry=EAGER))

    again = await engine.submissions.submit(request(idempotency_key="k"))

    assert (again.id, again.created) == (first.id, False)
