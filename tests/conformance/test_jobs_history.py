"""Random graphs under random histories do what a few lines of plain rules say: states, counts, ends, reasons."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drumline.core.clock import ManualClock
from drumline.core.errors import Conflict
from drumline.core.ids import JobId
from drumline.core.job import JobStatus, RunIf
from drumline.core.state import TERMINAL, Act, State
from drumline.ports.jobs import ChangedJob
from drumline.ports.store import Changed, Settled, Settlement, Store
from drumline.stores.sqlite import SqliteStore
from tests.conformance.conftest import MakeStore
from tests.factories import OOPS, open_session
from tests.job_factories import claim_keys, job_of, job_view, nodes_by_key, submit_job

BAD = {State.FAILED, State.CANCELLED}
SOME = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
FEW = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


@dataclass
class Oracle:
    """A job by the book: after each act every blocked task is looked at until nothing changes."""

    needs: dict[str, tuple[str, ...]]
    run_if: dict[str, RunIf]
    state: dict[str, State] = field(default_factory=dict)
    harmless: set[str] = field(default_factory=set)
    """Skipped, but not because of a failure."""
    is_cancelling: bool = False
    to_stop: set[str] = field(default_factory=set)
    """Running, and asked to stop."""

    def __post_init__(self) -> None:
        self.state = dict.fromkeys(self.needs, State.BLOCKED)
        self.look()

    def look(self) -> None:
        """Release and skip what the states of parents call for, in any order, until nothing changes."""
        changed = True
        while changed:
            changed = False
            for key in [key for key, state in self.state.items() if state is State.BLOCKED]:
                after = self.after(key)
                if after is not State.BLOCKED:
                    self.state[key] = after
                    changed = True

    def after(self, key: str) -> State:
        parents = self.needs[key]
        ended = [parent for parent in parents if self.state[parent] in TERMINAL]
        is_bad = any(self.is_bad(parent) for parent in ended)
        if self.run_if[key] is RunIf.ALL_SUCCEEDED and any(self.state[each] is not State.COMPLETED for each in ended):
            if not is_bad:
                self.harmless.add(key)
            return State.SKIPPED
        if len(ended) < len(parents):
            return State.BLOCKED
        if self.run_if[key] is RunIf.ANY_FAILED and not is_bad:
            self.harmless.add(key)
            return State.SKIPPED
        return State.QUEUED

    def is_bad(self, key: str) -> bool:
        return self.state[key] in BAD or (self.state[key] is State.SKIPPED and key not in self.harmless)

    def end(self, ends: dict[str, State]) -> None:
        self.state |= ends
        self.look()

    def queue_again(self, keys: Iterable[str]) -> None:
        """Let tasks be tried again: after those that they need, if they run again; not if they were to stop."""
        for key in keys:
            waits = [each for each in self.needs[key] if self.state[each] not in TERMINAL]
            self.state[key] = State.BLOCKED if waits else State.QUEUED
        self.end(dict.fromkeys(self.to_stop.intersection(keys), State.CANCELLED))

    def cancel(self) -> None:
        self.to_stop |= {key for key, state in self.state.items() if state is State.RUNNING}
        self.state |= {
            key: State.CANCELLED for key, state in self.state.items() if state in {State.BLOCKED, State.QUEUED}
        }
        self.is_cancelling = State.RUNNING in self.state.values()

    def resume(self, only: str | None = None) -> bool:
        """Bring back what failed, was cancelled or skipped, but for what would be skipped at once."""
        ended = {key for key, state in self.state.items() if state in {*BAD, State.SKIPPED}}
        back = ended if only is None else {only}
        while True:
            # Of one task only: what was skipped, and hangs on what comes back.
            more = set() if only is None else {
                key for key in ended - back if self.state[key] is State.SKIPPED and back & set(self.needs[key])
            }  # fmt: skip
            kept = {key for key in back | more if self.may_come_back(key, back | more)}
            if kept == back:
                break
            if only is not None and only not in kept:
                return False
            ended -= (back | more) - kept
            back = kept
        self.harmless -= back
        for key in back:
            waits = [each for each in self.needs[key] if each in back or self.state[each] not in TERMINAL]
            self.state[key] = State.BLOCKED if waits else State.QUEUED
        held_back = {key for key, state in self.state.items() if state is State.QUEUED and back & set(self.needs[key])}
        self.state |= dict.fromkeys(held_back, State.BLOCKED)
        return bool(back)

    def may_come_back(self, key: str, back: set[str]) -> bool:
        parents = self.needs[key]
        waits = [each for each in parents if each in back or self.state[each] not in TERMINAL]
        ended = [each for each in parents if each not in waits]
        if self.run_if[key] is RunIf.ALL_SUCCEEDED:
            return all(self.state[each] is State.COMPLETED for each in ended)
        is_needed = bool(waits) or self.run_if[key] is RunIf.ALL_DONE or any(self.is_bad(each) for each in ended)
        return is_needed or self.state[key] in BAD

    def status(self) -> JobStatus | None:
        """How the job has ended, if it has."""
        states = set(self.state.values())
        if states - TERMINAL:
            return None
        if State.FAILED in states:
            return JobStatus.FAILED
        return JobStatus.CANCELLED if State.CANCELLED in states else JobStatus.COMPLETED


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[str, tuple[str, ...]], dict[str, RunIf]]:
    """Graphs in layers, given in any order; clean-ups and alarms among them."""
    layers = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    needs: dict[str, tuple[str, ...]] = {}
    above: list[str] = []
    for number, width in enumerate(layers):
        layer = [f"{number}{letter}" for letter in "abcd"[:width]]
        for key in layer:
            needs[key] = tuple(draw(st.lists(st.sampled_from(above), unique=True, max_size=4))) if above else ()
        above += layer
    order = draw(st.permutations(list(needs)))
    choice = st.sampled_from([RunIf.ALL_SUCCEEDED, RunIf.ALL_SUCCEEDED, RunIf.ALL_DONE, RunIf.ANY_FAILED])
    run_if = {key: draw(choice) if needs[key] else RunIf.ALL_SUCCEEDED for key in order}
    return {key: needs[key] for key in order}, run_if


STEPS = st.lists(
    st.tuples(
        st.sampled_from([*["claim"] * 3, *["settle"] * 4, "cancel", "force", "cancel_job", "resume", "retry"]),
        st.integers(0, 10**6),
        st.sampled_from([Act.COMPLETE, Act.COMPLETE, Act.COMPLETE, Act.FAIL, Act.STOP, Act.BACK_OFF, Act.RELEASE]),
        st.integers(1, 3),
    ),
    max_size=40,
)


class History:
    """A job and its oracle, side by side."""

    def __init__(self, store: Store, oracle: Oracle, job: JobId, tasks: dict[str, str]) -> None:
        self.store = store
        self.oracle = oracle
        self.job = job
        self.tasks = tasks
        self.held: dict[str, object] = {}

    async def step(self, session: int, step: tuple[str, int, Act, int]) -> None:
        what, choice, act, many = step
        await getattr(self, f"do_{what}")(session, choice, act, many)

    async def do_claim(self, session: int, _choice: int, _act: Act, many: int) -> None:
        for key, task in (await claim_keys(self.store, session, limit=many)).items():  # type: ignore[arg-type]
            assert self.oracle.state[key] is State.QUEUED, f"{key} was handed out"
            self.oracle.state[key] = State.RUNNING
            self.oracle.to_stop.discard(key)
            self.held[key] = task.lease

    async def do_settle(self, _session: int, choice: int, act: Act, many: int) -> None:
        keys = sorted(self.held)[choice % (len(self.held) or 1) :][:many]
        settlements = [Settlement(lease=self.held.pop(key), act=act, error=OOPS) for key in keys]  # type: ignore[arg-type]
        for answer in await self.store.settle(settlements):
            assert isinstance(answer, Settled)
        ends = {Act.COMPLETE: State.COMPLETED, Act.FAIL: State.FAILED, Act.STOP: State.CANCELLED}
        if act in ends:
            self.oracle.end(dict.fromkeys(keys, ends[act]))
        else:
            self.oracle.queue_again(keys)

    async def do_cancel(self, _session: int, choice: int, _act: Act, _many: int, *, force: bool = False) -> None:
        key = sorted(self.tasks)[choice % len(self.tasks)]
        state = self.oracle.state[key]
        (answer,) = await self.store.control.cancel([self.tasks[key]], force=force)  # type: ignore[list-item]
        assert isinstance(answer, Changed) is (state not in TERMINAL)
        if state in {State.BLOCKED, State.QUEUED} or (force and state is State.RUNNING):
            self.held.pop(key, None)
            self.oracle.end({key: State.CANCELLED})
        elif state is State.RUNNING:
            self.oracle.to_stop.add(key)

    async def do_force(self, session: int, choice: int, act: Act, many: int) -> None:
        await self.do_cancel(session, choice, act, many, force=True)

    async def do_cancel_job(self, _session: int, choice: int, _act: Act, _many: int) -> None:
        if choice % 4:  # too often would leave nothing to happen
            return
        (answer,) = await self.store.jobs.cancel_jobs([self.job])
        assert isinstance(answer, ChangedJob) is (self.oracle.status() is None)
        if self.oracle.status() is None:
            self.oracle.cancel()

    async def do_resume(self, _session: int, _choice: int, _act: Act, _many: int) -> None:
        (answer,) = await self.store.jobs.resume_jobs([self.job])
        is_held_up = self.oracle.is_cancelling and self.oracle.status() is None
        if is_held_up or self.oracle.status() is JobStatus.COMPLETED:
            assert isinstance(answer, Conflict)
        else:
            assert isinstance(answer, ChangedJob) is self.oracle.resume(), answer
            self.oracle.is_cancelling = False

    async def do_retry(self, _session: int, choice: int, _act: Act, _many: int) -> None:
        key = sorted(self.tasks)[choice % len(self.tasks)]
        (answer,) = await self.store.control.retry([self.tasks[key]])  # type: ignore[list-item]
        is_held_up = self.oracle.is_cancelling and self.oracle.status() is None
        if is_held_up or self.oracle.state[key] not in {State.FAILED, State.CANCELLED, State.SKIPPED}:
            assert isinstance(answer, Conflict)
        else:
            assert isinstance(answer, Changed) is self.oracle.resume(key), answer
            if isinstance(answer, Changed):
                self.oracle.is_cancelling = False

    async def check(self) -> None:
        nodes = await nodes_by_key(self.store, self.job)
        assert {key: node.state for key, node in nodes.items()} == self.oracle.state
        view = await job_view(self.store, self.job)
        states = list(self.oracle.state.values())
        assert (view.counts.completed, view.counts.failed, view.counts.cancelled, view.counts.skipped) == tuple(
            states.count(state) for state in (State.COMPLETED, State.FAILED, State.CANCELLED, State.SKIPPED)
        )
        ended = self.oracle.status()
        assert view.status is ended if ended else view.status in {JobStatus.PENDING, JobStatus.PROCESSING}
        for key, node in nodes.items():
            assert (node.state is State.SKIPPED and key not in self.oracle.harmless) is (node.cause is not None)


async def replay(store: Store, graph: tuple[dict[str, tuple[str, ...]], dict[str, RunIf]], steps: list) -> None:  # type: ignore[type-arg]
    needs, run_if = graph
    session = await open_session(store)
    stored = await submit_job(store, job_of(needs, run_if=run_if))
    history = History(store, Oracle(needs, run_if), stored.id, dict(stored.tasks))
    await history.check()
    for step in steps:
        await history.step(session, step)
        await history.check()
    await store.jobs.cancel_jobs([stored.id], force=True)


@SOME
@given(graph=graphs(), steps=STEPS)
def test_every_history_is_as_the_rules_say_in_memory(
    graph: tuple[dict[str, tuple[str, ...]], dict[str, RunIf]], steps: list[tuple[str, int, Act, int]]
) -> None:
    async def run() -> None:
        store = await SqliteStore.open(":memory:", clock=ManualClock())
        try:
            await replay(store, graph, steps)
        finally:
            await store.close()

    asyncio.run(run())


@FEW
@given(graph=graphs(), steps=STEPS)
async def test_every_history_is_as_the_rules_say_on_every_store(
    make_store: MakeStore,
    graph: tuple[dict[str, tuple[str, ...]], dict[str, RunIf]],
    steps: list[tuple[str, int, Act, int]],
) -> None:
    store = await make_store(ManualClock())
    try:
        await replay(store, graph, steps)
    finally:
        await store.close()
