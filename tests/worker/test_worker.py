"""The life of a worker: capacity, beats, fences, outages, and leaving in order."""

import asyncio
from collections.abc import Sequence

import pytest

from drumline.core.attempt import AttemptOutcome
from drumline.core.errors import Conflict, DrumlineError, Fenced, Forbidden, NotFound, Unauthorized, Unavailable
from drumline.core.lease import Lease
from drumline.core.outcome import Released, Succeeded
from drumline.core.session import BEAT_EVERY, SESSION_TTL
from drumline.core.state import State
from drumline.core.task import TaskRequest
from drumline.engine.gateway import LocalGateway
from drumline.ports.gateway import Acknowledged, Report
from drumline.ports.store import Artifact
from drumline.sdk.app import Drumline
from drumline.sdk.context import Context, inject
from drumline.worker.executors.catalogue import BuiltIn, assemble
from drumline.worker.heartbeat import ANSWER_SECONDS
from drumline.worker.options import WorkerOptions
from drumline.worker.usage import WAIT_SECONDS
from drumline.worker.worker import Worker
from tests.factories import open_session
from tests.worker.house import House, Shift, result_of, until


class Stand:
    """A task that waits to be let go, and counts who stands in it."""

    def __init__(self, house: House, name: str = "stand") -> None:
        self.now = self.most = self.entered = self.left = 0
        self.go = asyncio.Event()
        self.cancelled = 0

        @house.app.task(name=name)
        async def stand() -> None:
            self.now += 1
            self.entered += 1
            self.most = max(self.most, self.now)
            try:
                await self.go.wait()
                self.left += 1
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            finally:
                self.now -= 1

    async def holds(self, count: int) -> None:
        await until(lambda: self.now == count)


async def test_a_worker_runs_as_many_as_it_has_capacity_for(house: House) -> None:
    stand = Stand(house)
    tasks = [await house.submit("stand") for _ in range(10)]

    async with house.worker(capacity=3):
        await stand.holds(3)
        waiting = [task for task in tasks if (await house.get(task)).state is State.QUEUED]
        stand.go.set()
        views = [await house.ended(task) for task in tasks]

    assert len(waiting) == 7
    assert stand.most == 3
    assert {view.state for view in views} == {State.COMPLETED}


async def test_a_single_free_slot_is_used_although_the_others_are_busy(house: House) -> None:
    stand = Stand(house)

    @house.app.task(name="quick")
    async def quick() -> int:
        return 1

    for _ in range(7):
        await house.submit("stand")

    async with house.worker(capacity=8):
        await stand.holds(7)
        view = await house.run("quick")
        stand.go.set()

    assert result_of(view) == 1


async def test_many_tasks_are_claimed_and_reported_in_batches(house: House) -> None:
    @house.app.task(name="quick")
    async def quick() -> None: ...

    count = 400
    await house.engine.submissions.submit_many([TaskRequest(name="quick")] * count)

    async with house.worker(capacity=100):
        await until(lambda: sum(map(len, house.line.settled)) == count)

    assert len([claim for claim in house.line.claimed if claim]) <= count / 10
    assert len(house.line.settled) <= count / 10


async def test_a_worker_publishes_what_it_can_run(house: House) -> None:
    @house.app.task(name="add")
    async def add(a: int) -> int:
        """Add one."""
        return a + 1

    async with house.worker(queues=("mail",), label="ada") as shift:
        await until(lambda: shift.worker.session is not None)
        (session,) = await house.engine.sessions.list()

    assert session.id
    assert (session.spec.queues, session.spec.label, session.spec.capacity) == (("mail",), "ada", 8)
    kind = next(kind for kind in session.spec.types if kind.name == "add")
    assert kind.doc == "Add one."
    assert kind.schema is not None
    assert kind.schema["required"] == ["a"]


