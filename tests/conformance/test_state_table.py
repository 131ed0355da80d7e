"""Every act on every state does what the one table says, on every store."""

from collections.abc import Awaitable, Callable

import pytest

from drumline.core.errors import DrumlineError
from drumline.core.ids import SessionId, TaskId
from drumline.core.lease import Lease
from drumline.core.state import SETTLING, TRANSITIONS, Act, State
from drumline.ports.store import Change, Changed, Settled, Settlement, Store
from tests.factories import OOPS, claim_one, claim_request, open_session, settle, state_of, submit

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
        Act.REAP: lambda: store.reap([(session, 0)], poison_after=9),
        Act.CANCEL: lambda: store.cancel([task]),
        Act.FORCE_CANCEL: lambda: store.cancel([task], force=True),
        Act.RESCHEDULE: lambda: store.reschedule([Change(task=task, delay_ms=0)]),
        Act.RETRY: lambda: store.retry([task]),
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
    if act not in {Act.CLAIM, Act.REAP}:
        assert accepted is (expected is not None)


def test_terminal_states_are_left_by_an_operator_s_retry_only() -> None:
    leaving = {act for (state, act) in TRANSITIONS if state in {State.COMPLETED, State.FAILED, State.CANCELLED}}

    assert leaving == {Act.RETRY, Act.RESUME}
