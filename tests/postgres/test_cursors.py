"""Claims that choose by themselves begin where the last one found something, and still find everything."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from drumline.core.clock import ManualClock, to_datetime
from drumline.core.job import RunIf
from drumline.core.state import Act
from drumline.stores.postgres import PostgresStore
from drumline.stores.postgres.cursors import LOOK_EVERY, MOST_LANES, QUICK, SHARE, Cursors, Floor, LanePosition
from tests.factories import claim, claim_one, open_session, settle, submit
from tests.job_factories import claim_keys, finish, job_of, submit_job


class Seconds:
    """Time that moves when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
async def frozen(postgres_url: str) -> AsyncIterator[PostgresStore]:
    """The store in a single instant."""
    opened = await PostgresStore.open(postgres_url, clock=ManualClock())
    yield opened
    await opened.close()


@pytest.fixture
def cursors(seconds: Seconds) -> Cursors:
    cursors = Cursors(seconds)
    cursors.looked(seconds.now)
    return cursors


def test_a_claim_begins_where_the_last_one_found_something(cursors: Cursors) -> None:
    cursors.found({1: LanePosition(10, "a")})

    assert cursors.places() == {1: LanePosition(10, "a")}


def test_what_this_process_puts_behind_that_place_moves_it_back(cursors: Cursors) -> None:
    cursors.found({1: LanePosition(10, "b")})

    cursors.queued(1, LanePosition(10, "c"))
    cursors.queued(1, LanePosition(10, "a"))
    cursors.queued(2, LanePosition(1, "a"))

    assert cursors.places() == {1: LanePosition(10, "a")}


def test_everything_is_looked_at_each_second(cursors: Cursors, seconds: Seconds) -> None:
    cursors.found({1: LanePosition(10, "a")})

    seconds.now += LOOK_EVERY + 0.1

    assert cursors.places() == {}


def test_quick_looks_at_everything_are_always_allowed(cursors: Cursors, seconds: Seconds) -> None:
    cursors.looked(seconds.now - QUICK / 2)

    assert cursors.may_look()


def test_slow_looks_at_everything_are_rationed(cursors: Cursors, seconds: Seconds) -> None:
    cursors.found({1: LanePosition(10, "a")})
    cursors.looked(seconds.now - 0.5)
    once = cursors.may_look()
    cursors.looked(seconds.now - 0.5)

    rationed = (cursors.may_look(), cursors.places())
    seconds.now += 0.5 * SHARE + 0.1
    due = (cursors.may_look(), cursors.places())

    assert once, "one slow look says little"
    assert rationed == (False, {1: LanePosition(10, "a")})
    assert due == (True, {})


def test_only_so_many_places_are_kept(cursors: Cursors) -> None:
    for lane in range(MOST_LANES + 10):
        cursors.found({lane: LanePosition(1, "a")})

    assert len(cursors.places()) == MOST_LANES


async def test_a_task_put_back_by_another_process_is_found(store: PostgresStore, other: PostgresStore) -> None:
    for _ in range(4):
        await submit(store)
    ada, bob = await open_session(store), await open_session(other)
    first = await claim_one(other, bob)
    await claim(store, ada, limit=2)

    await settle(other, first.lease, Act.RELEASE)

    assert first.lease.task in [task.lease.task for task in await claim(store, ada)]


async def test_a_task_submitted_for_the_past_goes_first(store: PostgresStore) -> None:
    for _ in range(4):
        await submit(store)
    ada = await open_session(store)
    await claim(store, ada, limit=2)
    now = await store.queries.now()

    late = await submit(store, run_at=to_datetime(type(now)(now - 60_000)))

    assert (await claim_one(store, ada)).lease.task == late


async def test_a_job_resumed_within_a_millisecond_is_found_without_a_look_at_everything(
    frozen: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = await open_session(frozen)
    job = await submit_job(frozen, job_of({"first": (), "last": ("first",)}, run_if={"last": RunIf.ALL_DONE}))
    await finish(frozen, (await claim_keys(frozen, ada))["first"], Act.FAIL)
    await finish(frozen, (await claim_keys(frozen, ada))["last"])
    monkeypatch.setattr(Cursors, "may_look", lambda _: False)
    monkeypatch.setattr(Cursors, "places", lambda cursors: dict(cursors._places))

    await frozen.jobs.resume_jobs([job.id])

    assert list(await claim_keys(frozen, ada)) == ["first"]


async def test_a_claim_does_not_walk_over_what_is_running(store: PostgresStore, postgres_url: str) -> None:
    for _ in range(6):
        for _ in range(100):
            await submit(store)
    ada = await open_session(store)
    await claim(store, ada, limit=500)
    await claim_one(store, ada)
    connection = await asyncpg.connect(postgres_url)
    before = await entries_read(connection)

    for _ in range(20):
        await claim_one(store, ada)

    await store.close()
    read = await entries_read(connection) - before
    await connection.close()
    assert read < 20 * 500, f"{read} index entries for 20 claims"


async def entries_read(connection: "asyncpg.Connection[asyncpg.Record]") -> int:
    await connection.execute("SELECT pg_stat_force_next_flush()")
    found = await connection.fetchval(
        "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'task_live_due'"
    )
    return int(found)


def test_a_slow_sweep_begins_where_it_found_something_until_it_is_time_to_look_at_everything(seconds: Seconds) -> None:
    floor = Floor(seconds)
    began = seconds.now
    seconds.now += QUICK * 2

    floor.looked(began, 500)

    assert floor.due_at() == 500
    seconds.now += QUICK * 2 * SHARE + 0.1
    assert floor.due_at() == 0


def test_a_quick_sweep_always_looks_at_everything(seconds: Seconds) -> None:
    floor = Floor(seconds)

    floor.looked(seconds.now, 500)

    assert floor.due_at() == 0
