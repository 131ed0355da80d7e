"""What the store has queued is found lane by lane, earliest first, so that a queue can be refilled from it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import pytest

from drumline.core.clock import Instant, ManualClock
from drumline.core.ids import TaskId
from drumline.core.state import Act, State
from drumline.core.task import Lane
from drumline.ports.store import Hint, Store, Sweeping
from drumline.stores.postgres import PostgresStore
from drumline.stores.sqlite import SqliteStore
from tests.factories import claim_one, open_session, settle, submit
from tests.harness.sqlite import migrated
from tests.job_factories import job_of, submit_job

WORK = Lane("default", "default", "work", 0)


class SweptStore(Store, Sweeping, Protocol):
    """A store that a queue can be refilled from."""


@pytest.fixture(params=["sqlite-memory", "sqlite-file", "postgres"])
def address(request: pytest.FixtureRequest) -> str:
    """Ask for the database before a loop runs: its fixture has a loop of its own to start."""
    url: str = request.getfixturevalue("postgres_url") if request.param == "postgres" else request.param
    return url


@pytest.fixture
async def swept(address: str, tmp_path: Path, clock: ManualClock) -> AsyncIterator[SweptStore]:
    store: SweptStore
    if address.startswith("postgresql:"):
        store = await PostgresStore.open(address, clock=clock)
    else:
        path = ":memory:" if address == "sqlite-memory" else migrated(tmp_path / "d.db")
        store = await SqliteStore.open(path, clock=clock)
    yield store
    await store.close()


def later(clock: ManualClock, seconds: float) -> Instant:
    return Instant(clock.now() + round(seconds * 1000))


def tasks_of(hints: list[Hint]) -> list[TaskId]:
    return [hint.task for hint in hints]


async def test_queued_tasks_are_found_with_their_lane_and_time(swept: SweptStore, clock: ManualClock) -> None:
    task = await submit(swept, "report", queue="mail", priority=7, delay=3, tenant="acme")

    (hint,) = await swept.upcoming(due_before=later(clock, 10), per_lane=10)

    assert hint == Hint(task, Lane("acme", "mail", "report", 7), later(clock, 3))


async def test_each_lane_gives_its_earliest_in_order(swept: SweptStore, clock: ManualClock) -> None:
    third, first, second = [await submit(swept, delay=delay) for delay in (3, 1, 2)]
    other = await submit(swept, "other", delay=4)

    hints = await swept.upcoming(due_before=later(clock, 10), per_lane=2)

    assert [hint.task for hint in hints if hint.lane == WORK] == [first, second]
    assert [hint.task for hint in hints if hint.lane != WORK] == [other]
    assert third not in tasks_of(hints)


async def test_the_span_includes_its_beginning_and_not_its_end(swept: SweptStore, clock: ManualClock) -> None:
    before, begin, inside, end = [await submit(swept, delay=delay) for delay in (1, 2, 3, 4)]

    hints = await swept.upcoming(due_after=later(clock, 2), due_before=later(clock, 4), per_lane=10)

    assert tasks_of(hints) == [begin, inside]
    assert {before, end}.isdisjoint(tasks_of(hints))


async def test_only_the_lanes_asked_for_are_looked_at(swept: SweptStore, clock: ManualClock) -> None:
    task = await submit(swept)
    await submit(swept, "other")

    hints = await swept.upcoming(due_before=later(clock, 1), per_lane=10, lanes=[WORK])

    assert tasks_of(hints) == [task]
    assert await swept.upcoming(due_before=later(clock, 1), per_lane=10, lanes=[]) == []


async def test_running_and_ended_tasks_are_not_upcoming(swept: SweptStore, clock: ManualClock) -> None:
    ada = await open_session(swept)
    await submit(swept)
    ended = await claim_one(swept, ada)
    await settle(swept, ended.lease, Act.COMPLETE)
    await submit(swept)
    await claim_one(swept, ada)

    assert await swept.upcoming(due_before=later(clock, 10), per_lane=10) == []


async def test_a_task_that_is_to_be_tried_again_is_upcoming(swept: SweptStore, clock: ManualClock) -> None:
    ada = await open_session(swept)
    task = await submit(swept)
    claimed = await claim_one(swept, ada)
    await settle(swept, claimed.lease, Act.BACK_OFF, delay_ms=2000)

    (hint,) = await swept.upcoming(due_before=later(clock, 10), per_lane=10)

    assert (hint.task, hint.due_at) == (task, later(clock, 2))


async def test_paused_queues_are_told(swept: SweptStore) -> None:
    for queue, tenant in (("mail", "red"), ("mail", "blue"), ("print", "red")):
        await swept.control.pause_queue(queue, tenant=tenant)
    await swept.control.resume_queue("print", tenant="red")

    assert await swept.paused_queues() == [("blue", "mail"), ("red", "mail")]


async def test_paused_queues_keep_their_upcoming_tasks(swept: SweptStore, clock: ManualClock) -> None:
    task = await submit(swept)
    await swept.control.pause_queue("default", tenant="default")

    assert tasks_of(await swept.upcoming(due_before=later(clock, 1), per_lane=10)) == [task]


async def test_what_waits_is_found_whether_it_is_due_or_blocked(swept: SweptStore, clock: ManualClock) -> None:
    due = await submit(swept)
    await submit(swept, delay="1h")
    job = await submit_job(swept, job_of({"a": (), "b": ("a",)}))
    await submit(swept, "other")
    await claim_one(swept, await open_session(swept), "other")
    clock.advance(60)

    found = await swept.waiting_tasks(due_before=clock.now(), limit=10)

    assert sorted(found) == sorted(
        [(due, State.QUEUED), (job.tasks["a"], State.QUEUED), (job.tasks["b"], State.BLOCKED)]
    )
    assert len(await swept.waiting_tasks(due_before=clock.now(), limit=1)) == 2, "one of each"
    assert await swept.waiting_tasks(due_before=Instant(0), limit=10) == [(job.tasks["b"], State.BLOCKED)]