@pytest.mark.parametrize(
    ("apps", "default", "told"),
    [
        ([("shop", "1.4.2")], "", "shop 1.4.2"),
        ([("shop", "1.4.2")], "3f2a1bc", "shop 1.4.2"),
        ([("shop", None)], "3f2a1bc", "shop 3f2a1bc"),
        ([("shop", "1.4.2"), ("billing", "7"), ("mail", None), ("shop", "1.4.2")], "", "shop 1.4.2, billing 7"),
        ([("shop", "")], "", ""),
        ([], "3f2a1bc", "3f2a1bc"),
        ([("a" * 200, "1"), ("b" * 200, "2")], "", f"{'a' * 200} 1, {'b' * 51}"),
    ],
)
async def test_a_worker_tells_the_versions_of_its_apps(
    house: House, apps: list[tuple[str, str | None]], default: str, told: str
) -> None:
    served = [Drumline(name, version=version) for name, version in apps]
    executors = assemble(WorkerOptions(app_version=default), served, built_in=BuiltIn(http=False, pdf=False))

    async with Shift.of(Worker(house.line, executors)) as shift:
        await until(lambda: shift.worker.session is not None)
        (session,) = await house.engine.sessions.list()

    assert session.spec.app_version == told


async def test_a_worker_that_left_in_order_has_closed_its_session(house: House) -> None:
    Stand(house)

    async with house.worker() as shift:
        await until(lambda: shift.worker.session is not None)
        await shift.end()

    assert await house.engine.sessions.list() == []


async def test_draining_finishes_what_runs_and_claims_nothing_more(house: House) -> None:
    stand = Stand(house)
    task = await house.submit("stand")

    async with house.worker(beat_every=0.02) as shift:
        await stand.holds(1)
        shift.stop.set()
        late = await house.submit("stand")
        await asyncio.sleep(0.05)
        stand.go.set()
        await shift.end()

    assert (await house.get(task)).state is State.COMPLETED
    assert (await house.get(late)).state is State.QUEUED


async def test_what_does_not_finish_within_the_grace_is_given_back_without_using_an_attempt(house: House) -> None:
    stand = Stand(house)
    task = await house.submit("stand")

    async with house.worker(grace=0.05) as shift:
        await stand.holds(1)
        await shift.end()

    view = await house.get(task)
    assert view.state is State.QUEUED
    assert (view.attempt, view.failures, view.crashes) == (0, 0, 0)
    assert stand.cancelled == 1
    (attempt,) = await house.engine.queries.attempts(task)
    assert attempt.outcome is AttemptOutcome.RELEASED


async def test_a_second_signal_hurries(house: House) -> None:
    stand = Stand(house)
    task = await house.submit("stand")

    async with house.worker(grace=3600.0) as shift:
        await stand.holds(1)
        shift.stop.set()
        shift.hurry.set()
        await shift.end()

    assert (await house.get(task)).state is State.QUEUED


async def test_code_that_will_not_stop_does_not_keep_the_worker_from_leaving(house: House) -> None:
    go = asyncio.Event()
    started = asyncio.Event()

    @house.app.task(name="stubborn")
    async def stubborn() -> None:
        started.set()
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue

    task = await house.submit("stubborn")

    async with house.worker(grace=0.01, stop_grace=0.01) as shift:
        await started.wait()
        await shift.end()

    assert (await house.get(task)).state is State.QUEUED
    go.set()


async def test_an_operator_can_drain_a_worker(house: House) -> None:
    stand = Stand(house)
    task = await house.submit("stand")

    async with house.worker(beat_every=0.02) as shift:
        await stand.holds(1)
        assert shift.worker.session is not None
        await house.engine.sessions.drain(shift.worker.session)
        stand.go.set()
        async with asyncio.timeout(10):
            await shift.running

    assert (await house.get(task)).state is State.COMPLETED


