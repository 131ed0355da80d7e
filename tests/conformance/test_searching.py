"""Searching tasks by conditions that no index answers."""

from typing import Any

import pytest

from drumline.core.clock import ManualClock
from drumline.core.filter_subjects import TASKS
from drumline.core.filters import read_filter
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Act
from drumline.engine.filtering import narrowed_by
from drumline.ports.store import Found, Store, TaskFilter
from drumline.stores.parts import task_search, tasks
from drumline.stores.parts.task_search import Effort
from tests.factories import claim_one, open_session, settle, submit


async def search(
    store: Store, text: str, *, limit: int = 100, before: TaskId | None = None, payload: bool = False, **which: Any
) -> Found:
    also = read_filter(text, TASKS, now=await store.queries.now())
    wanted = narrowed_by(TaskFilter(**which), also)
    return await store.queries.search_tasks(wanted, limit=limit, before=before, payload=payload)


async def found(store: Store, text: str, **which: Any) -> list[TaskId]:
    part = await search(store, text, **which)
    assert part.rest is None
    return [view.id for view in part.tasks]


async def all_pages(store: Store, text: str, *, limit: int) -> tuple[list[TaskId], int]:
    """Return what the pages of a search have together, and how many there were."""
    ids: list[TaskId] = []
    before, pages = None, 0
    while True:
        part = await search(store, text, limit=limit, before=before)
        ids, pages = ids + [view.id for view in part.tasks], pages + 1
        if part.rest is None:
            return ids, pages
        assert before is None or part.rest < before
        before = part.rest


async def test_tasks_are_found_by_parts_of_their_names_and_not_by_their_queues(store: Store) -> None:
    charge = await submit(store, "shop.charge", queue="fast")
    refund = await submit(store, "shop.refund", queue="bulk")
    await submit(store, "mail", queue="fast")

    assert await found(store, "shop") == [refund, charge]
    assert await found(store, "name:shop.*") == [refund, charge]
    assert await found(store, "name:shop.* -queue:bulk") == [charge]
    assert await found(store, 'name:"shop.*"') == []
    assert await found(store, "shop", queue="bulk") == [refund]


async def test_tasks_are_found_by_what_they_were_given(store: Store) -> None:
    seven = await submit(store, payload={"order": {"id": 7}, "text": "a"})
    eight = await submit(store, payload={"order": {"id": 8}, "text": "b"})
    await submit(store, payload=[1])

    assert await found(store, "payload.order.id=7") == [seven]
    assert await found(store, "payload.order.id>6") == [eight, seven]
    assert await found(store, "payload.order.id>6 -payload.text=a") == [eight]
    whole = await search(store, "payload.order.id=7", payload=True)
    assert [bytes(view.payload or b"") for view in whole.tasks] == [b'{"order":{"id":7},"text":"a"}']


async def test_tasks_are_found_by_their_errors_whatever_became_of_the_others(store: Store, clock: ManualClock) -> None:
    ada = await open_session(store)
    slow, refused, again, done = [await submit(store) for _ in range(4)]
    errors = {slow: "Timed out", refused: "card refused", again: "Timed out"}
    for _ in range(4):
        lease = (await claim_one(store, ada)).lease
        clock.advance(10 if lease.task == slow else 1)
        if lease.task == done:
            await settle(store, lease, Act.COMPLETE)
        else:
            await settle(store, lease, Act.FAIL, error=ErrorInfo("IOError", errors[lease.task]))
    await store.control.retry([again])

    assert await found(store, "status:failed error:timed") == [slow]
    assert await found(store, "error:refused") == [refused]
    assert await found(store, "duration>5s status:failed,completed") == [slow]
    assert await found(store, "status:completed") == [done]
    assert await found(store, "-status:failed,completed") == [again]
    assert await found(store, "status:failed status:completed") == []


