"""Jobs through the engine: results flow to children, ends are told at once, and other jobs are told of them."""

import asyncio
from typing import Any

import pytest
from msgspec import Raw

from drumline.core.clock import ManualClock
from drumline.core.codec import decode, encode
from drumline.core.errors import Conflict, Invalid, NotFound, Unavailable
from drumline.core.ids import JobId, SessionId
from drumline.core.job import JobRequest, JobStatus, JobTaskRequest
from drumline.core.limits import Limits
from drumline.core.outcome import ErrorInfo, Failed, Succeeded
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import State
from drumline.core.task import ClaimedTask
from drumline.engine import inputs
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.engine.options import EngineOptions
from drumline.ports.gateway import Report
from drumline.ports.jobs import JobFilter, Rippled
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from tests.factories import new_id

A_WHILE = 20.0
WORKER = SessionSpec(host="h", pid=1, version="0", queues=(), types=(TaskType(name="work"),), capacity=100)


def request(tasks: dict[str, dict[str, Any]], **fields: Any) -> JobRequest:
    made = {}
    for key, words in tasks.items():
        payload = Raw(encode(words.get("payload", {})))
        made[key] = JobTaskRequest(name="work", **(words | {"payload": payload}))
    return JobRequest(**({"name": "job"} | fields), tasks=made)


async def claim(gateway: LocalGateway, session: SessionId) -> dict[str, ClaimedTask]:
    return {task.options.key or "": task for task in await gateway.claim(session, limit=100, wait=0)}


async def complete(gateway: LocalGateway, task: ClaimedTask, result: object = None) -> None:
    await gateway.settle([Report(task.lease, Succeeded(Raw(encode(result))))])


async def fail(gateway: LocalGateway, task: ClaimedTask) -> None:
    await gateway.settle([Report(task.lease, Failed(ErrorInfo("Oops", "no"), permanent=True))])


async def test_a_child_is_given_what_its_parent_gave_back(engine: Engine, gateway: LocalGateway) -> None:
    session = await gateway.open_session(WORKER)
    payload = {"ids": {"$result": "a.rows"}, "first": {"$result": "a.rows[0]"}}
    job = await engine.jobs.submit(request({"a": {}, "b": {"needs": ("a",), "payload": payload}}))
    await complete(gateway, (await claim(gateway, session))["a"], {"rows": [3, 4]})

    child = (await claim(gateway, session))["b"]

    assert decode(bytes(child.payload), object) == {"ids": [3, 4], "first": 3}
    stored = await engine.queries.get(job.tasks["b"])
    assert stored.payload is not None
    assert decode(bytes(stored.payload), object) == payload


async def test_results_of_many_parents_come_as_a_list(engine: Engine, gateway: LocalGateway) -> None:
    session = await gateway.open_session(WORKER)
    parts = [f"part[{number}]" for number in range(5)]
    gather = {"needs": tuple(parts), "payload": {"all": [{"$result": key} for key in parts]}}
    await engine.jobs.submit(request({**{key: {} for key in parts}, "gather": gather}))
    for key, task in (await claim(gateway, session)).items():
        await complete(gateway, task, int(key[5]))

    child = (await claim(gateway, session))["gather"]

    assert decode(bytes(child.payload), object) == {"all": [0, 1, 2, 3, 4]}


async def test_a_missing_path_fails_the_task_for_good_before_a_worker_has_it(
    engine: Engine, gateway: LocalGateway
) -> None:
    session = await gateway.open_session(WORKER)
    child = {"needs": ("a",), "payload": {"$result": "a.nothing"}}
    tasks: dict[str, dict[str, Any]] = {"a": {}, "b": child, "c": {"needs": ("b",)}}
    job = await engine.jobs.submit(request(tasks))
    await complete(gateway, (await claim(gateway, session))["a"], {"rows": []})

    assert await claim(gateway, session) == {}

    view = await engine.queries.get(job.tasks["b"])
    assert view.state is State.FAILED
    assert view.error == ErrorInfo("InputError", "payload: the result of 'a' has nothing at a.nothing")
    assert (await engine.jobs.get(job.id)).status is JobStatus.FAILED
    assert (await engine.queries.get(job.tasks["c"])).state is State.SKIPPED
    letter = await engine.dead_letters.get(job.tasks["b"])
    assert letter.letter.reason == "unresolved_input"


async def test_a_clean_up_cannot_be_given_the_result_of_what_failed(engine: Engine, gateway: LocalGateway) -> None:
    session = await gateway.open_session(WORKER)
    clean = {"needs": ("a",), "run_if": "all_done", "payload": {"$result": "a"}}
    job = await engine.jobs.submit(request({"a": {}, "clean": clean}))
    await fail(gateway, (await claim(gateway, session))["a"])

    assert await claim(gateway, session) == {}

    view = await engine.queries.get(job.tasks["clean"])
    assert view.error is not None
    assert view.error.message == "payload: 'a' did not complete, so it has no result"