async def test_a_worker_goes_on_when_its_drain_is_undone_while_it_finishes(house: House) -> None:
    stand = Stand(house)
    first = await house.submit("stand")

    async with house.worker(beat_every=0.02) as shift:
        await stand.holds(1)
        session = shift.worker.session
        assert session is not None
        await house.engine.sessions.drain(session)
        await until(lambda: house.line.drains_told > 0)
        later = await house.submit("stand")
        await house.engine.sessions.undrain(session)
        await stand.holds(2)
        stand.go.set()
        await shift.end()

    assert [(await house.get(task)).state for task in (first, later)] == [State.COMPLETED] * 2
    (view,) = await house.engine.sessions.list(closed=True)
    assert view.id == session


async def test_a_worker_stays_when_its_drain_is_undone_before_it_has_left(house: House) -> None:
    """The worker has nothing to finish and is about to leave; its heartbeats have not told it that it may stay."""
    stand = Stand(house)

    async with house.worker(beat_every=0.02) as shift:
        await until(lambda: shift.worker.session is not None)
        session = shift.worker.session
        assert session is not None
        house.line.before_leaving = lambda: house.engine.sessions.undrain(session)
        await house.engine.sessions.drain(session)
        await until(lambda: house.line.leaves == 1)
        await house.submit("stand")
        await stand.holds(1)
        stand.go.set()
        await shift.end()

    (view,) = await house.engine.sessions.list(closed=True)
    assert view.id == session


async def test_a_worker_that_was_asked_to_drain_asks_again_through_an_outage_whether_it_may_leave(house: House) -> None:
    async def fail_once() -> None:
        house.line.before_leaving = no_outage
        raise Unavailable("the store is away")

    async def no_outage() -> None:
        """Let the second call through."""

    async with house.worker(beat_every=0.02) as shift:
        await until(lambda: shift.worker.session is not None)
        session = shift.worker.session
        assert session is not None
        house.line.before_leaving = fail_once
        await house.engine.sessions.drain(session)
        async with asyncio.timeout(10):
            await shift.running

    assert house.line.leaves == 1
    assert await house.engine.sessions.list() == []


async def test_a_worker_that_lost_a_lease_stops_the_attempt_and_says_nothing(house: House) -> None:
    stand = Stand(house)
    task = await house.submit("stand")

    async with house.worker(beat_every=0.02):
        await stand.holds(1)
        await house.engine.control.cancel(task, force=True)
        await stand.holds(0)

    assert stand.cancelled == 1
    assert house.line.settled == []


async def test_a_closed_session_is_abandoned_and_a_new_one_opened(house: House) -> None:
    stand = Stand(house)
    task = await house.submit("stand")

    async with house.worker(beat_every=0.02) as shift:
        await stand.holds(1)
        first = shift.worker.session
        await reap(house, shift)
        await until(lambda: stand.cancelled == 1)
        await until(lambda: shift.worker.session not in {None, first})
        stand.go.set()
        view = await house.ended(task)

    assert view.state is State.COMPLETED
    attempts = await house.engine.queries.attempts(task)
    assert [attempt.outcome for attempt in attempts] == [AttemptOutcome.CRASHED, AttemptOutcome.COMPLETED]
    assert [report.outcome for reports in house.line.settled for report in reports] == [Succeeded()]


async def test_an_outage_stops_no_attempt_and_ends_no_session(house: House) -> None:
    stand = Stand(house)
    task = await house.submit("stand")

    async with house.worker(beat_every=0.01) as shift:
        await stand.holds(1)
        first = shift.worker.session
        house.line.is_cut = True
        await until(lambda: shift.worker._services.retry._failures > 3)
        house.line.is_cut = False
        await until(lambda: shift.worker._services.retry._failures == 0)
        assert shift.worker.session == first
        stand.go.set()
        view = await house.ended(task)

    assert view.state is State.COMPLETED
    assert (stand.entered, stand.cancelled) == (1, 0)


