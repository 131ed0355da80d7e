"""A program that has connected has what its first task needs."""

import pytest

from drumline import Direct, Drumline, Status, Unavailable
from drumline.core.task import accept
from drumline.stores.postgres import PostgresStore
from tests.factories import new_id, open_session, request
from tests.harness.proxy import Proxy


async def test_the_first_task_of_a_program_that_is_connected_opens_no_connection(
    proxy: Proxy, postgres_url: str
) -> None:
    app = Drumline("test", direct=Direct(store=proxy.url(postgres_url)))

    async with app.connected():
        proxy.refuse()
        handle = await app.asubmit_task("ping")

        assert await handle.astatus() is Status.QUEUED


async def test_a_lone_task_that_is_leased_at_once_opens_none_either(proxy: Proxy, postgres_url: str) -> None:
    store = await PostgresStore.open(proxy.url(postgres_url))
    ada = await open_session(store, "work")
    await store.prepare()
    proxy.refuse()

    stored = await store.submit_leased(accept(request(), id=new_id()), session=ada, nonce=1)

    assert stored.claimed is not None
    await store.close()


async def test_a_program_can_connect_before_the_schema_is_there(empty_postgres_url: str) -> None:
    app = Drumline("test", direct=Direct(store=empty_postgres_url))

    async with app.connected():
        with pytest.raises(Unavailable):
            await app.asubmit_task("ping")
