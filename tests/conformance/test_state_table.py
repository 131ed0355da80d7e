"""Every act on every state does what the one table says, on every store."""

from collections.abc import Awaitable, Callable

import pytest

from drumline.core.errors import DrumlineError
from drumline.core.ids import SessionId, TaskId
from drumline.core.lease import Lease
from drumline.core.state import SETTLING, TRANSITIONS, Act, State
from drumline.core.task import ClaimedTask
from drumline.ports.jobs import SubmittedJob
from drumline.ports.store import Change, Changed, Settled, Settlement, Store
from tests.durable_factories import signal
from tests.factories import OOPS, claim_one, claim_request, open_session, settle, state_of, submit
from tests.job_factories import claim_keys, job_of, submit_job

REACHABLE = [State.QUEUED, State.RUNNING, State.COMPLETED, State.FAILED, State.CANCELLED]
ACTS = [act for act in Act if act not in {Act.UNBLOCK, Act.SKIP, Act.RESUME}]

_ENDS = {State.COMPLETED: Act.COMPLETE, State.FAILED: Act.FAIL, State.CANCELLED: Act.STOP}


async def bring_to(store: Store, state: State) -> tuple[TaskId, SessionId, Lease]:
    """Return a task in a state, with the last session and lease that it had (or might have had)."""
    session = await open_session(store)
    task = await submit(store)
    if state is State.QUEUED:
        return task, session, Lease(task, 0, 0)
    lease = (await claim_one(store, session)).lease
    if state in _ENDS:
        await settle(store, lease, _ENDS[state])
    return task, session, lease


async def perform(store: Store, act: Act, task: TaskId, session: SessionId, lease: Lease) -> bool:
    """Do an act through the port; tell whether the store accepted it."""
    acts: dict[Act, Callable[[], Awaitable[object]]] = {
        Act.CLAIM: lambda: store.claim([claim_request(session, hints=(task,))]),
        Act.REAP: lambda: store.sessions.reap([(session, 0)], poison_after=9),
        Act.CANCEL: lambda: store.control.cancel([task]),
        Act.FORCE_CANCEL: lambda: store.control.cancel([task], force=True),
        Act.RESCHEDULE: lambda: store.control.reschedule([Change(task=task, delay_ms=0)]),
        Act.RETRY: lambda: store.control.retry([task]),
        Act.WAKE: lambda: signal(store, task, "go"),
    }
    if act in SETTLING:
        # A lease of its own: a repeated settlement is not a new act, and has tests of its own.
        other = Lease(task, lease.epoch, lease.nonce if await state_of(store, task) is State.RUNNING else 1)
        (answer,) = await store.settle([Settlement(lease=other, act=act, error=OOPS)])
        return isinstance(answer, Settled)
    answer_ = await acts[act]()
    if isinstance(answer_, list) and answer_ and isinstance(answer_[0], Changed | DrumlineError):
        return isinstance(answer_[0], Changed)
    return await state_of(store, task) is TRANSITIONS.get((State.QUEUED, act)) or act is Act.REAP


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("state", REACHABLE)
async def test_an_act_changes_a_state_as_the_table_says_or_not_at_all(store: Store, state: State, act: Act) -> None:
    task, session, lease = await bring_to(store, state)
    expected = TRANSITIONS.get((state, act))

    accepted = await perform(store, act, task, session, lease)

    assert await state_of(store, task) is (state if expected is None else expected)
    if act not in {Act.CLAIM, Act.REAP, Act.WAKE}:  # a signal is kept for a running task, too
        assert accepted is (expected is not None)


IN_JOB = [State.BLOCKED, State.SKIPPED, State.CANCELLED]
"""States of a task of a job whose second parent is still running."""


async def bring_in_job_to(store: Store, state: State) -> tuple[SubmittedJob, dict[str, ClaimedTask]]:
    """Return a job with a task that needs two others and is in a state, and those of the two that are running."""
    session = await open_session(store)
    job = await submit_job(store, job_of({"first": (), "second": (), "task": ("first", "second")}))
    running = await claim_keys(store, session)
    if state is State.SKIPPED:
        await settle(store, running.pop("first").lease, Act.FAIL)
    elif state is State.CANCELLED:
        await store.control.cancel([job.tasks["task"]])
    assert await state_of(store, job.tasks["task"]) is state
    return job, running


async def perform_in_job(store: Store, act: Act, job: SubmittedJob, running: dict[str, ClaimedTask]) -> None:
    match act:
        case Act.UNBLOCK:
            for parent in running.values():
                await settle(store, parent.lease, Act.COMPLETE)
        case Act.SKIP:
            await settle(store, running["second"].lease, Act.FAIL)
        case Act.RESUME:
            await store.jobs.resume_jobs([job.id])
        case _:
            task = job.tasks["task"]
            await perform(store, act, task, await open_session(store), Lease(task, 0, 0))


@pytest.mark.parametrize("act", [act for act in Act if act is not Act.RETRY])  # that needs its parents too: test_jobs_*
@pytest.mark.parametrize("state", IN_JOB)
async def test_an_act_on_a_task_of_a_job_changes_its_state_as_the_table_says(
    store: Store, state: State, act: Act
) -> None:
    job, running = await bring_in_job_to(store, state)

    await perform_in_job(store, act, job, running)

    assert await state_of(store, job.tasks["task"]) is TRANSITIONS.get((state, act), state)


def test_terminal_states_are_left_by_an_operator_s_retry_only() -> None:
    leaving = {act for (state, act) in TRANSITIONS if state in {State.COMPLETED, State.FAILED, State.CANCELLED}}

    assert leaving == {Act.RETRY, Act.RESUME}