async def test_a_report_that_meets_an_outage_names_its_cause_once(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    stand = Stand(house)
    task = await house.submit("stand")

    async with house.worker() as shift:
        await stand.holds(1)
        house.line.is_cut = True
        stand.go.set()
        await until(lambda: shift.worker._services.retry._failures > 1)
        house.line.is_cut = False
        await house.ended(task)

    told = [record.message for record in caplog.records if record.message.startswith("engine.unavailable")]
    assert told == ["engine.unavailable: Unavailable: the line is cut"]


async def test_a_worker_that_is_cut_off_for_long_stops_its_attempts_and_gives_them_back(house: House) -> None:
    stand = Stand(house)
    task = await house.submit("stand")

    async with house.worker(beat_every=0.02, longest_silence=0.2) as shift:
        await stand.holds(1)
        first = shift.worker.session
        house.line.is_cut = True
        await stand.holds(0)
        assert stand.cancelled == 1
        house.line.is_cut = False
        await until(lambda: shift.worker.session not in {None, first})
        await stand.holds(1)
        stand.go.set()
        await house.ended(task)

    attempts = await house.engine.queries.attempts(task)
    assert [attempt.outcome for attempt in attempts] == [AttemptOutcome.RELEASED, AttemptOutcome.COMPLETED]


async def test_the_wait_for_a_session_does_not_count_as_silence_in_it(house: House) -> None:
    house.line.is_cut = True

    async with house.worker(beat_every=0.02, longest_silence=60.0, clock=house.clock) as shift:
        await until(lambda: shift.worker._services.retry._failures > 0)
        house.clock.advance(61.0)
        house.line.is_cut = False
        await until(lambda: shift.worker.session is not None)
        first = shift.worker.session
        house.line.is_cut = True
        await until(lambda: shift.worker._services.retry._failures > 0)
        house.line.is_cut = False
        await until(lambda: shift.worker._services.retry._failures == 0)

        assert shift.worker.session == first


async def test_a_beat_says_if_the_one_before_was_not_answered(house: House) -> None:
    beats = house.line.beats

    async with house.worker(beat_every=0.02, longest_silence=60.0):
        await until(lambda: len(beats) >= 2)
        assert not any(beat.again for beat in beats)
        house.line.is_cut = True
        await until(lambda: sum(beat.again for beat in beats) >= 2)
        house.line.is_cut = False
        await until(lambda: not beats[-1].again)


async def test_a_report_is_repeated_until_the_engine_has_it(house: House) -> None:
    stand = Stand(house)
    task = await house.submit("stand")

    async with house.worker(longest_silence=60.0):
        await stand.holds(1)
        house.line.is_cut = True
        stand.go.set()
        await until(lambda: stand.left == 1)
        assert (await house.get(task)).state is State.RUNNING
        house.line.is_cut = False
        view = await house.ended(task)

    assert view.state is State.COMPLETED
    assert stand.entered == 1


@pytest.mark.parametrize("passing", [NotFound, Unauthorized, Forbidden, Conflict])
async def test_a_success_is_not_failed_for_an_answer_that_is_no_word_on_it(
    house: House, monkeypatch: pytest.MonkeyPatch, passing: type[DrumlineError]
) -> None:
    answers = [passing("a proxy said so, or a key was being changed"), passing("and again")]
    settle = house.line.settle

    async def refuse_at_first(reports: Sequence[Report]) -> Sequence[Acknowledged]:
        if answers:
            raise answers.pop()
        return await settle(reports)

    monkeypatch.setattr(house.line, "settle", refuse_at_first)

    @house.app.task(name="quick")
    async def quick() -> int:
        return 1

    async with house.worker():
        view = await house.run("quick")

    assert (answers, view.state, view.attempt) == ([], State.COMPLETED, 1)


async def test_a_late_attempt_does_not_replace_the_file_of_a_newer_one(house: House) -> None:
    go = asyncio.Event()
    entered = asyncio.Event()

    @house.app.task(name="make")
    async def make(*, ctx: Context[None] = inject()) -> None:
        entered.set()
        await go.wait()
        ctx.put_artifact("answer.txt", "old", "text/plain")

    task = await house.submit("make")
    async with house.worker(capacity=1, longest_silence=60.0) as shift:
        await entered.wait()
        house.line.is_cut = True
        go.set()
        await until(lambda: shift.worker._services.retry._failures > 0)
        await reap(house, shift)
        gateway = LocalGateway(house.engine)
        other = await open_session(house.engine.store, "make")
        (again,) = await gateway.claim(other, limit=1, wait=0)
        newer = Artifact(task=task, name="answer.txt", content_type="text/plain", data=b"new", lease=again.lease)
        await gateway.put_artifact(newer)
        await gateway.settle([Report(again.lease, Succeeded())])
        house.line.is_cut = False
        await until(lambda: len(shift.worker._services.held_attempts) == 0)

    assert (await house.engine.queries.artifact(task, "answer.txt")).data == b"new"
    assert (await house.get(task)).state is State.COMPLETED


def test_within_a_ttl_there_is_time_for_a_second_beat_after_one_that_was_lost() -> None:
    assert BEAT_EVERY + 2 * (WAIT_SECONDS + ANSWER_SECONDS) < SESSION_TTL


async def test_a_lease_is_held_until_its_report_is_acknowledged(house: House) -> None:
    stand = Stand(house)
    await house.submit("stand")

    async with house.worker(longest_silence=60.0) as shift:
        await stand.holds(1)
        house.line.is_cut = True
        stand.go.set()
        await until(lambda: stand.left == 1)
        session = shift.worker.session
        assert session is not None
        held = shift.worker._services.held_attempts.leases(session)
        house.line.is_cut = False
        await until(lambda: len(shift.worker._services.held_attempts) == 0)

    assert len(held) == 1


async def test_a_worker_waits_for_an_engine_that_is_not_there_yet(house: House) -> None:
    @house.app.task(name="quick")
    async def quick() -> int:
        return 1

    house.line.is_cut = True
    async with house.worker():
        await asyncio.sleep(0.05)
        house.line.is_cut = False
        view = await house.run("quick")

    assert result_of(view) == 1


async def test_a_worker_can_be_stopped_while_the_engine_is_away(house: House) -> None:
    house.line.is_cut = True

    async with house.worker() as shift:
        await asyncio.sleep(0.02)
        await shift.end()

    assert shift.running.done()


async def test_an_outage_is_told_once_when_it_begins_and_once_when_it_ends(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    async with house.worker(beat_every=0.01, claim_wait=0.01, longest_silence=60.0) as shift:
        await until(lambda: shift.worker.session is not None)
        house.line.is_cut = True
        await until(lambda: shift.worker._services.retry._failures > 2)
        house.line.is_cut = False
        await until(lambda: shift.worker._services.retry._failures == 0)

    told = [record.message.split(":")[0] for record in caplog.records if record.message.startswith("engine.")]
    assert told == ["engine.unavailable", "engine.available"]


async def test_a_late_report_is_fenced_and_changes_nothing(house: House) -> None:
    stand = Stand(house)
    task = await house.submit("stand")

    async with house.worker() as shift:
        await stand.holds(1)
        await house.engine.control.cancel(task, force=True)
        stand.go.set()
        await until(lambda: len(shift.worker._services.held_attempts) == 0)
        answer = await shift.worker._services.reports.report(Lease(task, 1, 1), Released())

    assert isinstance(answer, Fenced)
    assert (await house.get(task)).state is State.CANCELLED


async def reap(house: House, shift: Shift) -> None:
    """Take the worker for dead."""
    assert shift.worker.session is not None
    (view,) = await house.engine.sessions.list()
    reaped = await house.engine.store.sessions.reap([(view.id, view.beat)], poison_after=3)
    if not reaped.sessions:  # it has beaten meanwhile
        await reap(house, shift)
        return
    house.engine.offer_freed(reaped.requeued)
