"""Metrics of the whole installation: each shard under its name, and one that is away is left out."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from drumline.core.clock import ManualClock
from drumline.core.errors import Unavailable
from drumline.core.meters import Gauge, Labels
from drumline.core.metrics import Metrics
from drumline.engine.engine import Engine
from drumline.engine.installation import InstallationMetrics
from drumline.ports.store import Store
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from tests.factories import request
from tests.harness.sqlite import migrated


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[dict[str, Store]]:
    """Two shards, with one task in the first and two in the second."""
    stores: dict[str, Store] = {}
    for number, shard in enumerate(("main", "pg2"), 1):
        stores[shard] = await SqliteStore.open(migrated(tmp_path / f"{shard}.db"))
        for _ in range(number):
            await Engine(stores[shard], NoQueue()).submissions.submit(request())
    yield stores
    for store in stores.values():
        await store.close()


def queued(metrics: Metrics) -> dict[Labels, float]:
    family = next(each for each in metrics.installation_families() if each.name == "drumline_queue_tasks")
    assert isinstance(family, Gauge)
    return {labels: value for labels, value in family.values.items() if "queued" in labels}


async def test_each_shard_is_read_under_its_name(stores: dict[str, Store]) -> None:
    metrics = await InstallationMetrics(lambda: stores, ManualClock()).read()

    assert queued(metrics) == {("default", "queued", "main"): 1, ("default", "queued", "pg2"): 2}


@pytest.fixture
async def away() -> Store:
    """A store that answers that it cannot be reached."""
    store = await SqliteStore.open(":memory:")
    await store.close()
    return store


async def test_a_shard_that_is_away_is_left_out(stores: dict[str, Store], away: Store) -> None:
    metrics = await InstallationMetrics(lambda: stores | {"pg3": away}, ManualClock()).read()

    assert {labels[-1] for labels in queued(metrics)} == {"main", "pg2"}


async def test_without_the_directory_nothing_is_told(stores: dict[str, Store], away: Store) -> None:
    with pytest.raises(Unavailable):
        await InstallationMetrics(lambda: stores | {"main": away}, ManualClock()).read()
