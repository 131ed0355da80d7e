"""Many attempts that sleep are ended, and later answered, together; each as if it were alone."""

from drumline.core.attempt import AttemptOutcome
from drumline.core.clock import Instant, ManualClock
from drumline.core.durable import Answered, RecordKind, Wait, WaitKind, WaitRequest
from drumline.core.errors import Fenced, QuotaExceeded
from drumline.core.lease import Lease
from drumline.core.state import Act, State
from drumline.ports.durable import RecordLimits, Waited
from drumline.ports.store import Settled, Store
from tests.durable_factories import names_of, record, sleep, step, steps_of
from tests.factories import claim, open_session, settle, state_of, submit
from tests.job_factories import job_of, submit_job


async def leases_of(store: Store, count: int) -> list[Lease]:
    for _ in range(count):
        await submit(store)
    session = await open_session(store)
    return [task.lease for task in await claim(store, session, limit=count)]


async def sleep_all(store: Store, leases: list[Lease], delay_ms: int = 1000) -> list[Waited]:
    requests = [WaitRequest(lease=lease, waits=(sleep("nap", delay_ms),)) for lease in leases]
    return await store.durable.wait_all(requests)


async def test_many_sleeps_end_their_attempts_and_are_due_at_their_own_times(store: Store, clock: ManualClock) -> None:
    leases = await leases_of(store, 3)
    requests = [
        WaitRequest(lease=lease, waits=(sleep("nap", 1000 * number),)) for number, lease in enumerate(leases, 1)
    ]

    answers = await store.durable.wait_all(requests)

    assert [answer.state for answer in answers if isinstance(answer, Settled)] == [State.QUEUED] * 3
    for number, lease in enumerate(leases, 1):
        (view,) = (await steps_of(store, lease.task)).waits
        assert (view.kind, view.name, view.until) == (WaitKind.SLEEP, "nap", Instant(clock.now() + 1000 * number))
        assert [attempt.outcome for attempt in await store.queries.attempts(lease.task)] == [AttemptOutcome.PARKED]


async def test_sleeps_that_are_over_are_recorded_and_answered_together(store: Store, clock: ManualClock) -> None:
    began = clock.now()
    await sleep_all(store, await leases_of(store, 3))
    clock.advance(1)
    woken = [task.lease for task in await claim(store, await open_session(store), limit=3)]

    answers = await sleep_all(store, woken)

    assert len(woken) == 3
    for lease, answer in zip(woken, answers, strict=True):
        assert isinstance(answer, Answered)
        ((place, told),) = answer.answers
        view = await steps_of(store, lease.task)
        assert place == 0
        assert (told,) == view.page.records
        assert told is not None
        assert (told.kind, told.seq, told.started_at, told.at) == (RecordKind.SLEEP, 1, began, clock.now())
        assert view.waits == ()
        await record(store, step(lease, "next"))
        assert await names_of(store, lease.task) == ["nap", "next"]


async def test_the_same_sleeps_asked_again_get_the_same_answers(store: Store, clock: ManualClock) -> None:
    leases = await leases_of(store, 2)
    parked = await sleep_all(store, leases)
    again = await sleep_all(store, leases)
    clock.advance(1)
    woken = [task.lease for task in await claim(store, await open_session(store), limit=2)]
    answered = await sleep_all(store, woken)
    repeated = await sleep_all(store, woken)

    assert [answer.state for answer in [*parked, *again] if isinstance(answer, Settled)] == [State.QUEUED] * 4
    assert repeated == answered


async def test_a_deadline_counts_from_the_first_attempt_that_slept(store: Store, clock: ManualClock) -> None:
    (lease,) = await leases_of(store, 1)
    await sleep_all(store, [lease], delay_ms=5000)
    deadline = Instant(clock.now() + 5000)
    clock.advance(5)
    (woken,) = await claim(store, await open_session(store), limit=1)
    clock.advance(-2)  # the clock of another process

    (answer,) = await sleep_all(store, [woken.lease], delay_ms=60_000)

    assert isinstance(answer, Settled)
    assert [wait.until for wait in (await steps_of(store, lease.task)).waits] == [deadline]


async def test_a_lease_that_is_over_is_refused_while_others_sleep(store: Store) -> None:
    first, second = await leases_of(store, 2)
    await settle(store, first, Act.RELEASE)

    answers = await sleep_all(store, [first, second])

    # A release settles the attempt: whoever asks again learns its state, as with a lost answer.
    assert [isinstance(answer, Settled) for answer in answers] == [True, True]
    assert (await steps_of(store, first.task)).waits == ()
    assert len((await steps_of(store, second.task)).waits) == 1


async def test_a_reaped_attempt_does_not_sleep(store: Store) -> None:
    first, second = await leases_of(store, 2)
    wrong = Lease(first.task, first.epoch, first.nonce + 1)

    answers = await sleep_all(store, [wrong, second, first])

    assert isinstance(answers[0], Fenced)
    assert [answer.state for answer in answers[1:] if isinstance(answer, Settled)] == [State.QUEUED] * 2


async def test_a_cancelled_task_ends_when_it_would_sleep(store: Store) -> None:
    leases = await leases_of(store, 2)
    await store.control.cancel([leases[0].task])

    answers = await sleep_all(store, leases)

    assert [answer.state for answer in answers if isinstance(answer, Settled)] == [State.CANCELLED, State.QUEUED]
    assert await state_of(store, leases[0].task) is State.CANCELLED


async def test_a_sleep_without_room_for_its_record_is_told_so_and_others_are_answered(store: Store) -> None:
    leases = await leases_of(store, 2)
    await record(store, step(leases[0], "a"))
    requests = [WaitRequest(lease=lease, waits=(sleep("nap", 0),)) for lease in leases]

    answers = await store.durable.wait_all(requests, limits=RecordLimits(1, 1000))

    assert isinstance(answers[0], QuotaExceeded)
    assert isinstance(answers[1], Answered)


async def test_tasks_of_jobs_and_other_waits_may_be_in_the_list(store: Store) -> None:
    await submit_job(store, job_of({"a": ()}))
    for _ in range(2):
        await submit(store)
    leases = [task.lease for task in await claim(store, await open_session(store), limit=3)]
    waits = [sleep("nap", 1000), sleep("nap", 2000), Wait(kind=WaitKind.SIGNAL, name="go")]

    answers = await store.durable.wait_all(
        [WaitRequest(lease=lease, waits=(wait,)) for lease, wait in zip(leases, waits, strict=True)]
    )

    assert [answer.state for answer in answers if isinstance(answer, Settled)] == [State.QUEUED] * 3
    views = [(await steps_of(store, lease.task)).waits[0] for lease in leases]
    assert [(view.kind, view.name) for view in views] == [(wait.kind, wait.name) for wait in waits]
