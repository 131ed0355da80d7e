"""A task of a job is leased to a claim that waits, in the transaction that releases it: as if it had been claimed."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from drumline.core.clock import ManualClock
from drumline.core.errors import Fenced
from drumline.core.flow import LimitRequest, accept_limit
from drumline.core.ids import SessionId
from drumline.core.job import JobStatus
from drumline.core.state import Act, State
from drumline.core.task import ClaimedTask
from drumline.ports.hint import Effects
from drumline.ports.jobs import SubmittedJob
from drumline.ports.store import ClaimRequest, Settled, Settlement, Store
from tests.conformance.test_outbox import of_task, start, words
from tests.factories import beat, claim, claim_request, open_session, settle, submit
from tests.job_factories import claim_keys, counts_of, finish, ids, job_of, states_in, status_of_job, submit_job

NONCE = 77
CHAIN = {"a": (), "b": ("a",)}


async def complete(store: Store, task: ClaimedTask, *takers: ClaimRequest, named: bool = True) -> Effects:
    """Complete a task of a job while claims wait; `named` says whether its job is known to whoever settles."""
    job = task.options.job if named else None
    (answer,) = await store.settle([Settlement(lease=task.lease, act=Act.COMPLETE, job=job)], takers=takers)
    assert isinstance(answer, Settled)
    return answer.effects


def waiting(session: SessionId, *names: str, **fields: Any) -> ClaimRequest:
    return claim_request(session, *names, **({"nonce": NONCE} | fields))


async def begun(
    store: Store, needs: dict[str, tuple[str, ...]] | None = None, **fields: Any
) -> tuple[SessionId, SubmittedJob, ClaimedTask]:
    """Return a session that runs the first task of a job."""
    session = await open_session(store)
    job = await submit_job(store, job_of(needs or CHAIN, **fields))
    return session, job, (await claim_keys(store, session))["a"]


@pytest.mark.parametrize("named", [True, False])
async def test_what_is_released_is_leased_to_a_claim_that_waits(store: Store, *, named: bool) -> None:
    ada, job, first = await begun(store)

    effects = await complete(store, first, waiting(ada), named=named)

    assert effects.claim is not None
    assert list(effects.claim.tasks) == await claim(store, ada, nonce=NONCE, again=True)
    assert effects.released == ()
    (view,) = await store.queries.get(ids(job, "b"))
    assert view is not None
    assert (view.state, view.epoch, view.attempt, view.worker) == (State.RUNNING, 1, 1, ada)


async def test_its_lease_completes_it_and_the_job(store: Store) -> None:
    ada, job, first = await begun(store)
    effects = await complete(store, first, waiting(ada))
    assert effects.claim is not None
    (second,) = effects.claim.tasks

    await finish(store, second)

    assert await status_of_job(store, job.id) is JobStatus.COMPLETED
    assert (await counts_of(store, job.id)).completed == 2


async def test_it_is_nobody_elses(store: Store) -> None:
    ada, job, first = await begun(store)
    bob = await open_session(store)

    await complete(store, first, waiting(ada))

    assert await claim(store, bob) == []
    assert await claim(store, bob, hints=tuple(ids(job, "b"))) == []


async def test_a_claim_is_given_no_more_than_it_asks_for_and_the_rest_is_offered(store: Store) -> None:
    children: dict[str, tuple[str, ...]] = {f"c{number}": ("a",) for number in range(5)}
    ada, job, first = await begun(store, {"a": (), **children})

    effects = await complete(store, first, waiting(ada, limit=2))

    assert effects.claim is not None
    leased = [task.lease.task for task in effects.claim.tasks]
    assert len(leased) == 2
    assert sorted([*leased, *(hint.task for hint in effects.released)]) == sorted(ids(job, *children))
    assert len(await claim_keys(store, await open_session(store))) == 3


async def _closed(store: Store, session: SessionId) -> ClaimRequest:
    await store.sessions.close_session(session)
    return waiting(session)


async def _draining(store: Store, session: SessionId) -> ClaimRequest:
    await store.sessions.drain_session(session)
    return waiting(session)


async def _paused(store: Store, session: SessionId) -> ClaimRequest:
    await store.control.pause_queue("default", tenant="default")
    return waiting(session)


async def _limited(store: Store, session: SessionId) -> ClaimRequest:
    await store.limits.set_limit(accept_limit("few", LimitRequest(task="work", max_concurrent=9), tenant="default"))
    return waiting(session)


async def _of_other_names(_: Store, session: SessionId) -> ClaimRequest:
    return waiting(session, "other")


async def _of_other_queues(_: Store, session: SessionId) -> ClaimRequest:
    return waiting(session, queues=("mail",))


async def _of_another_tenant(_: Store, session: SessionId) -> ClaimRequest:
    return waiting(session, tenant="acme")


@pytest.mark.parametrize(
    "taker", [_closed, _draining, _paused, _limited, _of_other_names, _of_other_queues, _of_another_tenant]
)
async def test_a_claim_that_would_be_given_nothing_is_leased_nothing(
    store: Store, taker: Callable[[Store, SessionId], Awaitable[ClaimRequest]]
) -> None:
    _, job, first = await begun(store)
    request = await taker(store, await open_session(store))

    effects = await complete(store, first, request)

    assert effects.claim is None
    assert [hint.task for hint in effects.released] == ids(job, "b")
    assert (await states_in(store, job.id))["b"] is State.QUEUED


async def test_of_several_claims_the_first_that_can_run_it_is_leased_it(store: Store) -> None:
    ada, job, first = await begun(store)
    bob = await open_session(store)

    effects = await complete(store, first, waiting(ada, "other"), waiting(bob, nonce=78), waiting(ada, nonce=79))

    assert effects.claim is not None
    assert [task.lease.nonce for task in effects.claim.tasks] == [78]
    (view,) = await store.queries.get(ids(job, "b"))
    assert view is not None
    assert view.worker == bob


async def test_what_is_not_due_yet_waits(store: Store, clock: ManualClock) -> None:
    ada = await open_session(store)
    job = await submit_job(store, job_of(CHAIN, task={"delay": "5s"}))
    clock.advance(5)
    first = (await claim_keys(store, ada))["a"]

    effects = await complete(store, first, waiting(ada))

    assert effects.claim is None
    assert [hint.task for hint in effects.released] == ids(job, "b")


async def test_a_settlement_that_is_repeated_leases_nothing_again(store: Store) -> None:
    ada, job, first = await begun(store)
    await complete(store, first, waiting(ada))

    again = await complete(store, first, waiting(ada, nonce=78))

    assert again.claim is None
    (view,) = await store.queries.get(ids(job, "b"))
    assert view is not None
    assert (view.epoch, view.attempt) == (1, 1)


async def test_a_late_worker_releases_and_leases_nothing(store: Store) -> None:
    ada, job, first = await begun(store)
    await settle(store, first.lease, Act.RELEASE)
    late = Settlement(lease=first.lease, act=Act.COMPLETE, job=first.options.job)

    await store.settle([late], takers=[waiting(ada)])

    assert await states_in(store, job.id) == {"a": State.QUEUED, "b": State.BLOCKED}


async def test_a_wrong_lease_is_refused(store: Store) -> None:
    ada, job, first = await begun(store)
    wrong = replace(first.lease, nonce=first.lease.nonce + 1)

    (answer,) = await store.settle(
        [Settlement(lease=wrong, act=Act.COMPLETE, job=first.options.job)], takers=[waiting(ada)]
    )

    assert isinstance(answer, Fenced)
    assert (await states_in(store, job.id))["b"] is State.BLOCKED


async def test_what_a_failure_lets_run_is_leased_too(store: Store) -> None:
    ada, job, first = await begun(store, run_if={"b": "any_failed"})
    failed = Settlement(lease=first.lease, act=Act.FAIL, job=first.options.job)

    (answer,) = await store.settle([failed], takers=[waiting(ada)])

    assert isinstance(answer, Settled)
    assert answer.effects.claim is not None
    assert [task.lease.task for task in answer.effects.claim.tasks] == ids(job, "b")


async def test_plain_tasks_release_nothing_to_a_claim_that_waits(store: Store) -> None:
    ada = await open_session(store)
    await submit(store)
    (task,) = await claim(store, ada, limit=1)
    await submit(store)

    effects = await complete(store, task, waiting(ada))

    assert effects.claim is None
    assert len(await claim(store, ada)) == 1


async def test_the_log_says_that_it_was_released_and_then_claimed(store: Store) -> None:
    began_at = await start(store)
    ada, job, first = await begun(store)

    await complete(store, first, waiting(ada))

    assert words(await of_task(store, began_at, job.tasks["b"]))[-2:] == ["unblocked", "claimed"]


async def test_if_its_worker_never_hears_of_it_it_is_released_after_two_beats(store: Store, clock: ManualClock) -> None:
    ada, job, first = await begun(store)
    await complete(store, first, waiting(ada))

    for _ in range(2):
        clock.advance(5)
        await store.sessions.beat([beat(ada)])
        await store.sessions.reap([], poison_after=5)

    (view,) = await store.queries.get(ids(job, "b"))
    assert view is not None
    assert (view.state, view.attempt, view.crashes) == (State.QUEUED, 0, 0)
