"""Questions find the shard of an id, also after a move, and say which shards an answer misses."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from drumline.core.clock import ManualClock
from drumline.core.errors import NotFound, Unavailable
from drumline.core.ids import made_at
from drumline.core.shard_map import DIRECTORY, ShardMap, SlotEntry
from drumline.core.slots import slot_of
from drumline.core.state import State
from drumline.engine.incomplete import noting_missing
from drumline.ports.query import TaskFilter
from drumline.ports.store import Store
from drumline.shards.store import ShardedStore
from tests.factories import accepted, new_id, submit
from tests.harness.sharded import OpenShards, open_shards


@pytest.fixture
async def shards(tmp_path: Path) -> AsyncIterator[OpenShards]:
    opened = await open_shards(tmp_path, ManualClock())
    yield opened
    await opened.close()


@pytest.fixture
def store(shards: OpenShards) -> Store:
    return ShardedStore(shards)


async def shut(shards: OpenShards, name: str) -> None:
    """Let a shard answer no more."""
    for shard in shards:
        if shard.name == name:
            await shard.store.close()


async def test_a_task_is_in_the_database_of_its_slot_only(store: Store, shards: OpenShards) -> None:
    tasks = [await submit(store) for _ in range(6)]

    for task in tasks:
        found = [shard.name for shard in shards if (await shard.store.queries.get([task])) != [None]]
        assert found == [shards.map.holder(task)]


async def test_what_was_submitted_by_a_newer_map_is_found_after_reading_it(store: Store, shards: OpenShards) -> None:
    task = accepted()
    slot = slot_of(task.id)
    shards.next_map = ShardMap(2, {slot: (SlotEntry("pg1"), SlotEntry("pg2", made_at(task.id), 1))})
    shards.map = ShardMap(1, {slot: (SlotEntry("pg1"),)})
    (pg2,) = (shard.store for shard in shards if shard.name == "pg2")
    await pg2.submit([task])

    (view,) = await store.queries.get([task.id])

    assert view is not None
    assert shards.refreshed == 1


async def test_the_map_is_not_read_for_every_id_that_is_not_found(store: Store, shards: OpenShards) -> None:
    assert await store.queries.get([new_id() for _ in range(5)]) == [None] * 5
    with pytest.raises(NotFound):
        await store.jobs.nodes(new_id())  # type: ignore[arg-type]

    assert shards.refreshed == 1


async def test_a_list_that_misses_a_shard_says_so(store: Store, shards: OpenShards) -> None:
    tasks = [await submit(store) for _ in range(6)]
    await shut(shards, "pg1")

    with noting_missing() as missing:
        views = await store.queries.list_tasks(TaskFilter(), limit=10)

    assert missing == {"pg1"}
    assert [view.id for view in views] == [task for task in reversed(tasks) if shards.map.holder(task) != "pg1"]


async def test_a_list_that_could_not_say_so_is_not_given(store: Store, shards: OpenShards) -> None:
    await shut(shards, "pg1")

    with pytest.raises(Unavailable):
        await store.queries.list_tasks(TaskFilter(), limit=10)


async def test_a_shard_that_was_never_reached_is_missing_too(store: Store, shards: OpenShards) -> None:
    shards.missing = ("pg9",)

    with noting_missing() as missing:
        await store.queries.queues()

    assert missing == {"pg9"}


async def test_tasks_of_the_other_shards_are_still_found_by_id(store: Store, shards: OpenShards) -> None:
    tasks = [await submit(store) for _ in range(6)]
    await shut(shards, "pg2")

    for task in tasks:
        if shards.map.holder(task) == "pg2":
            with pytest.raises(Unavailable):
                await store.control.cancel([task])
        else:
            (changed,) = await store.control.cancel([task])
            assert getattr(changed, "state", None) is State.CANCELLED
    assert set(shards.away) == {"pg2"}


async def test_a_change_of_every_shard_names_the_one_that_it_did_not_reach(store: Store, shards: OpenShards) -> None:
    await shut(shards, "pg2")

    with pytest.raises(Unavailable, match="shard pg2 cannot be reached"):
        await store.schedules.note_watch()


async def test_a_pause_holds_by_the_directory_while_a_shard_is_away(store: Store, shards: OpenShards) -> None:
    await shut(shards, "pg2")

    await store.control.pause_queue("mail", tenant="default")

    assert await store.paused_queues() == [("default", "mail")]


async def test_lists_of_many_shards_are_paged_without_gaps(store: Store) -> None:
    tasks = [await submit(store) for _ in range(10)]
    found = []
    before = None
    while page := await store.queries.list_tasks(TaskFilter(), limit=3, before=before):
        found += [view.id for view in page]
        before = page[-1].id

    assert found == tasks[::-1]


async def test_a_task_that_two_shards_have_is_listed_once(store: Store, shards: OpenShards) -> None:
    task = accepted()
    for shard in shards:
        await shard.store.submit([task])

    assert [view.id for view in await store.queries.list_tasks(TaskFilter(), limit=10)] == [task.id]
    assert shards.directory.name == DIRECTORY


async def test_what_a_tenant_has_waiting_is_added_up_and_counts_on_while_a_shard_is_away(
    store: Store, shards: OpenShards
) -> None:
    for _ in range(9):
        await submit(store)
    assert await store.tenants.count_queued("default", most=100) == 9
    assert await store.tenants.count_queued("default", most=4) == 4
    assert await store.tenants.count_queued("default", most=100) == 9

    await shut(shards, "pg2")

    assert await store.tenants.count_queued("default", most=100) == 9
    assert await store.tenants.count_queued("acme", most=100) == 0
    assert await store.tenants.count_schedules("default") == 0
