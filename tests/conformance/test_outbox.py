"""The log of what changed: complete, in order, read by many, and kept until all have passed it on."""

import asyncio
import json

import pytest

from drumline.core.clock import Instant, ManualClock
from drumline.core.codec import encode
from drumline.core.event import TASK_FAILED, Event, TaskChange, cloud_event
from drumline.core.ids import SessionId, TaskId, session_text
from drumline.core.session import SessionSpec
from drumline.core.state import Act, Status
from drumline.core.task import NotifyTarget
from drumline.ports.store import Change, LogChunk, Store
from tests.factories import OOPS, beat, claim_one, open_session, settle, submit
from tests.job_factories import job_of, submit_job

HOUR_MS = 3_600_000


async def start(store: Store) -> int:
    """Return where the log ends now."""
    await store.events.sequence()
    return (await store.events.log_span()).last


async def events_after(store: Store, position: int, *, limit: int = 1000) -> list[Event]:
    """Read the log page by page to its end."""
    await store.events.sequence()
    events: list[Event] = []
    while True:
        page = await store.events.read_events(after=position, limit=limit)
        events += page.events
        if page.position == position:
            return events
        position = page.position


async def written_after(store: Store, position: int, *, limit: int = 1000) -> list[tuple[str, bytes]]:
    """Read the log page by page to its end, as it is published."""
    await store.events.sequence()
    events: list[tuple[str, bytes]] = []
    while True:
        page = await store.events.read_written(after=position, limit=limit, source="/here")
        events += zip(page.subjects, page.values, strict=True)
        if page.position == position:
            return events
        position = page.position


async def lives_of_tasks(store: Store, clock: ManualClock) -> None:
    """Bring tasks through their lives: several of each kind, with different times."""
    ada = await open_session(store)
    acts = [Act.COMPLETE, Act.FAIL, Act.BACK_OFF, Act.RELEASE, Act.COMPLETE]
    for number, act in enumerate([*acts, *acts, *acts]):
        clock.advance(0.25)
        await submit(store, "work", tenant="acme" if number % 2 else "default", tags=("red",) if number % 3 else ())
        clock.advance(number * 0.333)
        task = await claim_one(store, ada)
        clock.advance(number * 1.001)
        await settle(store, task.lease, act, error=OOPS if act in {Act.FAIL, Act.BACK_OFF} else None)


async def of_task(store: Store, position: int, task: TaskId) -> list[Event]:
    return [event for event in await events_after(store, position) if event.subject == task]


def words(events: list[Event]) -> list[str]:
    return [event.type.removeprefix("drumline.").removeprefix("task.") for event in events]


def change(event: Event) -> TaskChange:
    assert isinstance(event.data, TaskChange)
    return event.data


async def test_every_change_of_a_task_is_an_event_in_its_order(store: Store, clock: ManualClock) -> None:
    began = await start(store)
    ada = await open_session(store)
    task = await submit(store, "work", tags=("red",), queue="mail", tenant="acme")
    first = await claim_one(store, ada)
    await settle(store, first.lease, Act.BACK_OFF, delay_ms=1000)
    clock.advance(2)
    second = await claim_one(store, ada)
    clock.advance(3)
    await settle(store, second.lease, Act.COMPLETE)

    events = await of_task(store, began, task)

    assert words(events) == ["submitted", "claimed", "retried", "claimed", "completed"]
    assert [event.tenant for event in events] == ["acme"] * 5
    assert [(change(event).name, change(event).queue, change(event).tags) for event in events] == [
        ("work", "mail", ("red",))
    ] * 5
    assert [change(event).attempt for event in events] == [0, 1, 1, 2, 2]
    assert [change(event).status for event in events] == [
        Status.QUEUED, Status.PROCESSING, Status.PENDING, Status.PROCESSING, Status.COMPLETED,
    ]  # fmt: skip
    sequences = [cloud_event(event).sequence for event in events]
    assert sequences == sorted(set(sequences))
    assert len({event.id for event in events}) == len(events)


async def test_events_are_written_out_as_they_are_read(store: Store, clock: ManualClock) -> None:
    began = await start(store)
    await lives_of_tasks(store, clock)
    await claim_one(store, await open_session(store))
    await submit(store, "waits", tags=("100 %", "1970-01-02T00:00:00.222Z"))
    await submit(store, "later", delay=3600)
    await submit_job(store, job_of())

    for _ in range(3):  # what is alike has a template from the second time on
        usual = await events_after(store, began, limit=7)
        written = await written_after(store, began, limit=7)
        assert [value for _, value in written] == [encode(cloud_event(event, source="/here")) for event in usual]
        assert [subject for subject, _ in written] == [event.subject for event in usual]


async def test_written_events_name_the_log_that_they_are_in_now(store: Store) -> None:
    began = await start(store)
    for _ in range(3):
        await submit(store, "work")
    await written_after(store, began)

    names = (await store.events.rename_log()).split(".")  # one for each shard

    logs = [json.loads(value)["id"].split("-")[0] for _, value in await written_after(store, began)]
    assert len(logs) == 3
    assert set(logs) <= set(names)


async def test_tasks_that_failed_are_told_beside_the_written_events(store: Store) -> None:
    began = await start(store)
    ada = await open_session(store)
    failed = await submit(store, "work")
    await settle(store, (await claim_one(store, ada)).lease, Act.FAIL, error=OOPS)
    await store.events.sequence()

    page = await store.events.read_written(after=began, limit=1000, source="/here")

    assert [(event.subject, event.type) for event in page.failed] == [(failed, TASK_FAILED)]


async def test_an_event_tells_of_its_own_execution_whatever_came_later(store: Store, clock: ManualClock) -> None:
    began = await start(store)
    ada = await open_session(store)
    task = await submit(store)
    first = await claim_one(store, ada)
    started = clock.now()
    clock.advance(1.5)
    await settle(store, first.lease, Act.BACK_OFF)
    clock.advance(60)
    await settle(store, (await claim_one(store, ada)).lease, Act.COMPLETE)

    _, claimed, retried, _, completed = await of_task(store, began, task)

    assert change(claimed).worker == session_text(ada)
    assert (change(claimed).finished_at, change(claimed).error, change(claimed).duration) == (None, None, None)
    assert change(retried).error == OOPS
    assert change(retried).duration == 1.5
    assert change(retried).started_at == change(claimed).started_at
    assert retried.at == started + 1500
    assert change(completed).error is None
    assert change(completed).attempt == 2


async def test_a_failure_brings_the_end_of_its_log(store: Store) -> None:
    began = await start(store)
    task = await submit(store)
    claimed = await claim_one(store, await open_session(store))
    text = "".join(f"line {number}\n" for number in range(100))
    await store.outputs.append_log(
        [
            LogChunk(task=task, epoch=claimed.lease.epoch, seq=0, text=text),
            LogChunk(task=task, epoch=claimed.lease.epoch, seq=1, text="the very last\n"),
        ]
    )
    await settle(store, claimed.lease, Act.FAIL)

    *_, failed = await of_task(store, began, task)

    lines = (change(failed).log or "").splitlines()
    assert failed.type == "drumline.task.failed"
    assert lines[-2:] == ["line 99", "the very last"]
    assert len(lines) == 20
    assert change(failed).error == OOPS


@pytest.mark.parametrize(
    ("act", "word", "status"),
    [
        (Act.COMPLETE, "completed", Status.COMPLETED),
        (Act.FAIL, "failed", Status.FAILED),
        (Act.STOP, "cancelled", Status.CANCELLED),
        (Act.BACK_OFF, "retried", Status.PENDING),
        (Act.SNOOZE, "snoozed", Status.PENDING),
        (Act.RELEASE, "released", Status.QUEUED),
    ],
)
async def test_every_end_of_an_attempt_has_its_type(store: Store, act: Act, word: str, status: Status) -> None:
    began = await start(store)
    task = await submit(store)
    await settle(store, (await claim_one(store, await open_session(store))).lease, act)

    *_, ended = await of_task(store, began, task)

    assert (words([ended]), change(ended).status) == ([word], status)


