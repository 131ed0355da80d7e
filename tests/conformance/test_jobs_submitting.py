"""Jobs come in whole or not at all, once for each key, and are found again."""

import asyncio

from drumline.core.clock import Instant, ManualClock
from drumline.core.errors import Invalid, KeyReused
from drumline.core.ids import JobId
from drumline.core.job import JobStatus
from drumline.core.state import Act
from drumline.ports.jobs import JobFilter, SubmittedJob
from drumline.ports.store import Store
from tests.conformance.conftest import MakeStore
from tests.factories import new_id, open_session
from tests.job_factories import claim_keys, fails, finish, job_of, job_view, nodes_by_key, run_all, submit_job


async def test_the_same_key_gives_the_first_job(store: Store) -> None:
    first = await submit_job(store, job_of(idempotency_key="k"))

    again = await submit_job(store, job_of(idempotency_key="k"))

    assert (again.id, again.tasks, again.created) == (first.id, first.tasks, False)
    assert await store.jobs.list_jobs(JobFilter(), limit=10) == [await _listed(store, first.id)]


async def test_a_key_with_another_body_is_refused(store: Store) -> None:
    first = await submit_job(store, job_of(idempotency_key="k"))

    (answer,) = await store.jobs.submit_jobs([job_of({"a": ()}, idempotency_key="k")])

    assert isinstance(answer, KeyReused)
    assert first.id in answer.message


async def test_a_key_belongs_to_its_tenant(store: Store) -> None:
    await submit_job(store, job_of(idempotency_key="k", tenant="ours"))

    theirs = await submit_job(store, job_of({"a": ()}, idempotency_key="k", tenant="theirs"))

    assert theirs.created


async def test_the_same_key_twice_in_one_list_makes_one_job(store: Store) -> None:
    answers = await store.jobs.submit_jobs(
        [job_of(idempotency_key="k"), job_of(idempotency_key="k"), job_of({"x": ()})]
    )

    made = [answer for answer in answers if isinstance(answer, SubmittedJob)]
    assert [answer.created for answer in made] == [True, False, True]
    assert made[0].id == made[1].id
    assert made[0].tasks == made[1].tasks


async def test_the_same_key_at_the_same_instant_makes_one_job(make_store: MakeStore, clock: ManualClock) -> None:
    one = await make_store(clock)
    # A database in memory is its store's own.
    other = one if type(one).__name__ == "SqliteStore" else await make_store(clock)

    answers = await asyncio.gather(
        *(submit_job(store, job_of(idempotency_key="k")) for store in (one, other) for _ in range(10))
    )

    assert len({answer.id for answer in answers}) == 1
    assert sum(answer.created for answer in answers) == 1
    await asyncio.gather(one.close(), *([] if other is one else [other.close()]))


async def test_the_very_same_job_twice_gets_the_first_answer(store: Store) -> None:
    job = job_of()
    first = await submit_job(store, job)

    again = await submit_job(store, job)

    assert (again.id, again.tasks, again.created) == (first.id, first.tasks, True)


async def test_a_refused_job_leaves_nothing_and_does_not_hold_up_others(store: Store) -> None:
    unknown = JobId(new_id())
    done = await submit_job(store)

    refused, stored = await store.jobs.submit_jobs([job_of(depends_on=(done.id, unknown)), job_of({"only": ()})])

    assert isinstance(refused, Invalid)
    assert refused.field == "depends_on[1]"
    assert isinstance(stored, SubmittedJob)
    assert len(await store.jobs.list_jobs(JobFilter(), limit=10)) == 2


async def test_another_tenant_s_job_cannot_be_waited_for(store: Store) -> None:
    theirs = await submit_job(store, job_of(tenant="theirs"))

    (answer,) = await store.jobs.submit_jobs([job_of(tenant="ours", depends_on=(theirs.id,))])

    assert isinstance(answer, Invalid)
    assert answer.field == "depends_on[0]"


