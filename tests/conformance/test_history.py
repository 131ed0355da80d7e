"""Random histories against a small oracle: after every act, the store and the oracle agree on every task."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from drumline.core.clock import ManualClock
from drumline.core.errors import Fenced
from drumline.core.ids import SessionId, TaskId
from drumline.core.lease import Lease
from drumline.core.state import CANCELLABLE_BY_FLAG, TERMINAL, TRANSITIONS, Act, State
from drumline.ports.store import Change, Changed, Settled, Settlement, Store
from tests.conformance.conftest import MakeStore
from tests.factories import OOPS, beat, claim, open_session, submit

POISON_AFTER = 2
_histories = count()
SETTLEMENTS = [Act.COMPLETE, Act.BACK_OFF, Act.FAIL, Act.SNOOZE, Act.RELEASE, Act.STOP]


@dataclass
class Oracle:
    """What a task should look like."""

    state: State
    due_at: int
    priority: int
    epoch: int = 0
    attempt: int = 0
    failures: int = 0
    crashes: int = 0
    cancel_requested: bool = False
    lease: Lease | None = None
    session: SessionId | None = None
    settled: dict[Lease, State] = field(default_factory=dict)

    def end(self, act: Act, now: int, delay_ms: int = 0) -> State:
        """Apply an act that ends the running attempt."""
        if self.cancel_requested and act in CANCELLABLE_BY_FLAG:
            act = Act.STOP
        self.state = TRANSITIONS[State.RUNNING, act]
        self.lease = self.session = None
        if self.state in TERMINAL:
            self.cancel_requested = False
            self.failures = self.crashes = 0
            return self.state
        self.attempt -= act in {Act.RELEASE, Act.SNOOZE}
        self.failures += act is Act.BACK_OFF
        self.crashes += act is Act.REAP
        if act in {Act.BACK_OFF, Act.SNOOZE}:
            self.due_at = now + delay_ms
        return self.state


class Histories(RuleBasedStateMachine):
    """Every act in any order, by two workers, with leases old and new."""

    is_ordered: bool

    open_store: Callable[[ManualClock], Coroutine[Any, Any, Store]]
    tasks = Bundle("tasks")
    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock()
        self.store: Store = self.run(type(self).open_store(self.clock))
        self.oracles: dict[TaskId, Oracle] = {}
        self.sessions: list[SessionId] = []
        self.name = f"work {next(_histories)}"  # histories may share a database, but not their tasks

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(coroutine)

    def teardown(self) -> None:
        self.run(self.store.close())
        self.loop.close()

    @initialize()
    def open_sessions(self) -> None:
        self.sessions = [self.run(open_session(self.store, self.name)) for _ in range(2)]

    @rule(target=tasks, delay=st.sampled_from([0, 3]), priority=st.sampled_from([0, 1]))
    def submit(self, delay: int, priority: int) -> TaskId:
        task: TaskId = self.run(submit(self.store, self.name, delay=delay, priority=priority))
        self.oracles[task] = Oracle(State.QUEUED, self.clock.now() + delay * 1000, priority)
        return task

    @rule(seconds=st.sampled_from([1, 5]))
    def advance(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(target=leases, who=st.integers(0, 1), limit=st.integers(1, 3))
    def claim(self, who: int, limit: int) -> Any:
        claimed = self.run(claim(self.store, self.sessions[who], self.name, limit=limit))
        due = [o for o in self.oracles.values() if o.state is State.QUEUED and o.due_at <= self.clock.now()]
        scores = sorted(o.due_at - o.priority * 60_000 for o in due)[:limit]
        taken = [self.oracles[task.lease.task] for task in claimed]
        if self.is_ordered:
            assert [o.due_at - o.priority * 60_000 for o in taken] == scores
        assert len(taken) == len(scores)
        for task, oracle in zip(claimed, taken, strict=True):
            assert oracle.state is State.QUEUED
            assert task.lease.epoch > oracle.epoch
            oracle.state, oracle.epoch, oracle.lease = State.RUNNING, task.lease.epoch, task.lease
            oracle.attempt += 1
            oracle.session = self.sessions[who]
            assert task.attempt == oracle.attempt
        return multiple(*(task.lease for task in claimed))

    @rule(lease=leases, act=st.sampled_from(SETTLEMENTS), delay_ms=st.sampled_from([0, 2000]))
    def settle(self, lease: Lease, act: Act, delay_ms: int) -> None:
        oracle = self.oracles[lease.task]
        settlement = Settlement(lease=lease, act=act, delay_ms=delay_ms, error=OOPS)
        (answer,) = self.run(self.store.settle([settlement]))
        if oracle.lease == lease:
            assert isinstance(answer, Settled)
            assert answer.state is oracle.end(act, self.clock.now(), delay_ms)
            oracle.settled[lease] = answer.state
        elif lease in oracle.settled:
            assert isinstance(answer, Settled)
            assert answer.state is oracle.settled[lease]
        else:
            assert isinstance(answer, Fenced)

    @rule(task=tasks, force=st.booleans())
    def cancel(self, task: TaskId, force: bool) -> None:
        oracle = self.oracles[task]
        (answer,) = self.run(self.store.control.cancel([task], force=force))
        expected = TRANSITIONS.get((oracle.state, Act.FORCE_CANCEL if force else Act.CANCEL))
        assert isinstance(answer, Changed) is (expected is not None)
        if expected is State.RUNNING:
            oracle.cancel_requested = True
        elif expected is not None:
            oracle.state, oracle.lease, oracle.session = expected, None, None
            oracle.cancel_requested = False
            oracle.failures = oracle.crashes = 0

    @rule(task=tasks, delay=st.sampled_from([0, 4]), priority=st.sampled_from([None, 0, 1]))
    def reschedule(self, task: TaskId, delay: int, priority: int | None) -> None:
        oracle = self.oracles[task]
        change = Change(task=task, delay_ms=delay * 1000, priority=priority)
        (answer,) = self.run(self.store.control.reschedule([change]))
        assert isinstance(answer, Changed) is ((oracle.state, Act.RESCHEDULE) in TRANSITIONS)
        if isinstance(answer, Changed):
            oracle.due_at = self.clock.now() + delay * 1000
            oracle.priority = oracle.priority if priority is None else priority

    @rule(task=tasks)
    def retry(self, task: TaskId) -> None:
        oracle = self.oracles[task]
        (answer,) = self.run(self.store.control.retry([task]))
        assert isinstance(answer, Changed) is ((oracle.state, Act.RETRY) in TRANSITIONS)
        if isinstance(answer, Changed):
            oracle.state, oracle.due_at = State.QUEUED, self.clock.now()

    @rule(who=st.integers(0, 1))
    def beat(self, who: int) -> None:
        session = self.sessions[who]
        held = [o.lease for o in self.oracles.values() if o.session == session and o.lease]
        (reply,) = self.run(self.store.sessions.beat([beat(session, *held)]))
        assert reply.is_open
        assert reply.lost == ()
        asked = {task for task, o in self.oracles.items() if o.session == session and o.cancel_requested}
        assert set(reply.cancelled) == asked

    @rule(who=st.integers(0, 1))
    def crash(self, who: int) -> None:
        session = self.sessions[who]
        (number,) = [view.beat for view in self.run(self.store.sessions.sessions()) if view.id == session]
        self.run(self.store.sessions.reap([(session, number)], poison_after=POISON_AFTER))
        for oracle in self.oracles.values():
            if oracle.session == session:
                poison = oracle.crashes + 1 >= POISON_AFTER and not oracle.cancel_requested
                oracle.end(Act.FAIL if poison else Act.REAP, self.clock.now())
        self.sessions[who] = self.run(open_session(self.store, self.name))

    @invariant()
    def the_store_agrees(self) -> None:
        for task, view in zip(self.oracles, self.run(self.store.queries.get(list(self.oracles))), strict=True):
            oracle = self.oracles[task]
            assert view is not None
            assert (view.state, view.attempt, view.lane.priority) == (oracle.state, oracle.attempt, oracle.priority)
            assert (view.failures, view.crashes) == (oracle.failures, oracle.crashes)
            assert view.cancel_requested is oracle.cancel_requested
            assert view.epoch >= oracle.epoch, "an epoch fell"
            oracle.epoch = view.epoch
            if oracle.state is State.QUEUED:
                assert view.due_at == oracle.due_at


def test_any_history_leaves_the_store_as_the_oracle_says(make_store: MakeStore, request: pytest.FixtureRequest) -> None:
    async def open_store(clock: ManualClock) -> Store:
        return await make_store(clock)

    is_ordered = "sharded" not in request.node.name  # best first holds for the tasks of one shard
    machine = type("Histories", (Histories,), {"open_store": staticmethod(open_store), "is_ordered": is_ordered})

    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=30,
            stateful_step_count=30,
            deadline=None,
            phases=[Phase.explicit, Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )
