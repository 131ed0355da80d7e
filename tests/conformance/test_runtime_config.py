"""Settings that the store holds for the whole fleet."""

import asyncio

import pytest

from drumline.core.clock import ManualClock
from drumline.core.errors import Conflict
from drumline.core.runtime_config import NO_CONFIG, RuntimeConfig
from drumline.ports.runtime_config import MOST_VERSIONS
from drumline.ports.store import Store
from tests.conformance.conftest import MakeStore
from tests.conformance.test_outbox import events_after, start


async def test_nothing_is_set_at_first(store: Store) -> None:
    assert await store.config.runtime_version() == 0
    assert await store.config.runtime_config() == NO_CONFIG
    assert await store.config.runtime_history(limit=10) == []


async def test_each_change_is_a_version_with_its_author(store: Store, clock: ManualClock) -> None:
    first = await store.config.put_runtime_config({"worker.concurrency": 2}, after=0, by="ada", reason="slowly")
    clock.advance(1)
    second = await store.config.put_runtime_config({"worker.queues": ["a", "b=2"]}, after=1, by="bob")

    assert first == RuntimeConfig(
        version=1, settings={"worker.concurrency": 2}, changed_at=first.changed_at, changed_by="ada", reason="slowly"
    )
    assert (second.version, second.reason, second.changed_at) == (2, None, clock.now())
    assert await store.config.runtime_version() == 2
    assert await store.config.runtime_config() == second
    assert await store.config.runtime_history(limit=10) == [second, first]
    assert await store.config.runtime_history(limit=10, before=2) == [first]


async def test_a_change_that_was_overtaken_is_refused(store: Store) -> None:
    await store.config.put_runtime_config({"tune.poll": "1s"}, after=0, by="ada")

    for after in (0, 2):
        with pytest.raises(Conflict, match="version 1"):
            await store.config.put_runtime_config({}, after=after, by="bob")

    assert (await store.config.runtime_config()).settings == {"tune.poll": "1s"}


async def test_of_many_changes_at_once_one_is_made(make_store: MakeStore, clock: ManualClock) -> None:
    store = await make_store(clock)

    answers = await asyncio.gather(
        *(store.config.put_runtime_config({"tune.claim_batch": number}, after=0, by="ada") for number in range(1, 11)),
        return_exceptions=True,
    )

    made = [answer for answer in answers if isinstance(answer, RuntimeConfig)]
    assert len(made) == 1
    assert all(isinstance(answer, Conflict) for answer in answers if answer not in made)
    assert await store.config.runtime_config() == made[0]
    await store.close()


async def test_old_versions_leave(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drumline.stores.parts.runtime_config.MOST_VERSIONS", 3)
    for after in range(5):
        await store.config.put_runtime_config({"tasks.retries": after}, after=after, by="ada")

    assert [config.version for config in await store.config.runtime_history(limit=MOST_VERSIONS)] == [5, 4, 3]


async def test_a_change_is_told(store: Store) -> None:
    began = await start(store)
    await store.config.put_runtime_config({"log.level": "debug", "tasks.retries": 1}, after=0, by="ada")
    await store.config.put_runtime_config({"log.level": "info", "tasks.retries": 1}, after=1, by="bob", reason="quiet")

    events = await events_after(store, began)
    told = [event.data for event in events if event.type == "drumline.config.changed"]

    assert told[0] == {"version": 1, "keys": ["log.level", "tasks.retries"], "by": "ada", "reason": None}
    assert told[1] == {"version": 2, "keys": ["log.level"], "by": "bob", "reason": "quiet"}