async def test_jobs_are_listed_newest_first_and_narrowed(store: Store) -> None:
    session = await open_session(store)
    failed = await submit_job(store, job_of({"a": ()}, name="etl", owner="ada", tags=("x",)))
    await run_all(store, session, fails("a"))
    done = await submit_job(store, job_of({"a": ()}, name="etl", owner="bob"))
    await run_all(store, session)
    waiting = await submit_job(store, job_of(name="other", owner="ada", tenant="theirs"))

    async def listed(**which: object) -> list[JobId]:
        return [view.id for view in await store.jobs.list_jobs(JobFilter(**which), limit=10)]  # type: ignore[arg-type]

    assert await listed() == [waiting.id, done.id, failed.id]
    assert await listed(name="etl") == [done.id, failed.id]
    assert await listed(owner="ada") == [waiting.id, failed.id]
    assert await listed(tag="x") == [failed.id]
    assert await listed(tenant="theirs") == [waiting.id]
    assert await listed(statuses=frozenset({JobStatus.FAILED, JobStatus.PENDING})) == [waiting.id, failed.id]
    assert [view.id for view in await store.jobs.list_jobs(JobFilter(), limit=1, before=waiting.id)] == [done.id]


async def test_nodes_come_in_the_order_given_and_name_what_they_need(store: Store) -> None:
    needs = {"z": (), "m": ("z",), "a": ("z", "m")}
    job = await submit_job(store, job_of(needs))

    nodes = await store.jobs.nodes(job.id)

    assert {node.key: node.needs for node in nodes} == needs
    assert [node.key for node in nodes] == ["z", "m", "a"]


async def test_a_job_that_ended_long_ago_is_pruned_as_a_whole(store: Store, clock: ManualClock) -> None:
    session = await open_session(store)
    old = await submit_job(store)
    await run_all(store, session)
    clock.advance(100.0)
    young = await submit_job(store)
    await run_all(store, session)

    pruned = await store.prune(ended_before=Instant(clock.now() - 1), limit=100)

    assert pruned == 4
    assert await store.jobs.get_jobs([old.id]) == [None]
    assert await store.queries.get(list(old.tasks.values())) == [None] * 4
    assert (await job_view(store, young.id)).status is JobStatus.COMPLETED


async def test_no_task_of_a_living_job_is_pruned(store: Store, clock: ManualClock) -> None:
    session = await open_session(store)
    job = await submit_job(store)
    await finish(store, (await claim_keys(store, session))["a"], result="kept")
    clock.advance(1000.0)

    assert await store.prune(ended_before=clock.now(), limit=100) == 0

    assert len(await nodes_by_key(store, job.id)) == 4
    assert await store.jobs.results([(job.id, "a")]) != [None]


async def test_a_pruned_key_may_be_used_again(store: Store, clock: ManualClock) -> None:
    session = await open_session(store)
    first = await submit_job(store, job_of({"a": ()}, idempotency_key="k"))
    await run_all(store, session)
    clock.advance(100.0)
    await store.prune(ended_before=clock.now(), limit=100)

    again = await submit_job(store, job_of({"b": ()}, idempotency_key="k"))

    assert again.created
    assert again.id != first.id


async def test_a_large_job_is_pruned_although_it_is_more_than_a_batch(store: Store, clock: ManualClock) -> None:
    session = await open_session(store)
    await submit_job(store, job_of({f"k{n}": () for n in range(50)}))
    await submit_job(store, job_of({f"l{n}": () for n in range(50)}))
    await run_all(store, session, lambda _: Act.COMPLETE)
    clock.advance(100.0)

    counts = [await store.prune(ended_before=clock.now(), limit=20) for _ in range(3)]

    assert counts == [50, 50, 0]


async def _listed(store: Store, job: JobId) -> object:
    (view,) = await store.jobs.list_jobs(JobFilter(), limit=1)
    assert view.id == job
    return view