async def test_tasks_that_are_asked_to_stop_with_their_job_are_told_of_once(store: Store) -> None:
    job = await submit_job(store, job_of({"a": (), "b": ("a",)}))
    await claim_one(store, await open_session(store))
    began = await start(store)

    await store.jobs.cancel_jobs([job.id])
    await store.jobs.cancel_jobs([job.id])

    assert [(event.subject, *words([event])) for event in await events_after(store, began)] == [
        (job.tasks["a"], "cancel_requested"), (job.tasks["b"], "cancelled"),
    ]  # fmt: skip


async def test_what_people_do_to_tasks_is_told(store: Store, clock: ManualClock) -> None:
    began = await start(store)
    task = await submit(store)
    await store.control.reschedule([Change(task=task, run_at=Instant(clock.now() + HOUR_MS))])
    await store.control.cancel([task])
    await store.control.retry([task])
    claimed = await claim_one(store, await open_session(store))
    await store.control.cancel([task])
    await store.control.cancel([task], force=True)

    events = await of_task(store, began, task)

    assert words(events) == [
        "submitted", "rescheduled", "cancelled", "requeued", "claimed", "cancel_requested", "cancelled",
    ]  # fmt: skip
    assert change(events[-2]).status is Status.PROCESSING
    assert change(events[-2]).attempt == claimed.attempt


async def test_the_due_time_is_told_while_it_holds(store: Store) -> None:
    began = await start(store)
    task = await submit(store, delay=60)
    ahead = (await of_task(store, began, task))[0]
    await store.control.reschedule([Change(task=task, delay_ms=0)])
    await claim_one(store, await open_session(store))

    submitted, rescheduled, _ = await of_task(store, began, task)

    assert change(ahead).status is Status.PENDING
    assert change(ahead).due_at is not None
    assert submitted.id == ahead.id
    assert change(rescheduled).due_at is None


async def test_a_crash_and_a_poisoning_are_told(store: Store) -> None:
    began = await start(store)
    task = await submit(store)
    for _ in range(2):
        ada = await open_session(store)
        await claim_one(store, ada)
        await store.sessions.reap([(ada, 0)], poison_after=2)

    events = await of_task(store, began, task)

    assert words(events) == ["submitted", "claimed", "reaped", "claimed", "failed"]
    assert "died" in (change(events[-1]).error or OOPS).message


async def test_workers_and_pauses_are_told_as_facts(store: Store) -> None:
    began = await start(store)
    ada = await open_session(store, "work", tenant="acme")
    bob = await open_session(store, "work")
    await store.sessions.drain_session(ada)
    await store.sessions.close_session(ada)
    await store.sessions.reap([(bob, 0)], poison_after=3)
    await store.control.pause_queue("mail", tenant="acme", reason="full")
    await store.control.resume_queue("mail", tenant="acme")
    await store.control.resume_queue("mail", tenant="acme")
    await store.sessions.close_session(ada)

    events = await events_after(store, began)

    assert [(event.type.removeprefix("drumline."), event.subject, event.tenant) for event in events] == [
        ("worker.opened", session_text(ada), "acme"),
        ("worker.opened", session_text(bob), ""),
        ("worker.draining", session_text(ada), "acme"),
        ("worker.closed", session_text(ada), "acme"),
        ("worker.reaped", session_text(bob), ""),
        ("queue.paused", "mail", "acme"),
        ("queue.resumed", "mail", "acme"),
    ]
    opened, paused = events[0].data, events[5].data
    assert isinstance(opened, dict)
    assert isinstance(paused, dict)
    assert opened["host"] == "host"
    assert paused["reason"] == "full"


async def test_whom_a_task_wants_told_comes_with_its_events(store: Store) -> None:
    began = await start(store)
    target = NotifyTarget(on=("failed",), webhook="https://example.com/hook")
    task = await submit(store, notify=(target,))

    (submitted,) = await of_task(store, began, task)

    assert submitted.notify == (target,)