async def test_what_grows_too_large_fails_and_says_so(clock: ManualClock) -> None:
    store = await SqliteStore.open(":memory:", clock=clock)
    engine = Engine(store, NoQueue(), EngineOptions(clock=clock, limits=Limits(payload=100)))
    gateway = LocalGateway(engine)
    session = await gateway.open_session(WORKER)
    job = await engine.jobs.submit(request({"a": {}, "b": {"needs": ("a",), "payload": {"$result": "a"}}}))
    await complete(gateway, (await claim(gateway, session))["a"], "x" * 200)

    assert await claim(gateway, session) == {}

    view = await engine.queries.get(job.tasks["b"])
    assert view.error is not None
    assert "is more than 100 bytes of JSON with the results in it" in view.error.message
    await engine.close()


async def test_many_who_want_one_large_result_get_it_a_few_at_a_time(engine: Engine, gateway: LocalGateway) -> None:
    session = await gateway.open_session(WORKER)
    children = {f"c{number}": {"needs": ("a",), "payload": {"$result": "a"}} for number in range(40)}
    job = await engine.jobs.submit(request({"a": {}, **children}))
    await complete(gateway, (await claim(gateway, session))["a"], "x" * 1_000_000)

    claims = []
    while held := await claim(gateway, session):
        claims.append(held)

    assert [len(held) for held in claims] == [17, 17, 6]
    assert sorted(key for held in claims for key in held) == sorted(children)
    assert {task.attempt for held in claims for task in held.values()} == {1}
    assert (await engine.jobs.get(job.id)).counts.running == 40


async def test_results_that_are_too_much_together_fail_the_task_that_wants_them(
    engine: Engine, gateway: LocalGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "MOST_LOADED", 3_000)
    session = await gateway.open_session(WORKER)
    parts = [f"p{number:03}" for number in range(100)]
    gather = {"needs": tuple(parts), "payload": [{"$result": f"{key}[0]"} for key in parts]}
    few = {"needs": ("p000",), "payload": {"$result": "p000[0]"}}
    job = await engine.jobs.submit(request({**{key: {} for key in parts}, "gather": gather, "few": few}))
    for task in (await claim(gateway, session)).values():
        await complete(gateway, task, [1, "x" * 100])

    first, second = await claim(gateway, session), await claim(gateway, session)

    assert [*first, *second] == ["few"]
    view = await engine.queries.get(job.tasks["gather"])
    assert view.error is not None
    assert view.error.message == "payload: refers to results of more than 3,000 bytes together"


async def test_tasks_beside_one_that_cannot_be_filled_in_are_handed_out(engine: Engine, gateway: LocalGateway) -> None:
    session = await gateway.open_session(WORKER)
    bad = {"needs": ("a",), "payload": {"$result": "a.nothing"}}
    await engine.jobs.submit(request({"a": {}, "bad": bad, "good": {"needs": ("a",)}}))
    await complete(gateway, (await claim(gateway, session))["a"], {})

    assert list(await claim(gateway, session)) == ["good"]


