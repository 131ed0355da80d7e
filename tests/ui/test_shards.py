"""The page of shards, on a server with real databases: add one, give it slots, drain it and take it away."""

import re
from collections.abc import Iterator

import pytest
from playwright.async_api import expect

from drumline.stores.sealing import new_key_text
from tests.black_box.server import Server
from tests.ui.conftest import Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]


@pytest.fixture
def sharded(shard_urls: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on PostgreSQL."""
    data = tmp_path_factory.mktemp("sharded") / "data"
    with Server(data, store_url=shard_urls[0], secret_key=new_key_text()) as server:
        yield server


async def test_a_shard_is_added_given_slots_drained_and_removed(
    visitor: Visit, sharded: Server, shard_urls: tuple[str, ...]
) -> None:
    someone = await visitor(sharded)
    page = someone.page
    await someone.open("/shards")
    await expect(page.get_by_text("All tasks are in one database")).to_be_visible()

    await page.get_by_role("button", name="Add shard").click()
    await page.get_by_label("Name").fill("pg2")
    await page.get_by_label("Address of its PostgreSQL").fill(shard_urls[1])
    await page.get_by_role("button", name="Add", exact=True).click()
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=re.compile("^pg2")))
    await expect(row.get_by_role("img", name="0 of 4,096 slots")).to_be_visible()

    await page.get_by_role("button", name="Move slots").click()
    await page.get_by_role("button", name="Move", exact=True).click()
    await expect(row.get_by_role("img", name="2,048 of 4,096 slots, 50 % of new work")).to_be_visible()
    whole = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="All shards"))
    await expect(whole.get_by_role("cell").nth(2)).to_have_text("100 %")
    assert await someone.barriers() == []
    assert await someone.overflow() == []

    _, task = sharded.ask("POST", "/api/v1/tasks", {"name": "work.echo", "payload": {}, "delay": 3600})
    await someone.open(f"/tasks/{task['id']}")
    await expect(page.get_by_text(re.compile("^(main|pg2)$"))).to_be_visible()

    await someone.open("/shards")
    await row.get_by_role("button", name="Drain").click()
    await page.get_by_role("dialog").get_by_role("button", name="Drain").click()
    await expect(row.get_by_text("Empty")).to_be_visible()
    await row.get_by_role("button", name="Remove").click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(row).to_have_count(0)
    assert sharded.ask("GET", f"/api/v1/tasks/{task['id']}")[1]["status"] == "PENDING"


async def test_a_key_that_may_only_look_gets_no_buttons(visitor: Visit, empty: Server) -> None:
    _, made = empty.ask("POST", "/api/v1/keys", {"name": "ada", "role": "viewer", "tenant": "*"})
    someone = await visitor(empty, key=made["key"])
    await someone.open("/shards")

    await expect(someone.page.get_by_role("rowheader", name=re.compile("^main"))).to_be_visible()
    await expect(someone.page.get_by_role("button", name="Add shard")).to_have_count(0)


async def test_a_tenants_key_does_not_find_the_page(visitor: Visit, empty: Server) -> None:
    empty.ask("POST", "/api/v1/tenants", {"name": "acme"})
    _, made = empty.ask("POST", "/api/v1/keys", {"name": "bob", "role": "admin", "tenant": "acme"})
    someone = await visitor(empty, key=made["key"])
    await someone.open("/tasks")

    await expect(someone.page.get_by_role("link", name="Tasks")).to_be_visible()
    await expect(someone.page.get_by_role("link", name="Shards")).to_have_count(0)
