"""How many statements hot operations send: each is a round trip, and in a transaction locks are held meanwhile."""

from typing import Any

import pytest

from drumline.core.state import Act
from drumline.ports.store import Settled, Settlement
from drumline.stores.postgres import PostgresStore, database
from drumline.stores.postgres.connection import Connection, Rows, fetch
from tests.factories import claim, claim_request, open_session, submit
from tests.job_factories import claim_keys, job_of, submit_job


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the statements that were sent."""
    names: list[str] = []

    async def noted(connection: Connection, name: str, values: dict[str, Any]) -> Rows:
        names.append(name)
        return await fetch(connection, name, values)

    monkeypatch.setattr(database, "fetch", noted)
    return names


async def test_plain_tasks_end_by_one_statement_however_many(store: PostgresStore, sent: list[str]) -> None:
    session = await open_session(store)
    for _ in range(3):
        await submit(store)
    tasks = await claim(store, session, limit=3)
    sent.clear()

    await store.settle([Settlement(lease=task.lease, act=Act.COMPLETE) for task in tasks])

    assert sent == ["settle"]


async def test_tasks_of_jobs_end_by_a_lock_and_one_statement_however_many(
    store: PostgresStore, sent: list[str]
) -> None:
    session = await open_session(store)
    parents = {f"p{number}": () for number in range(20)}
    children = {f"c{number}": tuple(parents) for number in range(20)}
    for _ in range(2):
        await submit_job(store, job_of({**parents, **children, "last": tuple(children)}))
    tasks = await claim(store, session, limit=100)
    assert len(tasks) == 40
    await store.jobs.start_jobs(sorted({task.options.job for task in tasks if task.options.job is not None}))
    sent.clear()

    answers = await store.settle(
        [Settlement(lease=task.lease, act=Act.COMPLETE, job=task.options.job) for task in tasks]
    )

    assert sent == ["lock_jobs", "complete_in_jobs"]
    assert sum(len(answer.effects.released) for answer in answers if isinstance(answer, Settled)) == 40


async def test_a_hop_of_a_chain_is_one_transaction_with_one_statement_more(
    store: PostgresStore, sent: list[str]
) -> None:
    session = await open_session(store)
    await submit_job(store, job_of({"a": (), "b": ("a",), "c": ("b",)}))
    task = (await claim_keys(store, session))["a"]
    assert task.options.job is not None
    await store.jobs.start_jobs([task.options.job])
    sent.clear()

    (answer,) = await store.settle(
        [Settlement(lease=task.lease, act=Act.COMPLETE, job=task.options.job)], takers=[claim_request(session)]
    )

    assert isinstance(answer, Settled)
    assert answer.effects.claim is not None
    assert sent == ["lock_jobs", "complete_in_jobs", "claim_lone"]
