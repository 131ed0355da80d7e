"""Jobs: a graph of tasks runs in the order of its edges, counts exactly, and ends as its tasks did."""

import pytest

from drumline.core.clock import ManualClock
from drumline.core.errors import NotFound
from drumline.core.ids import JobId
from drumline.core.job import JobCounts, JobStatus, RunIf
from drumline.core.state import Act, State
from drumline.ports.store import Changed, Settled, Settlement, Store
from tests.factories import OOPS, claim, new_id, open_session, settle, submit
from tests.job_factories import (
    claim_keys,
    counts_of,
    fails,
    finish,
    ids,
    job_of,
    job_view,
    nodes_by_key,
    run_all,
    states_in,
    status_of_job,
    submit_job,
)


async def test_a_diamond_runs_in_the_order_of_its_edges(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store)

    rounds = await run_all(store, session)

    assert rounds == [["a"], ["b", "c"], ["d"]]
    assert await status_of_job(store, job.id) is JobStatus.COMPLETED


@pytest.mark.parametrize("failing", ["", "a", "b"])
async def test_a_settlement_that_names_its_job_does_what_one_without_it_does(store: Store, failing: str) -> None:
    session = await open_session(store)
    named, unnamed = await submit_job(store), await submit_job(store)

    while claimed := await claim(store, session, limit=100):
        settlements = []
        for task in claimed:
            act = Act.FAIL if task.options.key == failing else Act.COMPLETE
            job = named.id if task.options.job == named.id else None
            settlements.append(Settlement(lease=task.lease, act=act, job=job))
        for part in (settlements[::2], settlements[1::2]):
            assert all(isinstance(answer, Settled) for answer in await store.settle(part))

    assert await states_in(store, named.id) == await states_in(store, unnamed.id)
    assert await counts_of(store, named.id) == await counts_of(store, unnamed.id)
    assert await status_of_job(store, named.id) is (JobStatus.FAILED if failing else JobStatus.COMPLETED)


async def test_a_retried_task_whose_settlement_names_its_job_is_queued_again(store: Store, clock: ManualClock) -> None:
    session = await open_session(store)
    job = await submit_job(store)
    (first,) = await claim(store, session)

    (answer,) = await store.settle([Settlement(lease=first.lease, act=Act.BACK_OFF, delay_ms=10, job=job.id)])

    assert isinstance(answer, Settled)
    assert answer.hint is not None
    clock.advance(1)
    assert await run_all(store, session) == [["a"], ["b", "c"], ["d"]]
    assert await status_of_job(store, job.id) is JobStatus.COMPLETED


async def test_a_job_says_what_was_asked_for(store: Store, clock: ManualClock) -> None:
    job = await submit_job(store, job_of(name="etl", owner="ada", retries=1, tags=("night",)))

    view = await job_view(store, job.id)

    assert (view.name, view.owner, view.tenant, view.created_at) == ("etl", "ada", "default", clock.now())
    assert (view.options.retries, view.options.tags) == (1, ("night",))
    assert view.status is JobStatus.PENDING
    assert view.counts == JobCounts(total=4, running=0)


async def test_only_tasks_that_need_nothing_wait_to_be_claimed(store: Store) -> None:
    job = await submit_job(store)

    assert await states_in(store, job.id) == {
        "a": State.QUEUED,
        "b": State.BLOCKED,
        "c": State.BLOCKED,
        "d": State.BLOCKED,
    }
    assert [hint.task for hint in job.effects.released] == ids(job, "a")


async def test_the_answer_to_a_settlement_offers_the_children(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store)
    claimed = await claim_keys(store, session)

    answer = await settle(store, claimed["a"].lease, Act.COMPLETE)

    assert sorted(hint.task for hint in answer.effects.released) == ids(job, "b", "c")