async def test_results_that_cannot_be_read_now_are_given_later(
    engine: Engine, gateway: LocalGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await gateway.open_session(WORKER)
    await engine.jobs.submit(request({"a": {}, "b": {"needs": ("a",), "payload": {"$result": "a"}}}))
    await complete(gateway, (await claim(gateway, session))["a"], 1)
    store = engine.store

    async def away(_wanted: object) -> object:
        raise Unavailable("away")

    with monkeypatch.context() as patched:
        patched.setattr(store.jobs, "results", away)
        assert await claim(gateway, session) == {}
    await store.sessions.close_session(session)
    await store.sessions.reap([], poison_after=3)

    again = await gateway.open_session(WORKER)
    assert (await claim(gateway, again))["b"].attempt == 1


async def test_a_claimed_task_starts_its_job(engine: Engine, gateway: LocalGateway) -> None:
    session = await gateway.open_session(WORKER)
    job = await engine.jobs.submit(request({"a": {}}))
    assert (await engine.jobs.get(job.id)).status is JobStatus.PENDING

    await claim(gateway, session)

    assert (await engine.jobs.get(job.id)).status is JobStatus.PROCESSING


async def test_whoever_waits_for_a_job_is_told_of_its_end_at_once(engine: Engine, gateway: LocalGateway) -> None:
    session = await gateway.open_session(WORKER)
    job = await engine.jobs.submit(request({"a": {}}))
    task = (await claim(gateway, session))["a"]
    waiting = asyncio.create_task(engine.jobs.wait(job.id, seconds=3600))
    async with asyncio.timeout(A_WHILE):
        while not engine._endings._watched:  # noqa: ASYNC110 - nothing tells that somebody waits
            await asyncio.sleep(0)

        await complete(gateway, task)

        assert (await waiting).status is JobStatus.COMPLETED


async def test_an_end_is_passed_on_to_the_jobs_that_wait_for_it(engine: Engine, gateway: LocalGateway) -> None:
    session = await gateway.open_session(WORKER)
    first = await engine.jobs.submit(request({"x": {}}))
    second = await engine.jobs.submit(request({"y": {}}, depends_on=(first.id,)))
    third = await engine.jobs.submit(request({"z": {}}, depends_on=(second.id,)))

    await complete(gateway, (await claim(gateway, session))["x"])
    await engine.effects.drained()
    await complete(gateway, (await claim(gateway, session))["y"])
    await engine.effects.drained()

    assert list(await claim(gateway, session)) == ["z"]
    assert (await engine.jobs.get(third.id)).status is JobStatus.PROCESSING


async def test_a_whole_row_of_jobs_fails_when_the_first_is_cancelled(engine: Engine) -> None:
    ids: list[JobId] = []
    for _ in range(4):
        job = await engine.jobs.submit(request({"x": {}}, depends_on=tuple(ids[-1:])))
        ids.append(job.id)

    await engine.jobs.cancel(ids[0])
    await engine.effects.drained()

    statuses = [(await engine.jobs.get(job)).status for job in ids]
    assert statuses == [JobStatus.CANCELLED, JobStatus.FAILED, JobStatus.FAILED, JobStatus.FAILED]


async def test_a_store_that_goes_away_while_others_are_told_is_no_one_s_fault(engine: Engine) -> None:
    first = await engine.jobs.submit(request({"x": {}}))
    second = await engine.jobs.submit(request({"x": {}}, depends_on=(first.id,)))
    store = engine.store

    class Away:
        async def ripple(self, *, limit: int) -> Rippled:
            raise Unavailable(f"away, and {limit} are not told")

    engine.effects._jobs = Away()  # type: ignore[assignment]
    await engine.jobs.cancel(first.id)
    await engine.effects.drained()
    engine.effects._jobs = store.jobs

    assert (await engine.jobs.get(second.id)).status is JobStatus.PENDING
    assert await engine.effects.ripple() == 1
    assert (await engine.jobs.get(second.id)).status is JobStatus.FAILED


async def test_resume_brings_a_failed_job_to_its_end(engine: Engine, gateway: LocalGateway) -> None:
    session = await gateway.open_session(WORKER)
    job = await engine.jobs.submit(request({"a": {}, "b": {"needs": ("a",)}}))
    await fail(gateway, (await claim(gateway, session))["a"])

    await engine.jobs.resume(job.id)
    await complete(gateway, (await claim(gateway, session))["a"])
    await complete(gateway, (await claim(gateway, session))["b"])

    assert (await engine.jobs.get(job.id)).status is JobStatus.COMPLETED
    with pytest.raises(Conflict):
        await engine.jobs.resume(job.id)


async def test_what_is_not_there_or_not_allowed_is_told(engine: Engine) -> None:
    unknown = JobId(new_id())

    with pytest.raises(NotFound):
        await engine.jobs.get(unknown)
    with pytest.raises(NotFound):
        await engine.jobs.results(unknown)
    with pytest.raises(Invalid) as limit:
        await engine.jobs.list_jobs(JobFilter(), limit=0)
    with pytest.raises(Invalid) as scheduled:
        await engine.jobs.submit(request({"a": {}}, schedule=Raw(b'{"cron":"* * * * *"}')))
    with pytest.raises(Invalid) as dependency:
        await engine.jobs.submit(request({"a": {}}, depends_on=(unknown,)))
    assert [error.value.field for error in (limit, scheduled, dependency)] == ["limit", "schedule", "depends_on[0]"]


async def test_jobs_and_results_come_in_pages(engine: Engine, gateway: LocalGateway) -> None:
    session = await gateway.open_session(WORKER)
    jobs = [await engine.jobs.submit(request({f"{n}{key}": {} for key in "abc"})) for n in range(3)]
    for key, task in (await claim(gateway, session)).items():
        await complete(gateway, task, key)

    first = await engine.jobs.list_jobs(JobFilter(), limit=2)
    second = await engine.jobs.list_jobs(JobFilter(), limit=2, cursor=first.next_cursor)
    results = await engine.jobs.results(jobs[0].id, limit=2)
    rest = await engine.jobs.results(jobs[0].id, limit=2, cursor=results.next_cursor)

    assert [view.id for page in (first, second) for view in page.items] == [job.id for job in reversed(jobs)]
    assert second.next_cursor is None
    found = [bytes(view.result or b"") for page in (results, rest) for view in page.items]
    assert found == [b'"0c"', b'"0b"', b'"0a"']


async def test_a_large_job_is_looked_through_beside_the_loop(engine: Engine) -> None:
    tasks: dict[str, dict[str, Any]] = {f"k{number}": {} for number in range(300)}

    job = await engine.jobs.submit(request(tasks))
    with pytest.raises(Invalid):
        await engine.jobs.submit(request({**tasks, "bad": {"needs": ("nope",)}}))

    assert list(job.tasks) == list(tasks)
