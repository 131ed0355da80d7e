"""Dead letters: there exactly while a task is failed and nobody has resolved it."""

import asyncio
from typing import Any

import pytest
from msgspec import Raw

from drumline.core.clock import ManualClock
from drumline.core.dead_letter import POISON, Reason, cause_of
from drumline.core.errors import Conflict, NotFound
from drumline.core.ids import TaskId
from drumline.core.job import JobStatus
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Act, State
from drumline.ports.dead_letters import DeadLetter, DeadLetterFilter, GroupMark, GroupOrder, Mark
from drumline.ports.store import Settlement, Store
from tests.factories import OOPS, claim, claim_one, new_id, open_session, settle, state_of, submit
from tests.job_factories import ids, run_all, status_of_job, submit_job

ALL = DeadLetterFilter()


async def fail(
    store: Store, name: str = "work", *, error: ErrorInfo = OOPS, reason: Reason = Reason.PERMANENT, **options: Any
) -> TaskId:
    """Submit a task and let it fail for good."""
    task = await submit(store, name, **options)
    lease = (await claim_one(store, await open_session(store, name), name)).lease
    await settle(store, lease, Act.FAIL, error=error, cause=cause_of(error, reason))
    return task


async def fail_again(store: Store, name: str = "work", error: ErrorInfo = OOPS) -> None:
    lease = (await claim_one(store, await open_session(store, name), name)).lease
    await settle(store, lease, Act.FAIL, error=error)


async def letter_of(store: Store, task: TaskId) -> DeadLetter:
    (letter,) = await store.dead_letters.get_dead_letters([task])
    assert letter is not None
    return letter


async def listed(store: Store, which: DeadLetterFilter = ALL, limit: int = 100) -> list[TaskId]:
    return [letter.task for letter in await store.dead_letters.dead_letters(which, limit=limit)]


async def counts(store: Store, which: DeadLetterFilter = ALL) -> list[int]:
    return [group.count for group in await store.dead_letters.dead_letter_groups(which, limit=100)]


async def test_a_task_that_fails_for_good_leaves_a_dead_letter(store: Store, clock: ManualClock) -> None:
    task = await fail(store, error=ErrorInfo("ValueError", "order 7 is odd"), reason=Reason.RETRIES_EXHAUSTED)

    letter = await letter_of(store, task)

    (view,) = await store.queries.get([task])
    assert view is not None
    assert (letter.lane, letter.at, letter.epoch) == (view.lane, clock.now(), view.epoch)
    assert (letter.reason, letter.kind, letter.message) == (Reason.RETRIES_EXHAUSTED, "ValueError", "order 7 is odd")
    assert (letter.attempts, letter.job) == (1, None)


async def test_other_ends_leave_none(store: Store) -> None:
    ada = await open_session(store)
    for act in (Act.COMPLETE, Act.STOP, Act.BACK_OFF, Act.RELEASE):
        await submit(store)
        await settle(store, (await claim_one(store, ada)).lease, act, delay_ms=10_000)
    await store.control.cancel([await submit(store)])

    assert await listed(store) == []
    assert await counts(store) == []


