"""Submissions of one key under races on a real server: several processes, and claims meanwhile."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from msgspec import json

from drumline.core.collapse import Collapse
from drumline.core.ids import TaskId
from drumline.core.state import Act
from drumline.core.task import Submitted
from drumline.ports.collapsing import CollapseAnswer
from drumline.ports.store import Settlement
from drumline.stores.postgres import PostgresStore
from tests.factories import accepted, claim_request, open_session

PROCESSES = 4
ROUNDS = 25


@pytest.fixture
async def stores(store: PostgresStore, postgres_url: str) -> AsyncIterator[list[PostgresStore]]:
    opened = [store, *[await PostgresStore.open(postgres_url) for _ in range(PROCESSES - 1)]]
    yield opened
    await asyncio.gather(*[each.close() for each in opened[1:]])


async def submit(store: PostgresStore, number: int, rule: Collapse) -> Submitted:
    (answer,) = await store.collapsing.submit([accepted(payload={"n": number}, collapse=rule)])
    assert isinstance(answer, CollapseAnswer)
    return answer.submitted


@pytest.mark.parametrize(
    "rule",
    [Collapse(debounce=60, key="k"), Collapse(singleton="running", key="k"), Collapse(unique="1d", key="k")],
    ids=["debounce", "singleton", "unique"],
)
async def test_two_submitters_at_the_same_instant_make_one_task(stores: list[PostgresStore], rule: Collapse) -> None:
    answers = await asyncio.gather(*(submit(stores[n % PROCESSES], n, rule) for n in range(PROCESSES * ROUNDS)))

    assert len({answer.id for answer in answers}) == 1
    assert sum(answer.created for answer in answers) == 1


async def test_lists_that_name_the_same_keys_in_other_orders_do_not_wait_for_each_other(
    stores: list[PostgresStore],
) -> None:
    keys = [f"k{n}" for n in range(20)]

    async def submit_all(store: PostgresStore, order: list[str]) -> list[Submitted]:
        tasks = [accepted(collapse=Collapse(unique="1d", key=key)) for key in order]
        return [
            answer.submitted for answer in await store.collapsing.submit(tasks) if isinstance(answer, CollapseAnswer)
        ]

    answers = await asyncio.gather(
        *(submit_all(store, keys if n % 2 else keys[::-1]) for n, store in enumerate(stores * 5))
    )

    assert sum(answer.created for part in answers for answer in part) == len(keys)


async def test_a_payload_that_was_said_to_replace_another_is_the_one_that_runs_or_a_later_one(
    stores: list[PostgresStore],
) -> None:
    rule = Collapse(debounce=0.001, key="k")
    order: dict[TaskId, list[int]] = {}
    ran: dict[TaskId, int] = {}
    is_over = asyncio.Event()

    async def submit_many() -> None:
        for number in range(400):  # one after the other: the order of the answers is that of the commits
            answer = await submit(stores[number % 2], number, rule)
            order.setdefault(answer.id, []).append(number)
        is_over.set()

    async def claim(store: PostgresStore) -> None:
        session = await open_session(store)
        while not is_over.is_set() or set(order) - set(ran):
            (claim,) = await store.claim([claim_request(session)])
            for task in claim.tasks:
                assert task.lease.task not in ran, "a task is claimed once"
                ran[task.lease.task] = json.decode(task.payload)["n"]
            await store.settle([Settlement(lease=task.lease, act=Act.COMPLETE) for task in claim.tasks])
            await asyncio.sleep(0)

    await asyncio.gather(submit_many(), claim(stores[2]), claim(stores[3]))

    assert len(ran) > 1
    assert ran == {task: numbers[-1] for task, numbers in order.items()}
