"""Claims of many or large tasks: read in parts, and never more than one answer should carry."""

from collections.abc import AsyncIterator

import pytest

from drumline.core.task import accept
from drumline.stores.sqlite import SqliteStore
from drumline.stores.sqlite.claiming import AT_ONCE
from tests.factories import claim, new_id, open_session, request


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    made = await SqliteStore.open(":memory:")
    yield made
    await made.close()


async def test_a_claim_of_many_tasks_is_whole_and_in_order(store: SqliteStore) -> None:
    ids = [new_id() for _ in range(AT_ONCE * 2 + 7)]
    await store.submit([accept(request(), id=task) for task in ids])

    taken = await claim(store, await open_session(store), limit=1000)

    assert [task.lease.task for task in taken] == ids


async def test_large_payloads_are_handed_out_in_several_answers(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drumline.stores.sqlite.claiming.AT_ONCE", 2)
    monkeypatch.setattr("drumline.stores.sqlite.claiming.LARGEST_ANSWER", 3_000)
    await store.submit([accept(request(payload="x" * 1_000), id=new_id()) for _ in range(10)])
    session = await open_session(store)

    answers = [len(await claim(store, session, limit=10)) for _ in range(4)]

    assert answers == [4, 4, 2, 0]
