"""The stores that every promise of the ports is held against."""

import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final
from zlib import crc32

import pytest

from drumline.core.clock import Clock, ManualClock
from drumline.ports.store import Store
from drumline.stores.postgres import PostgresStore
from drumline.stores.sqlite import SqliteStore
from tests.factories import restart_slots
from tests.harness.sharded import open_sharded, open_sharded_postgres
from tests.harness.sqlite import migrated

MakeStore = Callable[[Clock], Awaitable[Store]]

MEMORY: Final = Path("/dev/shm")

ORDER: Final = "best first holds for the tasks of one shard"
FAIRNESS: Final = "fairness between tenants is per shard"
NUMBERING: Final = "each shard numbers its own log: events of different shards have no order"
BULKS: Final = "a bulk operation runs in each shard by itself, each with its part of the rate"
FAR_JOBS: Final = "a job of another shard is found, and told of, by a duty after the submission"
FAR_SIGNALS: Final = "a signal by correlation reaches tasks of other shards by a duty: scheduler/test_signals.py"
SHARES: Final = "shares of limits are kept by PostgreSQL only: postgres/test_limit_shares.py"
NOT_SHARDED: Final[Mapping[str, str]] = MappingProxyType({
    "test_limits": SHARES,
    "test_a_signal_by_correlation_is_for_whoever_takes_it_first": FAR_SIGNALS,
    "test_a_signal_by_correlation_is_kept_if_nobody_waits": FAR_SIGNALS,
    "test_waits": "a store over all shards has no shard beside it: scheduler/test_waits.py",
    "test_sharing": FAIRNESS,
    "test_higher_priority_goes_first_among_due_tasks": ORDER,
    "test_a_claim_takes_the_best_of_several_names_and_queues": ORDER,
    "test_a_waiting_task_can_change_its_priority": ORDER,
    "test_equal_priority_goes_in_order_of_due_time": ORDER,
    "test_lists_narrow_by_when_tasks_ended": ORDER,
    "test_the_oldest_come_first": BULKS,
    "test_a_rate_is_kept_by_the_stores_clock": BULKS,
    "test_a_slow_rate_lets_one_go_when_its_time_has_come": BULKS,
    "test_an_aborted_operation_goes_no_further": BULKS,
    "test_refused_tasks_come_page_by_page": BULKS,
    "test_a_group_that_comes_back_knows_when_it_was_first_seen": "shards without dead letters of a cause do not tell",
    "test_reading_twice_gives_the_same_ids_however_the_pages_fall": NUMBERING,
    "test_recent_rows_stay_unless_there_are_too_many": "each shard keeps as many rows of its log",
    "test_old_levels_are_dropped_by_width": "each shard counts the rows that it drops",
    "test_a_job_that_lives_again_does_not_keep_others_from_being_told": FAR_JOBS,
    "test_a_refused_job_leaves_nothing_and_does_not_hold_up_others": FAR_JOBS,
    "test_another_tenant_s_job_cannot_be_waited_for": FAR_JOBS,
    "test_a_job_that_completed_before_does_not_keep_anybody": FAR_JOBS,
    "test_a_job_that_failed_before_fails_a_new_one_at_once": FAR_JOBS,
    "test_a_job_is_resumed_after_the_one_that_failed_it": FAR_JOBS,
    "test_a_ripple_does_as_much_as_it_is_asked_and_says_whether_that_was_all": FAR_JOBS,
    "test_a_job_is_not_pruned_before_those_that_wait_for_it_were_told": FAR_JOBS,
})  # fmt: skip
"""Promises that a store over several shards does not keep, by module or test, and why."""


SHARDED_POSTGRES: Final = "sharded-postgres"
SHARE: Final = 5
"""One test in so many runs on three PostgreSQL as well, chosen by its name; all of them if `ALL` is set.

What the shards do differently is held against three SQLite by every test, and what PostgreSQL does differently by the
tests of one: this is for what the two do together.
"""
ALL: Final = "DRUMLINE_TEST_ALL_SHARDED"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out most tests of the store that takes longest."""
    left_out = [] if os.environ.get(ALL) else [item for item in items if _is_left_out(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def _is_left_out(item: pytest.Item) -> bool:
    if f"[{SHARDED_POSTGRES}" not in item.name and f"-{SHARDED_POSTGRES}" not in item.name:
        return False
    return crc32(item.name.encode()) % SHARE != 0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Give a folder in memory where that is possible: three databases for each test are many to wait for."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as path:
        yield Path(path)


@pytest.fixture(
    params=[
        "sqlite-memory",
        "sqlite-file",
        "sharded",
        pytest.param("postgres", marks=pytest.mark.services),
        pytest.param(SHARDED_POSTGRES, marks=pytest.mark.services),
    ]
)
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    """Open the store that the current parameter names; calling it twice gives two stores on the same data."""
    if request.param in {"sharded", SHARDED_POSTGRES}:
        return _make_sharded(request)
    url: str | None = request.getfixturevalue("postgres_url") if request.param == "postgres" else None

    async def make(clock: Clock) -> Store:
        if url is not None:
            return await PostgresStore.open(url, clock=clock)
        return await SqliteStore.open(
            ":memory:" if request.param == "sqlite-memory" else migrated(tmp_path / "d.db"), clock=clock
        )

    return make


def _make_sharded(request: pytest.FixtureRequest) -> MakeStore:
    module = request.node.module.__name__.rpartition(".")[2]
    for name in (module, request.node.originalname, request.node.name):
        if name in NOT_SHARDED:
            pytest.skip(NOT_SHARDED[name])
    restart_slots()
    if request.param == SHARDED_POSTGRES:
        urls: tuple[str, ...] = request.getfixturevalue("shard_urls")
        return lambda clock: open_sharded_postgres(urls, clock)
    folder = request.getfixturevalue("folder")
    return lambda clock: open_sharded(folder, clock)


@pytest.fixture
async def store(make_store: MakeStore, clock: ManualClock) -> AsyncIterator[Store]:
    opened = await make_store(clock)
    yield opened
    await opened.close()