async def test_a_failure_whose_cause_nobody_decided_leaves_one_too(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease

    await store.settle([Settlement(lease=lease, act=Act.FAIL)])

    assert (await letter_of(store, task)).reason is Reason.PERMANENT


async def test_a_poisonous_task_leaves_one(store: Store) -> None:
    task = await submit(store)
    ada = await open_session(store)
    await claim_one(store, ada)

    await store.sessions.reap([(ada, 0)], poison_after=1)

    letter = await letter_of(store, task)
    assert (letter.reason, letter.kind) == (Reason.POISON, POISON)


async def test_a_list_of_settlements_leaves_one_for_each_that_failed(store: Store) -> None:
    ada = await open_session(store)
    tasks = [await submit(store) for _ in range(6)]
    leases = [task.lease for task in await claim(store, ada)]
    acts = [Act.FAIL, Act.COMPLETE, Act.FAIL, Act.BACK_OFF, Act.FAIL, Act.STOP]

    await store.settle([Settlement(lease=lease, act=act, error=OOPS) for lease, act in zip(leases, acts, strict=True)])

    failed = {task for task in tasks if await state_of(store, task) is State.FAILED}
    assert set(await listed(store)) == failed
    assert len(failed) == 3
    assert await counts(store) == [3]


async def test_the_same_failure_told_twice_is_counted_once(store: Store) -> None:
    await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease

    for _ in range(3):
        await settle(store, lease, Act.FAIL)

    assert await counts(store) == [1]


async def test_a_late_failure_leaves_none(store: Store) -> None:
    await submit(store)
    ada = await open_session(store)
    lease = (await claim_one(store, ada)).lease
    await store.sessions.reap([(ada, 0)], poison_after=5)

    await store.settle([Settlement(lease=lease, act=Act.FAIL, error=OOPS)])

    assert await listed(store) == []


async def test_it_leaves_when_its_task_is_retried_and_comes_back_when_that_fails_again(
    store: Store, clock: ManualClock
) -> None:
    task = await fail(store)
    first = await letter_of(store, task)

    await store.control.retry([task])

    assert await store.dead_letters.get_dead_letters([task]) == [None]
    assert await counts(store) == []
    clock.advance(5)
    await fail_again(store)
    second = await letter_of(store, task)
    assert second.epoch > first.epoch
    assert (second.at, second.attempts) == (clock.now(), 2)
    assert await counts(store) == [1]


async def test_a_discarded_one_leaves_the_list_and_its_task_stays_failed(store: Store) -> None:
    task = await fail(store)

    (answer,) = await store.dead_letters.discard([task])

    assert not isinstance(answer, Exception)
    assert answer.state is State.FAILED
    assert await state_of(store, task) is State.FAILED
    assert await listed(store) == []
    assert await counts(store) == []


async def test_discarding_what_is_not_there_says_why(store: Store) -> None:
    theirs = await fail(store, tenant="globex")
    waiting, nobodys = await submit(store), new_id()

    answers = await store.dead_letters.discard([waiting, nobodys, theirs], tenant="default")

    assert [type(answer) for answer in answers] == [Conflict, NotFound, NotFound]
    assert await listed(store) == [theirs]


async def test_a_discarded_task_can_still_be_retried(store: Store) -> None:
    task = await fail(store)
    await store.dead_letters.discard([task])

    (answer,) = await store.control.retry([task])

    assert not isinstance(answer, Exception)
    await fail_again(store)
    assert await counts(store) == [1]


async def test_retry_and_discard_at_once_count_it_down_once(store: Store) -> None:
    for _ in range(10):
        task = await fail(store)

        await asyncio.gather(
            *(store.control.retry([task]) for _ in range(2)), *(store.dead_letters.discard([task]) for _ in range(2))
        )

        assert await counts(store) == []
        assert await state_of(store, task) is State.QUEUED
        await store.control.cancel([task])


async def test_many_failures_of_one_cause_at_once_are_all_counted(store: Store) -> None:
    ada = await open_session(store)
    for _ in range(40):
        await submit(store)
    leases = [task.lease for task in await claim(store, ada, limit=40)]
    errors = [ErrorInfo("ValueError", "a"), ErrorInfo("ValueError", "b")]

    await asyncio.gather(
        *(
            store.settle(
                [Settlement(lease=leases[n + i], act=Act.FAIL, error=errors[(n // 4 + i) % 2]) for i in range(4)]
            )
            for n in range(0, 40, 4)
        )
    )

    assert await counts(store) == [20, 20]


async def test_pruning_a_task_takes_it_along(store: Store, clock: ManualClock) -> None:
    await fail(store)
    clock.advance(10)

    assert await store.prune(ended_before=clock.now(), limit=10) == 1

    assert await listed(store) == []
    assert await counts(store) == []


async def test_the_latest_come_first_page_by_page(store: Store, clock: ManualClock) -> None:
    tasks = []
    for number in range(7):
        tasks.append(await fail(store))
        if number % 2:
            clock.advance(1)

    pages: list[DeadLetter] = []
    while page := await store.dead_letters.dead_letters(
        ALL, limit=3, before=Mark(pages[-1].at, pages[-1].task) if pages else None
    ):
        pages += page

    assert sorted(letter.task for letter in pages) == sorted(tasks)
    assert [(letter.at, letter.task) for letter in pages] == sorted(
        ((letter.at, letter.task) for letter in pages), reverse=True
    )


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        (DeadLetterFilter(queue="mail"), {1}),
        (DeadLetterFilter(name="pack"), {2}),
        (DeadLetterFilter(tenant="globex"), {3}),
        (DeadLetterFilter(kind="KeyError"), {4}),
        (DeadLetterFilter(reason=Reason.RETRIES_EXHAUSTED), {5}),
        (DeadLetterFilter(tag="vip"), {6}),
        (DeadLetterFilter(name="work", kind="ValueError"), {0, 1, 3, 5, 6}),
        (DeadLetterFilter(name="work", tag="vip"), {6}),
        (DeadLetterFilter(name="pack", tag="vip"), set()),
        (DeadLetterFilter(queue="nowhere"), set()),
        (DeadLetterFilter(fingerprint=cause_of(OOPS).fingerprint), {0, 1, 2, 3, 5, 6}),
    ],
)
async def test_filters_narrow(store: Store, which: DeadLetterFilter, expected: set[int]) -> None:
    tasks = [
        await fail(store),
        await fail(store, queue="mail"),
        await fail(store, "pack"),
        await fail(store, tenant="globex"),
        await fail(store, error=ErrorInfo("KeyError", "'x'")),
        await fail(store, reason=Reason.RETRIES_EXHAUSTED),
        await fail(store, tags=("vip", "eu")),
    ]

    found = await listed(store, which)

    assert {tasks.index(task) for task in found} == expected


async def test_a_stretch_of_time_narrows(store: Store, clock: ManualClock) -> None:
    tasks, times = [], []
    for _ in range(4):
        times.append(clock.now())
        tasks.append(await fail(store))
        clock.advance(10)

    assert await listed(store, DeadLetterFilter(since=times[2])) == [tasks[3], tasks[2]]
    assert await listed(store, DeadLetterFilter(until=times[2])) == [tasks[1], tasks[0]]
    assert await listed(store, DeadLetterFilter(since=times[1], until=times[3], name="work")) == [tasks[2], tasks[1]]


async def test_one_cause_is_one_group(store: Store, clock: ManualClock) -> None:
    began = clock.now()
    for number, (name, queue) in enumerate([("pay", "a"), ("pay", "b"), ("pack", "a")]):
        clock.advance(1)
        await fail(store, name, queue=queue, error=ErrorInfo("ValueError", f"order {number} is odd"))
    await fail(store, error=ErrorInfo("KeyError", "'x'"))

    groups = {group.kind: group for group in await store.dead_letters.dead_letter_groups(ALL, limit=10)}

    group = groups["ValueError"]
    assert (group.count, group.message) == (3, "order <n> is odd")
    assert (group.first_at, group.last_at) == (began + 1000, began + 3000)
    assert (group.names, group.queues) == (("pack", "pay"), ("a", "b"))
    assert groups["KeyError"].count == 1
    assert group.example is not None
    assert group.example.message == "order 2 is odd"
    (latest,) = await store.dead_letters.dead_letters(DeadLetterFilter(kind="ValueError"), limit=1)
    assert group.example.task == latest.task
    (mine,) = await store.dead_letters.dead_letter_groups(DeadLetterFilter(queue="a", kind="ValueError"), limit=10)
    assert (mine.count, mine.queues) == (2, ("a",))


async def test_a_tenant_sees_only_its_own_groups(store: Store) -> None:
    await fail(store)
    await fail(store, tenant="globex")

    assert await counts(store) == [2]
    assert await counts(store, DeadLetterFilter(tenant="globex")) == [1]
    assert await counts(store, DeadLetterFilter(tenant="initech")) == []


@pytest.mark.parametrize("order", list(GroupOrder))
async def test_groups_come_page_by_page(store: Store, clock: ManualClock, order: GroupOrder) -> None:
    for number in range(5):
        for _ in range(number % 3 + 1):
            await fail(store, error=ErrorInfo(f"Error{number}", "x"))
        clock.advance(1)

    pages = []
    mark: GroupMark | None = None
    while page := await store.dead_letters.dead_letter_groups(ALL, limit=2, order=order, before=mark):
        pages += page
        last = page[-1]
        mark = GroupMark(last.count if order is GroupOrder.COUNT else last.last_at, last.fingerprint)

    values = [group.count if order is GroupOrder.COUNT else group.last_at for group in pages]
    assert values == sorted(values, reverse=True)
    assert len({group.fingerprint for group in pages}) == 5


async def test_a_group_that_comes_back_knows_when_it_was_first_seen(store: Store, clock: ManualClock) -> None:
    began = clock.now()
    task = await fail(store)
    await store.dead_letters.discard([task])
    clock.advance(60)

    await fail(store)

    (group,) = await store.dead_letters.dead_letter_groups(ALL, limit=10)
    assert (group.count, group.first_at, group.last_at) == (1, began, clock.now())


async def test_a_task_is_retried_with_another_payload_and_the_first_one_is_kept(
    store: Store, clock: ManualClock
) -> None:
    task = await fail(store, payload={"order": 7})
    first = await letter_of(store, task)

    changed = await store.control.retry_edited(task, Raw(b'{"order":8}'))

    assert changed.hint is not None
    (edit,) = await store.dead_letters.payload_edits(task)
    assert (edit.epoch, edit.at, bytes(edit.payload)) == (first.epoch, clock.now(), b'{"order":7}')
    claimed = await claim_one(store, await open_session(store))
    assert bytes(claimed.payload) == b'{"order":8}'
    assert await listed(store) == []


async def test_a_task_that_cannot_be_retried_keeps_its_payload(store: Store) -> None:
    task = await submit(store, payload={"order": 7})
    theirs = await fail(store, "pack", tenant="globex", payload={"order": 9})

    with pytest.raises(Conflict):
        await store.control.retry_edited(task, Raw(b"{}"))
    with pytest.raises(NotFound):
        await store.control.retry_edited(theirs, Raw(b"{}"), tenant="default")

    views = await store.queries.get([task, theirs])
    assert [bytes(view.payload) for view in views if view and view.payload] == [b'{"order":7}', b'{"order":9}']
    assert await store.dead_letters.payload_edits(task) == []


async def test_pruning_forgets_earlier_payloads(store: Store, clock: ManualClock) -> None:
    task = await fail(store)
    await store.control.retry_edited(task, Raw(b"[]"))
    await fail_again(store)
    clock.advance(10)

    await store.prune(ended_before=clock.now(), limit=10)

    assert await store.dead_letters.payload_edits(task) == []


async def test_a_task_of_a_job_says_which(store: Store) -> None:
    ada = await open_session(store)
    other = await fail(store)
    job = await submit_job(store)
    await run_all(store, ada, lambda key: Act.FAIL if key == "b" else Act.COMPLETE)

    (task,) = ids(job, "b")

    assert (await letter_of(store, task)).job == job.id
    assert await listed(store, DeadLetterFilter(job=job.id)) == [task]
    assert await listed(store, DeadLetterFilter(job=job.id, name="pack")) == []
    assert (await letter_of(store, other)).job is None


async def test_resuming_a_job_resolves_its_dead_letters(store: Store) -> None:
    ada = await open_session(store)
    job = await submit_job(store)
    await run_all(store, ada, lambda key: Act.FAIL if key in {"b", "c"} else Act.COMPLETE)
    assert await counts(store) == [2]

    await store.jobs.resume_jobs([job.id])

    assert await counts(store) == []
    assert await listed(store) == []


async def test_a_task_of_a_job_is_retried_with_another_payload(store: Store) -> None:
    ada = await open_session(store)
    job = await submit_job(store)
    await run_all(store, ada, lambda key: Act.FAIL if key == "b" else Act.COMPLETE)
    (task,) = ids(job, "b")

    await store.control.retry_edited(task, Raw(b'{"order":8}'))

    assert await counts(store) == []
    claimed = await claim_one(store, ada)
    assert (claimed.lease.task, bytes(claimed.payload)) == (task, b'{"order":8}')
    assert await status_of_job(store, job.id) is JobStatus.PROCESSING


@pytest.mark.parametrize("way", ["retry", "discard", "die again"])
async def test_why_a_task_died_is_known_after_its_dead_letter_is_gone(store: Store, way: str) -> None:
    task = await fail(store, reason=Reason.RETRIES_EXHAUSTED)
    other = await fail(store, reason=Reason.UNRESOLVED_INPUT)
    if way == "discard":
        await store.dead_letters.discard([task])
    else:
        await store.control.retry([task])
    if way == "die again":
        await fail_again(store)

    known = await store.dead_letters.reasons([(task, 1), (other, 1), (task, 2), (other, 2)])

    again = Reason.PERMANENT if way == "die again" else None
    assert known == [Reason.RETRIES_EXHAUSTED, Reason.UNRESOLVED_INPUT, again, None]


async def test_why_a_task_of_a_job_died_is_known_after_the_job_was_resumed(store: Store) -> None:
    job = await submit_job(store)
    session = await open_session(store)
    task = await claim_one(store, session)
    await settle(store, task.lease, Act.FAIL, cause=cause_of(OOPS, Reason.RETRIES_EXHAUSTED))

    await store.jobs.resume_jobs([job.id])

    assert await store.dead_letters.reasons([(task.lease.task, 1)]) == [Reason.RETRIES_EXHAUSTED]