async def test_reading_twice_gives_the_same_ids_however_the_pages_fall(store: Store) -> None:
    began = await start(store)
    for _ in range(30):
        await submit(store)

    by_one = await events_after(store, began, limit=1)
    by_many = await events_after(store, began, limit=1000)

    assert [event.id for event in by_one] == [event.id for event in by_many]
    assert len(by_many) == 30


async def test_a_page_ends_with_a_whole_row(store: Store) -> None:
    began = await start(store)
    ids = [await submit(store) for _ in range(5)]
    await store.control.cancel(ids)

    page = await store.events.read_events(after=began, limit=1)
    rest = await events_after(store, began)

    await store.events.sequence()
    page = await store.events.read_events(after=began, limit=1)
    assert page.is_full
    assert len(page.events) < len(rest)


async def test_a_new_consumer_begins_at_the_start_of_what_is_kept(store: Store) -> None:
    await submit(store)
    await store.events.sequence()
    span = await store.events.log_span()

    position = await store.events.take_cursor("ada", holder=1, seconds=30)

    assert position == span.dropped
    assert position is not None
    assert [event.id for event in (await store.events.read_events(after=position, limit=10)).events]


async def test_one_holder_at_a_time_moves_a_cursor(store: Store, clock: ManualClock) -> None:
    position = await store.events.take_cursor("ada", holder=1, seconds=30)
    assert position is not None

    while_held = await store.events.take_cursor("ada", holder=2, seconds=30)
    again = await store.events.take_cursor("ada", holder=1, seconds=30)
    by_another = await store.events.move_cursor("ada", holder=2, old=position, new=position + 7)
    clock.advance(31)
    taken_over = await store.events.take_cursor("ada", holder=2, seconds=30)
    too_late = await store.events.move_cursor("ada", holder=1, old=position, new=position + 5)

    assert (while_held, again, by_another, taken_over, too_late) == (None, position, False, position, False)


async def test_a_cursor_moves_only_from_where_it_was_seen(store: Store) -> None:
    position = await store.events.take_cursor("ada", holder=1, seconds=30) or 0

    moved = await store.events.move_cursor("ada", holder=1, old=position, new=position + 5)
    moved_again = await store.events.move_cursor("ada", holder=1, old=position, new=position + 6)

    assert (moved, moved_again) == (True, False)
    assert await store.events.take_cursor("ada", holder=1, seconds=30) == position + 5


async def test_a_cursor_that_was_left_is_free_at_once(store: Store) -> None:
    await store.events.take_cursor("ada", holder=1, seconds=30)

    await store.events.leave_cursor("ada", holder=1)

    assert await store.events.take_cursor("ada", holder=2, seconds=30) is not None


async def test_where_consumers_stand_can_be_seen(store: Store, clock: ManualClock) -> None:
    position = await store.events.take_cursor("ada", holder=1, seconds=30)
    written = clock.now()
    await submit(store)
    clock.advance(5)
    await submit(store)

    (view,) = await store.events.cursors()

    assert (view.consumer, view.position, view.behind, view.oldest_at) == ("ada", position, 2, written)


async def test_rows_are_kept_until_every_consumer_has_passed_them_on(store: Store, clock: ManualClock) -> None:
    began = await store.events.take_cursor("ada", holder=1, seconds=30) or 0
    await store.events.take_cursor("bob", holder=1, seconds=30)
    await submit(store)
    await submit(store)
    await store.events.sequence()
    last = (await store.events.log_span()).last
    clock.advance(60)

    async def prune() -> int:
        return await store.events.prune_events(written_before=clock.now(), most=1000, limit=100)

    await store.events.move_cursor("ada", holder=1, old=began, new=last)
    with_bob_behind = await prune()
    await store.events.move_cursor("bob", holder=1, old=began, new=began + 1)
    with_bob_half_way = await prune()
    await store.events.forget_consumer("bob")
    without_bob = await prune()

    assert (with_bob_behind, with_bob_half_way, without_bob) == (0, 1, 1)
    assert (await store.events.log_span()).dropped == last


