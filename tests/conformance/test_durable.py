"""Records of durable tasks are fenced and stay; waiting costs an attempt nothing."""

import asyncio

import pytest
from msgspec import Raw

from drumline.core.attempt import AttemptOutcome
from drumline.core.clock import Instant, ManualClock
from drumline.core.durable import NewRecord, Record, RecordKind, RecordStatus, Wait, WaitKind, WaitRequest
from drumline.core.errors import Fenced, NotFound, QuotaExceeded
from drumline.core.lease import Lease
from drumline.core.state import Act, State, Status
from drumline.ports.durable import RecordLimits
from drumline.ports.store import Change, Settled, Store
from tests.durable_factories import answered, names_of, park, record, sleep, step, steps_of, tried, wait
from tests.factories import claim, claim_one, open_session, settle, state_of, submit
from tests.job_factories import claim_keys, job_of, submit_job


async def test_a_record_is_kept_with_its_task(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    claimed = await claim_one(store, await open_session(store))

    first = await record(store, step(claimed.lease, "charge", {"paid": 3}, took_ms=40))
    await record(store, step(claimed.lease, "ship", "x", key="7"))

    view = await steps_of(store, task)
    assert first == view.page.records[0]
    assert first == Record(
        name="charge", value=Raw(b'{"paid":3}'), seq=1, started_at=Instant(clock.now() - 40), at=clock.now(),
        kind=RecordKind.STEP, status=RecordStatus.DONE,
    )  # fmt: skip
    assert [(each.name, each.key, each.seq) for each in view.page.records] == [("charge", "", 1), ("ship", "7", 2)]


async def test_the_first_record_under_a_name_stays(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease
    first = await record(store, step(lease, "charge", 1))

    second = await record(store, step(lease, "charge", 2))

    assert second == first
    assert [each.value for each in (await steps_of(store, task)).page.records] == [Raw(b"1")]


async def test_many_records_are_written_in_one_list_in_order(store: Store) -> None:
    leases = []
    session = await open_session(store)
    for _ in range(3):
        await submit(store)
        leases.append((await claim_one(store, session)).lease)

    news = [step(lease, f"s{number}") for number in range(4) for lease in leases]
    answers = await store.durable.record([*news, step(leases[0], "s0", "again")])

    assert [each.seq for each in answers if isinstance(each, Record)] == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 1]
    for lease in leases:
        assert await names_of(store, lease.task) == ["s0", "s1", "s2", "s3"]


@pytest.mark.parametrize("act", [Act.COMPLETE, Act.BACK_OFF, Act.RELEASE, Act.SNOOZE, Act.FAIL])
async def test_a_lease_that_is_over_records_nothing(store: Store, act: Act) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease
    await settle(store, lease, act)

    answer = await record(store, step(lease, "charge"))

    assert isinstance(answer, Fenced)
    assert await names_of(store, task) == []


async def test_a_reaped_worker_records_nothing_while_the_next_one_does(store: Store) -> None:
    task = await submit(store)
    ada = await open_session(store)
    late = (await claim_one(store, ada)).lease
    await store.sessions.reap([(ada, 0)], poison_after=9)
    now = (await claim_one(store, await open_session(store))).lease

    answers = await store.durable.record([step(late, "a", "late"), step(now, "a", "now"), step(late, "b")])

    assert [isinstance(each, Fenced) for each in answers] == [True, False, True]
    assert [each.value for each in (await steps_of(store, task)).page.records] == [Raw(b'"now"')]


@pytest.mark.parametrize("wrong", ["epoch", "nonce"])
async def test_epoch_and_nonce_both_have_to_match(store: Store, wrong: str) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease
    other = Lease(task, lease.epoch + (wrong == "epoch"), lease.nonce + (wrong == "nonce"))

    assert isinstance(await record(store, step(other, "a")), Fenced)
    assert isinstance(await wait(store, other, sleep("b", 1000)), Fenced)
    assert await state_of(store, task) is State.RUNNING


async def test_failures_and_crashes_count_from_the_last_record(store: Store) -> None:
    task = await submit(store)
    first = (await claim_one(store, await open_session(store))).lease
    await settle(store, first, Act.BACK_OFF)
    bob = await open_session(store)
    await claim_one(store, bob)
    await store.sessions.reap([(bob, 0)], poison_after=9)
    lease = (await claim_one(store, await open_session(store))).lease
    (before,) = await store.queries.get([task])

    await record(store, tried(lease, "a", 1))
    (meanwhile,) = await store.queries.get([task])
    await record(store, step(lease, "a"))

    (after,) = await store.queries.get([task])
    assert before is not None
    assert meanwhile is not None
    assert after is not None
    assert (before.failures, before.crashes) == (meanwhile.failures, meanwhile.crashes) == (1, 1)
    assert (after.failures, after.crashes) == (0, 0)


async def test_tries_of_a_step_are_counted_until_it_ends(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease
    first = await record(store, tried(lease, "a", 1, delay_ms=500))
    again = await record(store, tried(lease, "a", 1, delay_ms=9000))
    await record(store, tried(lease, "a", 2))

    end = await record(store, step(lease, "a", 5, tries=3))

    assert isinstance(first, Record)
    assert (first.due_at, first.status) == (clock.now() + 500, RecordStatus.TRIED)
    assert again == first
    (kept,) = (await steps_of(store, task)).page.records
    assert kept == end
    assert (kept.tries, kept.status, kept.seq, kept.due_at) == (3, RecordStatus.DONE, 1, None)
    assert await record(store, tried(lease, "a", 4)) == end


async def test_a_task_has_no_more_records_than_it_may_have(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease
    few = RecordLimits(3, 1000)

    answers = await store.durable.record([step(lease, f"s{number}") for number in range(3)], limits=few)
    (more,) = await store.durable.record([step(lease, "one more")], limits=few)
    asleep = await store.durable.wait(WaitRequest(lease=lease, waits=(sleep("nap", 0),)), limits=few)

    assert all(isinstance(each, Record) for each in answers)
    assert isinstance(more, QuotaExceeded)
    assert "3 records" in more.message
    assert "limits.records" in more.message
    assert isinstance(asleep, QuotaExceeded)
    assert await names_of(store, task) == ["s0", "s1", "s2"]
    assert await record(store, step(lease, "s1", "again")) == answers[1]


async def test_the_records_of_a_task_have_no_more_bytes_than_they_may_have(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease
    news = [step(lease, "a", "x" * 30), step(lease, "b", "x" * 30)]

    answers = await store.durable.record(news, limits=RecordLimits(100, 50))

    assert isinstance(answers[0], Record)
    assert isinstance(answers[1], QuotaExceeded)
    assert "50 bytes" in answers[1].message
    assert await names_of(store, task) == ["a"]


async def test_a_step_that_is_tried_again_and_returns_too_much_is_refused(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease
    await record(store, tried(lease, "a", 1))

    (answer,) = await store.durable.record([step(lease, "a", "x" * 100, tries=2)], limits=RecordLimits(100, 100))

    assert isinstance(answer, QuotaExceeded)
    assert "100 bytes" in answer.message
    (kept,) = (await steps_of(store, task)).page.records
    assert (kept.status, kept.tries) == (RecordStatus.TRIED, 1)


async def test_a_step_that_is_tried_again_is_recorded_though_others_beside_it_are_too_much(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease
    await record(store, tried(lease, "a", 1))
    news = [step(lease, "a", "done", tries=2), step(lease, "b", "x" * 100)]

    first, second = await store.durable.record(news, limits=RecordLimits(100, 100))

    assert isinstance(first, Record)
    assert (first.status, first.tries, first.value) == (RecordStatus.DONE, 2, Raw(b'"done"'))
    assert isinstance(second, QuotaExceeded)
    assert (await steps_of(store, task)).page.records == (first,)


async def test_a_claim_tells_how_many_records_there_are(store: Store) -> None:
    await submit(store)
    ada = await open_session(store)
    first = await claim_one(store, ada)
    await store.durable.record([step(first.lease, "a"), step(first.lease, "b")])
    await settle(store, first.lease, Act.RELEASE)

    second = await claim_one(store, ada)

    assert (first.recorded, second.recorded) == (0, 2)


async def test_records_come_in_pages(store: Store) -> None:
    ada = await open_session(store)
    small, large = await submit(store), await submit(store)
    leases = {claimed.lease.task: claimed.lease for claimed in await claim(store, ada)}
    await record(store, step(leases[small], "a"))
    for number in range(4):
        await record(store, step(leases[large], f"s{number}", "x" * 100_000))

    (first,) = await store.durable.pages([(large, 0)])
    (second,) = await store.durable.pages([(large, first.records[-1].seq)])
    both = await store.durable.pages([(small, 0), (large, 2)])
    (none,) = await store.durable.pages([(small, 1)])

    assert [each.seq for each in first.records] == [1, 2]
    assert first.has_more
    assert [each.seq for each in second.records] == [3, 4]
    assert not second.has_more
    assert [[each.name for each in page.records] for page in both] == [["a"], ["s2", "s3"]]
    assert (none.records, none.has_more) == ((), False)


async def test_a_sleep_ends_the_attempt_and_the_next_one_finds_it_over(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    ada = await open_session(store)
    first = await claim_one(store, ada)
    began = clock.now()

    settled = await park(store, first.lease, sleep("nap", 60_000))

    (view,) = await store.queries.get([task])
    assert view is not None
    assert settled.hint is not None
    assert settled.hint.due_at == view.due_at == began + 60_000
    assert (view.state, view.attempt, view.failures, view.crashes) == (State.QUEUED, 0, 0, 0)
    assert view.status(clock.now()) is Status.PENDING
    assert await claim(store, ada) == []
    clock.advance(60)
    second = await claim_one(store, ada)
    assert second.attempt == 1
    (answer,) = await answered(store, second.lease, sleep("nap", 60_000))
    assert answer is not None
    assert (answer.kind, answer.started_at, answer.at) == (RecordKind.SLEEP, began, clock.now())
    assert (await steps_of(store, task)).waits == ()


async def test_the_history_has_the_attempt_that_was_parked(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease

    await park(store, lease, sleep("nap", 60_000))

    (execution,) = await store.queries.attempts(task)
    assert (execution.outcome, execution.attempt, execution.epoch) == (AttemptOutcome.PARKED, 1, lease.epoch)


async def test_a_deadline_counts_from_the_first_attempt_that_waited(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    ada = await open_session(store)
    await park(store, (await claim_one(store, ada)).lease, sleep("nap", 60_000))
    clock.advance(50)
    await store.control.reschedule([Change(task=task, delay_ms=0)])
    early = (await claim_one(store, ada)).lease

    settled = await park(store, early, sleep("nap", 60_000))

    assert settled.hint is not None
    assert settled.hint.due_at == clock.now() + 10_000


async def test_the_earliest_deadline_of_several_waits_counts(store: Store, clock: ManualClock) -> None:
    await submit(store)
    ada = await open_session(store)
    lease = (await claim_one(store, ada)).lease

    settled = await park(store, lease, sleep("long", 90_000), sleep("short", 30_000))

    assert settled.hint is not None
    assert settled.hint.due_at == clock.now() + 30_000
    clock.advance(30)
    second = (await claim_one(store, ada)).lease
    (answer,) = await answered(store, second, sleep("long", 90_000), sleep("short", 30_000))
    assert answer is not None
    assert answer.name == "short"
    again = await park(store, second, sleep("long", 90_000))
    assert again.hint is not None
    assert again.hint.due_at == clock.now() + 60_000


async def test_a_time_that_has_come_is_answered_at_once(store: Store, clock: ManualClock) -> None:
    await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease

    (answer,) = await answered(store, lease, Wait(kind=WaitKind.SLEEP, name="past", until=clock.now()))

    assert answer is not None
    assert answer.name == "past"


async def test_a_wait_whose_answer_was_lost_is_answered_alike(store: Store, clock: ManualClock) -> None:
    await submit(store)
    ada = await open_session(store)
    first = (await claim_one(store, ada)).lease
    await park(store, first, sleep("nap", 1000))

    again = await wait(store, first, sleep("nap", 1000))

    assert isinstance(again, Settled)
    assert (again.state, again.hint and again.hint.task) == (State.QUEUED, first.task)
    clock.advance(1)
    second = (await claim_one(store, ada)).lease
    answers = [await answered(store, second, sleep("nap", 1000)) for _ in range(2)]
    assert answers[0] == answers[1]
    assert isinstance(await wait(store, first, sleep("other", 1000)), Settled)


async def test_a_lease_that_was_parked_can_do_nothing_more(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease
    await park(store, lease, sleep("nap", 1000))

    assert isinstance(await record(store, step(lease, "a")), Fenced)
    await settle(store, lease, Act.COMPLETE)  # is answered as the park was
    assert await state_of(store, task) is State.QUEUED


async def test_a_task_whose_cancellation_was_asked_for_ends_instead_of_waiting(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease
    await store.control.cancel([task])

    answer = await wait(store, lease, sleep("nap", 1000))

    assert isinstance(answer, Settled)
    assert answer.state is State.CANCELLED
    assert await state_of(store, task) is State.CANCELLED


async def test_a_task_that_waits_can_be_cancelled(store: Store) -> None:
    task = await submit(store)
    await park(store, (await claim_one(store, await open_session(store))).lease, sleep("nap", 1000))

    await store.control.cancel([task])

    assert await state_of(store, task) is State.CANCELLED


async def test_an_operators_retry_keeps_records_and_deadlines_and_forgets_failures(
    store: Store, clock: ManualClock
) -> None:
    task = await submit(store)
    ada = await open_session(store)
    lease = (await claim_one(store, ada)).lease
    await store.durable.record(
        [step(lease, "good"), step(lease, "bad", status=RecordStatus.FAILED), tried(lease, "worse", 2)]
    )
    await park(store, lease, sleep("nap", 60_000))
    await store.control.cancel([task])
    clock.advance(20)

    await store.control.retry([task])

    second = await claim_one(store, ada)
    assert await names_of(store, task) == ["good"]
    assert second.recorded == 1
    settled = await park(store, second.lease, sleep("nap", 60_000))
    assert settled.hint is not None
    assert settled.hint.due_at == clock.now() + 40_000


async def test_a_task_can_wait_for_a_person(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    ada = await open_session(store)
    person = Wait(kind=WaitKind.PERSON, name="charge", reason="charge: expected int")

    settled = await park(store, (await claim_one(store, ada)).lease, person)

    (view,) = await store.queries.get([task])
    assert view is not None
    assert settled.hint is not None
    assert (view.due_at, view.status(clock.now())) == (None, Status.PENDING)
    assert [(each.kind, each.reason, each.until) for each in (await steps_of(store, task)).waits] == [
        (WaitKind.PERSON, "charge: expected int", None)
    ]
    clock.advance(86_400 * 365)
    assert await claim(store, ada) == []
    await store.control.reschedule([Change(task=task, delay_ms=0)])
    lease = (await claim_one(store, ada)).lease
    await park(store, lease, sleep("nap", 1000))
    assert [each.name for each in (await steps_of(store, task)).waits] == ["nap"]


async def test_the_next_try_of_a_step_is_waited_for_and_leaves_no_record(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    ada = await open_session(store)
    lease = (await claim_one(store, ada)).lease
    await record(store, tried(lease, "a", 1, delay_ms=5000))
    retry = Wait(kind=WaitKind.RETRY, name="a", until=clock.now() + 5000)  # type: ignore[arg-type]
    await park(store, lease, retry)
    clock.advance(5)
    second = (await claim_one(store, ada)).lease

    assert await answered(store, second, retry) == [None]

    assert (await steps_of(store, task)).waits == ()
    assert [each.status for each in (await steps_of(store, task)).page.records] == [RecordStatus.TRIED]


async def test_a_task_of_a_job_can_wait(store: Store, clock: ManualClock) -> None:
    ada = await open_session(store)
    job = await submit_job(store, job_of({"first": (), "second": ("first",)}))
    running = await claim_keys(store, ada)

    await park(store, running["first"].lease, sleep("nap", 1000))

    clock.advance(1)
    (again,) = (await claim_keys(store, ada)).values()
    await answered(store, again.lease, sleep("nap", 1000))
    await settle(store, again.lease, Act.COMPLETE)
    assert await state_of(store, job.tasks["second"]) is State.QUEUED


async def test_of_many_who_record_at_once_one_is_first(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease

    answers = await asyncio.gather(*(record(store, step(lease, "a", number)) for number in range(10)))

    (kept,) = (await steps_of(store, task)).page.records
    assert {bytes(each.value) for each in answers if isinstance(each, Record)} == {bytes(kept.value)}


async def test_parallel_records_of_one_task_have_numbers_of_their_own(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease

    await asyncio.gather(*(record(store, step(lease, f"s{number}")) for number in range(20)))

    assert [each.seq for each in (await steps_of(store, task)).page.records] == list(range(1, 21))


async def test_another_tenants_task_has_no_steps(store: Store) -> None:
    task = await submit(store, tenant="acme")

    assert isinstance(await store.durable.steps(task, after=0, limit=10, tenant="other"), NotFound)
    assert not isinstance(await store.durable.steps(task, after=0, limit=10, tenant="acme"), NotFound)


async def test_records_and_waits_go_with_their_task(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    ada = await open_session(store)
    lease = (await claim_one(store, ada)).lease
    await record(store, step(lease, "a"))
    await park(store, lease, sleep("nap", 1000))
    await store.control.cancel([task])
    clock.advance(86_400)

    assert await store.prune(ended_before=clock.now(), limit=10) == 1

    assert isinstance(await store.durable.steps(task, after=0, limit=10), NotFound)
    (page,) = await store.durable.pages([(task, 0)])
    assert page.records == ()


async def test_every_record_is_an_event(store: Store) -> None:
    task = await submit(store, tenant="acme")
    lease = (await claim_one(store, await open_session(store))).lease
    new: list[NewRecord] = [step(lease, "a"), tried(lease, "b", 1)]
    await store.durable.record(new)
    await answered(store, lease, sleep("nap", 0))

    told = await facts_of(store, "drumline.task.recorded")

    assert [(each["name"], each["kind"], each["status"]) for each in told] == [
        ("a", "step", "done"), ("b", "step", "tried"), ("nap", "sleep", "done"),
    ]  # fmt: skip
    assert task


async def facts_of(store: Store, type_: str) -> list[dict[str, object]]:
    await store.events.sequence()
    page = await store.events.read_events(after=0, limit=1000)
    return [event.data for event in page.events if event.type == type_ and isinstance(event.data, dict)]


async def test_waiting_tasks_are_counted_by_what_they_wait_for(store: Store, clock: ManualClock) -> None:
    ada = await open_session(store)
    for wait_ in (sleep("nap", 1000), sleep("night", 60_000), Wait(kind=WaitKind.SIGNAL, name="go")):
        await submit(store)
        await park(store, (await claim_one(store, ada)).lease, wait_)

    before = await store.durable.count_waiting(most=100)
    clock.advance(2)
    after = await store.durable.count_waiting(most=100)

    assert before == {WaitKind.SLEEP: 2, WaitKind.SIGNAL: 1}
    assert after == {WaitKind.SLEEP: 1, WaitKind.SIGNAL: 1}