async def test_two_parents_settled_in_one_list_release_their_child_once(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": (), "c": ("a", "b")}))
    claimed = await claim_keys(store, session)

    answers = await store.settle([Settlement(lease=task.lease, act=Act.COMPLETE) for task in claimed.values()])

    released = [hint.task for answer in answers if isinstance(answer, Settled) for hint in answer.effects.released]
    assert released == ids(job, "c")
    assert list(await claim_keys(store, session)) == ["c"]


async def test_a_task_waits_for_the_last_of_its_parents(store: Store) -> None:
    session = await open_session(store)
    parents = {f"p{number}": () for number in range(20)}
    job = await submit_job(store, job_of({**parents, "child": tuple(parents)}))
    claimed = await claim_keys(store, session)

    for key in list(parents)[:-1]:
        await finish(store, claimed[key])
        assert (await states_in(store, job.id))["child"] is State.BLOCKED
    await finish(store, claimed["p19"])

    assert (await states_in(store, job.id))["child"] is State.QUEUED


async def test_the_counts_of_a_job_are_exact_after_every_act(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": (), "c": ("a",), "d": ("b",), "e": ()}))
    claimed = await claim_keys(store, session)

    assert (await counts_of(store, job.id)).running == 3
    await finish(store, claimed["a"])
    assert await counts_of(store, job.id) == JobCounts(total=5, completed=1, running=2)
    await finish(store, claimed["b"], Act.FAIL)
    assert await counts_of(store, job.id) == JobCounts(total=5, completed=1, failed=1, skipped=1, running=1)
    await store.control.cancel(ids(job, "c"))
    assert await counts_of(store, job.id) == JobCounts(
        total=5, completed=1, failed=1, skipped=1, cancelled=1, running=1
    )
    assert await status_of_job(store, job.id) is JobStatus.PROCESSING
    await finish(store, claimed["e"])
    assert await status_of_job(store, job.id) is JobStatus.FAILED


async def test_a_failure_skips_all_that_hangs_on_it_and_says_why(store: Store) -> None:
    session = await open_session(store)
    chain = {"a": (), "b": ("a",), "c": ("b",), "d": ("c",), "other": ("a",)}
    job = await submit_job(store, job_of(chain))

    await run_all(store, session, fails("b"))

    nodes = await nodes_by_key(store, job.id)
    assert [nodes[key].state for key in "abcd"] == [State.COMPLETED, State.FAILED, State.SKIPPED, State.SKIPPED]
    assert nodes["other"].state is State.COMPLETED
    assert (nodes["d"].reason, nodes["d"].cause) == ("b failed", "b")
    assert nodes["b"].reason == OOPS.message
    assert await status_of_job(store, job.id) is JobStatus.FAILED


async def test_a_task_with_a_second_parent_is_skipped_by_the_first_that_fails(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": (), "c": ("a", "b"), "d": ("c",)}))
    claimed = await claim_keys(store, session)

    answer = await settle(store, claimed["a"].lease, Act.FAIL)

    assert sorted(answer.effects.moved) == [(task, State.SKIPPED) for task in ids(job, "c", "d")]
    await finish(store, claimed["b"])
    assert await counts_of(store, job.id) == JobCounts(total=4, completed=1, failed=1, skipped=2, running=0)


async def test_a_cancelled_task_skips_what_hangs_on_it_and_the_job_is_cancelled(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": (), "c": ("a",)}))

    (answer,) = await store.control.cancel(ids(job, "a"))

    assert isinstance(answer, Changed)
    assert answer.effects.moved == ((job.tasks["c"], State.SKIPPED),)
    await run_all(store, session)
    nodes = await nodes_by_key(store, job.id)
    assert (nodes["c"].reason, nodes["c"].cause) == ("a was cancelled", "a")
    assert await status_of_job(store, job.id) is JobStatus.CANCELLED


async def test_a_poisoned_task_skips_what_hangs_on_it(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": ("a",)}))
    await claim_keys(store, session)

    reaped = await store.sessions.reap([(session, 0)], poison_after=1)

    assert reaped.poisoned == (job.tasks["a"],)
    assert reaped.effects.moved == ((job.tasks["b"], State.SKIPPED),)
    assert reaped.effects.jobs == ((job.id, JobStatus.FAILED),)
    assert await status_of_job(store, job.id) is JobStatus.FAILED


async def test_a_reaped_task_runs_again_and_its_job_goes_on(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": ("a",)}))
    await claim_keys(store, session)

    reaped = await store.sessions.reap([(session, 0)], poison_after=3)

    assert [hint.task for hint in reaped.requeued] == ids(job, "a")
    assert await run_all(store, await open_session(store)) == [["a"], ["b"]]
    assert await status_of_job(store, job.id) is JobStatus.COMPLETED


async def test_a_retried_attempt_does_not_end_its_task_in_the_job(store: Store, clock: ManualClock) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": ("a",)}))
    claimed = await claim_keys(store, session)

    answer = await settle(store, claimed["a"].lease, Act.BACK_OFF, delay_ms=1000)

    assert answer.state is State.QUEUED
    assert answer.hint is not None
    assert not answer.effects
    clock.advance(1.0)
    assert await run_all(store, session) == [["a"], ["b"]]
    assert await status_of_job(store, job.id) is JobStatus.COMPLETED


async def test_a_late_worker_cannot_end_a_task_of_a_job(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": ("a",)}))
    late = (await claim_keys(store, session))["a"]
    await store.sessions.reap([(session, 0)], poison_after=3)

    (answer,) = await store.settle([Settlement(lease=late.lease, act=Act.COMPLETE)])

    assert not isinstance(answer, Settled)
    assert await states_in(store, job.id) == {"a": State.QUEUED, "b": State.BLOCKED}


async def test_the_same_settlement_twice_counts_once(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": ("a",)}))
    task = (await claim_keys(store, session))["a"]
    await finish(store, task)

    answer = await settle(store, task.lease, Act.COMPLETE)

    assert answer.state is State.COMPLETED
    assert not answer.effects
    assert await counts_of(store, job.id) == JobCounts(total=2, completed=1, running=0)


async def test_tasks_of_jobs_and_plain_ones_are_settled_in_one_list(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": ("a",)}))
    other = await submit_job(store, job_of({"a": (), "b": ("a",)}))
    await submit(store)
    claimed = await claim(store, session, limit=10)

    answers = await store.settle([Settlement(lease=task.lease, act=Act.COMPLETE) for task in claimed])

    assert [answer.state for answer in answers if isinstance(answer, Settled)] == [State.COMPLETED] * 3
    effects = [hint.task for answer in answers if isinstance(answer, Settled) for hint in answer.effects.released]
    assert sorted(effects) == sorted([job.tasks["b"], other.tasks["b"]])


async def test_a_clean_up_runs_however_its_parents_ended(store: Store) -> None:
    session = await open_session(store)
    needs = {"a": (), "b": ("a",), "clean": ("a", "b")}
    job = await submit_job(store, job_of(needs, run_if={"clean": RunIf.ALL_DONE}))

    rounds = await run_all(store, session, fails("a"))

    assert rounds == [["a"], ["clean"]]
    assert (await states_in(store, job.id))["b"] is State.SKIPPED
    assert await status_of_job(store, job.id) is JobStatus.FAILED


async def test_an_alarm_runs_only_if_something_failed(store: Store) -> None:
    session = await open_session(store)
    needs = {"a": (), "b": (), "alarm": ("a", "b"), "after": ("alarm",), "second": ("alarm",)}
    run_if = {"alarm": RunIf.ANY_FAILED, "second": RunIf.ANY_FAILED}
    quiet = await submit_job(store, job_of(needs, run_if=run_if))

    assert await run_all(store, session) == [["a", "b"]]

    nodes = await nodes_by_key(store, quiet.id)
    assert [nodes[key].state for key in ("alarm", "after", "second")] == [State.SKIPPED] * 3
    assert (nodes["alarm"].reason, nodes["alarm"].cause) == ("nothing that it needs has failed", None)
    assert (nodes["after"].reason, nodes["after"].cause) == ("alarm was not needed", None)
    assert await status_of_job(store, quiet.id) is JobStatus.COMPLETED

    loud = await submit_job(store, job_of(needs, run_if=run_if))

    assert await run_all(store, session, fails("b")) == [["a", "b"], ["alarm"], ["after"]]
    assert await status_of_job(store, loud.id) is JobStatus.FAILED


async def test_an_alarm_waits_for_all_its_parents_even_after_the_first_failure(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": (), "alarm": ("a", "b")}, run_if={"alarm": RunIf.ANY_FAILED}))
    claimed = await claim_keys(store, session)

    await finish(store, claimed["a"], Act.FAIL)
    assert (await states_in(store, job.id))["alarm"] is State.BLOCKED
    await finish(store, claimed["b"])

    assert (await states_in(store, job.id))["alarm"] is State.QUEUED


async def test_a_delay_counts_from_the_release(store: Store, clock: ManualClock) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": ("a",)}, task={"delay": 5}))
    clock.advance(60.0)

    assert await run_all(store, session) == [["a"]]

    node = (await nodes_by_key(store, job.id))["b"]
    assert (node.state, node.due_at) == (State.QUEUED, clock.now() + 5000)
    clock.advance(5.0)
    assert await run_all(store, session) == [["b"]]


async def test_a_job_has_started_when_a_task_of_it_was_claimed(store: Store, clock: ManualClock) -> None:
    session = await open_session(store)
    job = await submit_job(store)
    clock.advance(1.0)
    claimed = await claim_keys(store, session)

    assert (await store.jobs.start_jobs([job.id])).jobs == ((job.id, JobStatus.PROCESSING),)
    assert not await store.jobs.start_jobs([job.id, JobId(new_id())])

    view = await job_view(store, job.id)
    assert (view.status, view.started_at) == (JobStatus.PROCESSING, clock.now())
    clock.advance(1.0)
    await finish(store, claimed["a"])
    assert (await job_view(store, job.id)).started_at == view.started_at


async def test_a_start_that_nobody_noted_is_known_by_the_first_end(store: Store, clock: ManualClock) -> None:
    session = await open_session(store)
    job = await submit_job(store)
    started_at = clock.now()
    claimed = await claim_keys(store, session)
    clock.advance(1.0)

    await finish(store, claimed["a"])

    view = await job_view(store, job.id)
    assert (view.status, view.started_at) == (JobStatus.PROCESSING, started_at)


async def test_a_task_says_which_job_it_belongs_to(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store)
    claimed = (await claim_keys(store, session))["a"]

    (view,) = await store.queries.get([job.tasks["b"]])

    assert (claimed.options.job, claimed.options.key) == (job.id, "a")
    assert view is not None
    assert (view.options.job, view.options.key, view.due_at) == (job.id, "b", None)


async def test_another_tenant_sees_nothing_of_a_job(store: Store) -> None:
    job = await submit_job(store, job_of(tenant="ours"))

    assert await store.jobs.get_jobs([job.id], tenant="theirs") == [None]
    with pytest.raises(NotFound):
        await store.jobs.nodes(job.id, tenant="theirs")
    (answer,) = await store.jobs.cancel_jobs([job.id], tenant="theirs")
    assert isinstance(answer, NotFound)


async def test_a_wide_job_runs_whole(store: Store) -> None:
    session = await open_session(store)
    middle = [f"m{number}" for number in range(300)]
    needs = {"first": (), **dict.fromkeys(middle, ("first",)), "last": tuple(middle)}
    job = await submit_job(store, job_of(needs))

    await finish(store, (await claim_keys(store, session))["first"])
    claimed = await claim_keys(store, session, limit=300)
    await store.settle([Settlement(lease=task.lease, act=Act.COMPLETE) for task in claimed.values()])

    assert len(claimed) == 300
    assert list(await claim_keys(store, session)) == ["last"]
    assert (await counts_of(store, job.id)).completed == 301


async def test_a_long_chain_is_skipped_to_its_end(store: Store) -> None:
    session = await open_session(store)
    needs: dict[str, tuple[str, ...]] = {"k0": ()} | {f"k{n}": (f"k{n - 1}",) for n in range(1, 1000)}
    job = await submit_job(store, job_of(needs))

    await finish(store, (await claim_keys(store, session))["k0"], Act.FAIL)

    assert await counts_of(store, job.id) == JobCounts(total=1000, failed=1, skipped=999, running=0)
    assert (await nodes_by_key(store, job.id))["k999"].cause == "k0"


async def test_results_are_those_of_tasks_that_have_completed(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": (), "c": ("a",)}))
    claimed = await claim_keys(store, session)
    await finish(store, claimed["a"], result={"rows": [1, 2]})
    await finish(store, claimed["b"], Act.FAIL)

    found = await store.jobs.results([(job.id, key) for key in ("a", "b", "c", "nothing")])

    assert [None if raw is None else bytes(raw) for raw in found] == [b'{"rows":[1,2]}', None, None, None]
