"""Two PostgreSQL servers in one address: whichever takes writes is used, and after a failover the other one is."""

import asyncio
from collections.abc import Iterator

import pytest

from drumline.core.errors import DrumlineError
from drumline.core.state import State
from drumline.ports.store import Store
from drumline.stores.postgres import PostgresStore
from tests.factories import claim_one, open_session, state_of, submit
from tests.harness.postgres import ADDRESS, USER, PostgresServer

pytestmark = [pytest.mark.services, pytest.mark.faults]
PATIENCE = 60.0


class Pair:
    """A server and one that follows it."""

    def __init__(self) -> None:
        self.primary = PostgresServer(durable=True, settings={"wal_level": "replica", "max_wal_senders": "4"})
        self.standby = PostgresServer(durable=True, copy_of=self.primary)

    @property
    def url(self) -> str:
        hosts = f"127.0.0.1:{self.standby.port},127.0.0.1:{self.primary.port}"
        return f"postgresql://{USER}@{hosts}/postgres?target_session_attrs=read-write"

    def remove(self) -> None:
        self.standby.remove()
        self.primary.remove()


@pytest.fixture
def pair() -> Iterator[Pair]:
    if ADDRESS:
        pytest.skip("needs servers of its own")
    pair = Pair()
    yield pair
    pair.remove()


async def soon(store: Store, name: str) -> str:
    """Submit a task as soon as a server takes it."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await submit(store, name)
            except DrumlineError:
                await asyncio.sleep(0.2)


async def test_the_server_that_takes_writes_is_used_and_after_a_failover_the_other(pair: Pair) -> None:
    store = await PostgresStore.open(pair.url)
    await store.migrate()
    before = await submit(store, "before")
    ada = await open_session(store, "before", "after")
    await asyncio.to_thread(pair.primary.stop)  # in order: the follower has everything
    await asyncio.to_thread(pair.standby.promote)

    after = await soon(store, "after")

    assert await state_of(store, before) is State.QUEUED
    claimed = {(await claim_one(store, ada, name)).lease.task for name in ("before", "after")}
    assert claimed == {before, after}
    await store.close()