async def test_recent_rows_stay_unless_there_are_too_many(store: Store, clock: ManualClock) -> None:
    await start(store)
    await store.events.prune_events(written_before=Instant(clock.now() + 1), most=0, limit=1000)
    for _ in range(5):
        await submit(store)
    await store.events.sequence()

    young = await store.events.prune_events(written_before=clock.now(), most=1000, limit=100)
    crowded = await store.events.prune_events(written_before=clock.now(), most=3, limit=100)
    clock.advance(1)
    old = await store.events.prune_events(written_before=clock.now(), most=1000, limit=2)

    assert (young, crowded, old) == (0, 2, 2)


async def test_a_task_stays_until_its_events_are_passed_on(store: Store, clock: ManualClock) -> None:
    position = await store.events.take_cursor("ada", holder=1, seconds=30) or 0
    task = await submit(store)
    await settle(store, (await claim_one(store, await open_session(store))).lease, Act.COMPLETE)
    clock.advance(24 * 3600)

    unread = await store.prune(ended_before=clock.now(), limit=100)
    await store.events.sequence()
    last = (await store.events.log_span()).last
    await store.events.move_cursor("ada", holder=1, old=position, new=last)
    read = await store.prune(ended_before=clock.now(), limit=100)

    assert (unread, read) == (0, 1)
    assert await store.queries.get([task]) == [None]


async def test_a_reader_that_is_a_moment_behind_does_not_keep_what_has_long_been_read(
    store: Store, clock: ManualClock
) -> None:
    position = await store.events.take_cursor("ada", holder=1, seconds=30) or 0
    read = await submit(store)
    await settle(store, (await claim_one(store, await open_session(store))).lease, Act.COMPLETE)
    await store.events.sequence()
    await store.events.move_cursor("ada", holder=1, old=position, new=(await store.events.log_span()).last)
    clock.advance(300)
    unread = await submit(store)
    await store.control.cancel([unread])
    clock.advance(1)

    await store.prune(ended_before=clock.now(), limit=100)

    assert await store.queries.get([read]) == [None]
    assert await store.queries.get([unread]) != [None]


async def test_the_events_of_a_pruned_task_are_still_told(store: Store, clock: ManualClock) -> None:
    began = await start(store)
    task = await submit(store)
    await store.control.cancel([task])
    clock.advance(24 * 3600)
    await store.prune(ended_before=clock.now(), limit=100)

    events = await of_task(store, began, task)

    assert words(events) == ["submitted", "cancelled"]
    assert {(event.tenant, change(event).name) for event in events} == {("", "")}


async def test_many_writers_and_a_reader_at_once_miss_nothing(store: Store) -> None:
    began = await start(store)
    seen: list[Event] = []
    done = asyncio.Event()

    async def read() -> None:
        position = began
        while True:
            is_last = done.is_set()
            await store.events.sequence()
            page = await store.events.read_events(after=position, limit=50)
            seen.extend(page.events)
            position = page.position
            if is_last and not page.events:
                return
            await asyncio.sleep(0)

    async def write(count: int) -> list[TaskId]:
        return [await submit(store) for _ in range(count)]

    reading = asyncio.create_task(read())
    written = await asyncio.gather(*(write(25) for _ in range(8)))
    done.set()
    await reading

    assert [event.subject for event in seen] == list(dict.fromkeys(event.subject for event in seen))
    assert {event.subject for event in seen} == {task for tasks in written for task in tasks}


async def test_a_beat_tells_nothing(store: Store) -> None:
    ada = await open_session(store)
    began = await start(store)

    await store.sessions.beat([beat(ada)])

    assert await events_after(store, began) == []


async def test_a_worker_is_told_of_by_one_shard_only(store: Store) -> None:
    spec = SessionSpec(host="h", pid=1, version="0", queues=(), types=(), capacity=1, is_copy=True)
    ada, bob = SessionId(77), SessionId(78)
    began = await start(store)

    await store.sessions.ensure_session(ada, spec)
    await store.sessions.drain_session(ada)
    await store.sessions.close_session(ada)
    await store.sessions.open_session(bob, spec)
    await store.sessions.reap([(bob, 0)], poison_after=5)
    await store.sessions.ensure_session(bob, spec)

    assert await events_after(store, began) == []