async def test_tasks_are_found_by_tag_key_id_and_worker(store: Store) -> None:
    vip = await submit(store, tags=("vip", "eu"), idempotency_key="order-9")
    plain = await submit(store, tags=("eu",))
    ada = await open_session(store)
    claimed = (await claim_one(store, ada)).lease.task

    assert await found(store, "tag:vip") == [vip]
    assert await found(store, "tag:eu -tag:vip") == [plain]
    assert await found(store, "tag:v*,none") == [vip]
    assert await found(store, "key:order-9") == [vip]
    assert await found(store, "key:order-*") == [vip]
    assert await found(store, f"id:{vip}") == [vip]
    assert set(await found(store, f"id:{vip[:8]}")) >= {vip}
    assert await found(store, f"worker:w-{ada:016x}") == [claimed]


@pytest.mark.parametrize("text", ["id:f", "id:ffffffff-ffff", "created>9999-12-31T23:59:59Z"])
async def test_the_end_of_all_time_is_a_time_like_others(store: Store, text: str) -> None:
    await submit(store)

    assert await found(store, text) == []


async def test_a_search_finds_tasks_of_one_tenant_only(store: Store) -> None:
    red = await submit(store, "work", tenant="red", payload={"a": 1})
    await submit(store, "work", tenant="blue", payload={"a": 1})

    assert await found(store, "payload.a=1 name:w*", tenant="red") == [red]
    assert await found(store, "status:queued", tenant="red") == [red]


async def test_pages_of_a_search_have_each_task_once_in_order(store: Store) -> None:
    wanted = [await submit(store, "even" if n % 2 else "odd", payload={"n": n}) for n in range(60)]

    ids, pages = await all_pages(store, "name:even payload.n>10", limit=7)

    assert ids == [task for n, task in enumerate(wanted) if n % 2 and n > 10][::-1]
    assert pages >= 4


@pytest.mark.parametrize("effort", [Effort(20, 5000, 1000), Effort(20_000, 20, 1000), Effort(20_000, 5000, 10)])
async def test_a_search_that_has_looked_at_enough_says_where_to_go_on(
    store: Store, effort: Effort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "EFFORT", effort)
    for name in ("FIRST_AT_ONCE", "MOST_AT_ONCE"):
        monkeypatch.setattr(task_search, name, 20)
    monkeypatch.setattr(task_search, "PAYLOADS_AT_ONCE", 10)
    needle = await submit(store, payload={"n": 1})
    for _ in range(100):
        await submit(store, payload={"n": 2})

    first = await search(store, "payload.n=1")
    ids, pages = await all_pages(store, "payload.n=1", limit=10)

    assert first.tasks == ()
    assert first.rest is not None
    assert ids == [needle]
    assert 1 < pages <= 15


async def test_a_search_ends_where_errors_are_long(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_search, "MOST_ERRORS", 5_000)
    ada = await open_session(store)
    failed = []
    for _ in range(10):
        failed.append(await submit(store))
        held = await claim_one(store, ada)
        await settle(store, held.lease, Act.FAIL, error=ErrorInfo("Error", "x" * 1_000, "y" * 1_000))

    first = await search(store, "error:xxx")
    ids, pages = await all_pages(store, "error:xxx", limit=10)
    also = read_filter("error:xxx", TASKS, now=await store.queries.now())
    without = await store.queries.search_tasks(narrowed_by(TaskFilter(), also), limit=100, errors=False)

    assert 3 <= len(first.tasks) < 10
    assert first.rest == first.tasks[-1].id
    assert ids == failed[::-1]
    assert pages > 1
    assert [view.id for view in without.tasks] == failed[::-1]
    assert all(view.error is None for view in without.tasks)


async def test_a_large_payload_is_not_searched(store: Store) -> None:
    small = await submit(store, payload={"n": 1, "text": "x" * 1000})
    await submit(store, payload={"n": 1, "text": "x" * 100_000})

    assert await found(store, "payload.n=1") == [small]


@pytest.mark.parametrize(
    "text", ['name:"x\' OR 1=1 --"', 'tag:"\'); DROP TABLE task; --"', "payload.a=\"' OR ''='\"", 'key:"%"', "name:%"]
)
async def test_what_looks_like_sql_is_text(store: Store, text: str) -> None:
    task = await submit(store, payload={"a": 1})

    assert await found(store, text) == []
    assert await found(store, "status:queued") == [task]
