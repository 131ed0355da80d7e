"""Acts on one job from two processes at the same moment: nothing is lost, doubled or stuck, whatever the order.

Each pair is run many times at once, and then in lock-step: a third party holds the job's row until both wait for it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import asyncpg
import pytest

from drumline.core.errors import Conflict, Fenced
from drumline.core.ids import JobId
from drumline.core.job import ENDED, JobStatus, RunIf
from drumline.core.state import TERMINAL, Act, State
from drumline.core.task import ClaimedTask
from drumline.ports.jobs import ChangedJob, SubmittedJob
from drumline.ports.store import Changed, Reaped, Settled, Settlement
from drumline.stores.postgres import PostgresStore
from tests.factories import OOPS, claim_request, open_session
from tests.job_factories import claim_keys, job_of, job_view, nodes_by_key, run_all, submit_job
from tests.postgres.polling import until

ROUNDS: Final = 12
NEEDS: Final = {"a": (), "b": (), "child": ("a", "b"), "clean": ("a", "b"), "after": ("child",)}


class Case:
    """A job whose two roots are running."""

    def __init__(self, job: SubmittedJob, held: dict[str, ClaimedTask], session: int) -> None:
        self.job = job
        self.held = held
        self.session = session


Deed = Callable[[PostgresStore, Case], Awaitable[object]]


def settling(key: str, act: Act = Act.COMPLETE) -> Deed:
    async def deed(store: PostgresStore, case: Case) -> object:
        (answer,) = await store.settle([Settlement(lease=case.held[key].lease, act=act, error=OOPS)])
        return answer

    return deed


def settling_with_hint(key: str) -> Deed:
    async def deed(store: PostgresStore, case: Case) -> object:
        lease = case.held[key].lease
        (answer,) = await store.settle([Settlement(lease=lease, act=Act.COMPLETE, job=case.job.id)])
        return answer

    return deed


async def settling_both(store: PostgresStore, case: Case) -> object:
    return await store.settle([Settlement(lease=task.lease, act=Act.COMPLETE) for task in case.held.values()])


async def cancelling_job(store: PostgresStore, case: Case) -> object:
    (answer,) = await store.jobs.cancel_jobs([case.job.id])
    return answer


async def forcing_job(store: PostgresStore, case: Case) -> object:
    (answer,) = await store.jobs.cancel_jobs([case.job.id], force=True)
    return answer


async def cancelling_child(store: PostgresStore, case: Case) -> object:
    (answer,) = await store.control.cancel([case.job.tasks["child"]])
    return answer


async def resuming(store: PostgresStore, case: Case) -> object:
    (answer,) = await store.jobs.resume_jobs([case.job.id])
    return answer


async def retrying(store: PostgresStore, case: Case) -> object:
    (answer,) = await store.control.retry([case.job.tasks["a"]])
    return answer


async def reaping(store: PostgresStore, case: Case) -> object:
    return await store.sessions.reap([(case.session, 0)], poison_after=1)  # type: ignore[list-item]


async def starting(store: PostgresStore, case: Case) -> object:
    return await store.jobs.start_jobs([case.job.id])


DEEDS: Final[dict[str, Deed]] = {
    "complete a": settling("a"),
    "fail a": settling("a", Act.FAIL),
    "complete b": settling_with_hint("b"),
    "fail b": settling("b", Act.FAIL),
    "release b": settling("b", Act.RELEASE),
    "complete both": settling_both,
    "cancel job": cancelling_job,
    "force job": forcing_job,
    "cancel child": cancelling_child,
    "resume": resuming,
    "retry a": retrying,
    "reap": reaping,
    "start": starting,
}
PAIRS: Final = [
    ("complete a", "complete b"),
    ("complete a", "fail b"),
    ("fail a", "fail b"),
    ("fail a", "release b"),
    ("complete both", "complete a"),
    ("complete a", "cancel job"),
    ("complete both", "cancel job"),
    ("complete both", "force job"),
    ("complete a", "cancel child"),
    ("fail a", "cancel child"),
    ("fail a", "resume"),
    ("fail a", "retry a"),
    ("complete a", "reap"),
    ("fail a", "reap"),
    ("cancel job", "reap"),
    ("cancel job", "resume"),
    ("resume", "reap"),
    ("cancel job", "cancel child"),
    ("start", "complete a"),
]


async def prepared(store: PostgresStore) -> Case:
    session = await open_session(store)
    job = await submit_job(store, job_of(NEEDS, run_if={"clean": RunIf.ALL_DONE}))
    (claim,) = await store.claim([claim_request(session, hints=(job.tasks["a"], job.tasks["b"]))])
    return Case(job, {task.options.key or "": task for task in claim.tasks}, session)


async def check(store: PostgresStore, case: Case) -> None:
    """See that the job is whole now, and that whoever runs what is left brings it to an end."""
    await consistent(store, case.job.id)
    await store.sessions.reap([(case.session, 0)], poison_after=9)  # type: ignore[list-item]
    bob = await open_session(store)
    for _ in range(5):
        await run_all(store, bob)
    view = await consistent(store, case.job.id)
    assert view in ENDED, f"the job is stuck: {await nodes_by_key(store, case.job.id)}"


async def consistent(store: PostgresStore, job: JobId) -> JobStatus:
    nodes = await nodes_by_key(store, job)
    view = await job_view(store, job)
    states = [node.state for node in nodes.values()]
    counts = view.counts
    assert (counts.completed, counts.failed, counts.cancelled, counts.skipped) == tuple(
        states.count(state) for state in (State.COMPLETED, State.FAILED, State.CANCELLED, State.SKIPPED)
    )
    assert (view.status in ENDED) is all(state in TERMINAL for state in states)
    for node in nodes.values():
        ended = [nodes[parent].state in TERMINAL for parent in node.needs]
        if node.run_if is RunIf.ALL_DONE and node.state is not State.CANCELLED and node.attempt == 0:
            assert (node.state is State.BLOCKED) is (not all(ended)), nodes
    return view.status


def released(answers: list[object]) -> list[str]:
    found: list[str] = []
    for answer in answers:
        for each in answer if isinstance(answer, list) else [answer]:
            if isinstance(each, Settled | Changed | ChangedJob | Reaped):
                found += [hint.task for hint in each.effects.released]
    return found


@pytest.mark.parametrize(("one", "two"), PAIRS)
async def test_two_acts_at_once_leave_the_job_whole(
    store: PostgresStore, other: PostgresStore, one: str, two: str
) -> None:
    cases = [await prepared(store) for _ in range(ROUNDS)]

    async def both(case: Case, turn: int) -> list[object]:
        first, second = (store, other) if turn % 2 else (other, store)
        return list(await asyncio.gather(DEEDS[one](first, case), DEEDS[two](second, case)))

    answers = [await both(case, turn) for turn, case in enumerate(cases)]

    for case, said in zip(cases, answers, strict=True):
        assert len(released(said)) == len(set(released(said))), "a task was released twice"
        await check(store, case)


@pytest.mark.services
@pytest.mark.parametrize(("one", "two"), [pair for each in PAIRS for pair in (each, each[::-1]) if "start" not in each])
async def test_acts_that_wait_for_the_same_job_are_done_one_after_the_other(
    store: PostgresStore, other: PostgresStore, postgres_url: str, one: str, two: str
) -> None:
    case = await prepared(store)
    holder, watcher = await asyncpg.connect(postgres_url), await asyncpg.connect(postgres_url)
    await holder.execute("BEGIN")
    await holder.execute("SELECT 1 FROM drumline.job WHERE id = $1 FOR UPDATE", case.job.id)

    async def waiting(count: int) -> bool:
        found = await watcher.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        return int(found) >= count

    first = asyncio.ensure_future(DEEDS[one](store, case))
    await until(lambda: waiting(1))
    second = asyncio.ensure_future(DEEDS[two](other, case))
    await until(lambda: waiting(2))
    await holder.execute("COMMIT")
    said = [await first, await second]

    await holder.close()
    await watcher.close()
    assert len(released(said)) == len(set(released(said))), "a task was released twice"
    await check(store, case)


async def test_two_parents_settled_by_two_processes_release_every_child_once(
    store: PostgresStore, other: PostgresStore
) -> None:
    session = await open_session(store)
    parents = [f"p{number}" for number in range(40)]
    children = {f"c{number}": (f"p{number}", f"p{(number + 1) % 40}") for number in range(40)}
    job = await submit_job(store, job_of({**dict.fromkeys(parents, ()), **children}))
    held = await claim_keys(store, session, limit=40)

    answers = await asyncio.gather(
        *(
            (store if number % 2 else other).settle([Settlement(lease=held[key].lease, act=Act.COMPLETE)])
            for number, key in enumerate(parents)
        )
    )

    found = released(list(answers))
    assert sorted(found) == sorted(job.tasks[key] for key in children)
    assert len(await claim_keys(store, session, limit=100)) == 40


async def test_jobs_that_end_in_each_other_s_settlements_do_not_wait_in_a_circle(
    store: PostgresStore, other: PostgresStore
) -> None:
    session = await open_session(store)
    for _ in range(ROUNDS):
        first = await submit_job(store, job_of({"x1": (), "x2": ()}))
        second = await submit_job(store, job_of({"y1": (), "y2": ()}))
        held = await claim_keys(store, session)

        one = [Settlement(lease=held[key].lease, act=Act.COMPLETE) for key in ("x1", "y1")]
        two = [Settlement(lease=held[key].lease, act=Act.COMPLETE) for key in ("y2", "x2")]
        answers = await asyncio.gather(store.settle(one), other.settle(two))

        assert all(isinstance(answer, Settled) for each in answers for answer in each)
        assert await consistent(store, first.id) is JobStatus.COMPLETED
        assert await consistent(store, second.id) is JobStatus.COMPLETED


async def test_a_job_submitted_while_the_one_it_needs_ends_is_told_of_it(
    store: PostgresStore, other: PostgresStore
) -> None:
    session = await open_session(store)
    for _ in range(ROUNDS):
        needed = await submit_job(store, job_of({"x": ()}))
        held = await claim_keys(store, session)

        waiting, _ = await asyncio.gather(
            submit_job(other, job_of({"y": ()}, depends_on=(needed.id,))),
            store.settle([Settlement(lease=held["x"].lease, act=Act.COMPLETE)]),
        )

        await store.jobs.ripple()
        assert (await nodes_by_key(store, waiting.id))["y"].state is State.QUEUED
        await run_all(store, session)


async def test_two_processes_that_ripple_at_once_tell_each_job_once(store: PostgresStore, other: PostgresStore) -> None:
    session = await open_session(store)
    first = await submit_job(store, job_of({"x": ()}))
    second = await submit_job(store, job_of({"y": ()}))
    waiting = [await submit_job(store, job_of({f"w{n}": ()}, depends_on=(first.id, second.id))) for n in range(20)]
    await run_all(store, session)

    rippled = await asyncio.gather(store.jobs.ripple(), other.jobs.ripple(), store.jobs.ripple())

    hints = [hint.task for each in rippled for hint in each.effects.released]
    assert sorted(hints) == sorted(task for job in waiting for task in job.tasks.values())


async def test_a_job_that_is_told_twice_of_one_end_goes_on_waiting_for_the_other(
    store: PostgresStore, other: PostgresStore
) -> None:
    session = await open_session(store)
    running = await submit_job(store, job_of({"x": ()}))
    await claim_keys(store, session)
    done = await submit_job(store, job_of({"y": ()}))
    waiting = [await submit_job(store, job_of({f"w{n}": ()}, depends_on=(running.id, done.id))) for n in range(20)]
    await run_all(store, session)

    await asyncio.gather(store.jobs.ripple(), other.jobs.ripple(), store.jobs.ripple())

    assert {(await job_view(store, job.id)).waits_for for job in waiting} == {1}
    assert await claim_keys(store, session) == {}


async def test_a_settlement_that_lost_to_a_cancel_is_refused(store: PostgresStore) -> None:
    case = await prepared(store)
    await store.jobs.cancel_jobs([case.job.id], force=True)

    (answer,) = await store.settle([Settlement(lease=case.held["a"].lease, act=Act.COMPLETE, job=case.job.id)])

    assert isinstance(answer, Fenced)
    assert isinstance(answer, Conflict)
