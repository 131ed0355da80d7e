"""Keys, links and breadcrumbs lead from any page to the next, and lists are acted on as they were asked for."""

import re
import shlex
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]


async def test_keys_move_in_any_list_open_its_rows_and_copy_ids_and_links(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server, permissions=["clipboard-read", "clipboard-write"])
    page = someone.page
    await someone.open("/queues")
    await someone.press("j", "j")
    name = await page.evaluate("document.activeElement.textContent")
    await someone.press("y")
    await page.get_by_text(f"Copied {name}", exact=True).wait_for()
    await someone.press("o")
    await page.wait_for_url(f"**/queues/{name}")

    await someone.press("Y")
    await page.get_by_text("Copied the link").wait_for()
    assert await page.evaluate("navigator.clipboard.readText()") == page.url

    await someone.open("/jobs")
    await page.get_by_role("row").nth(2).wait_for()
    await someone.press("j", "o")
    await page.wait_for_url(re.compile("/jobs/[0-9a-f-]{36}"))
    job = page.url.split("/")[-1].split("?")[0]
    await page.get_by_role("heading", level=1).wait_for()
    await someone.press("y")
    await page.get_by_text(f"Copied {job}", exact=True).wait_for()


async def test_all_that_match_a_time_range_are_taken_not_only_those_loaded(visitor: Visit, busy: Busy) -> None:
    for _ in range(2):
        busy.server.submit("shell", tags=["in.range"], delay="1h", payload={"command": ["true"]})
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/tasks?tag=in.range&since=24h")
    await page.get_by_role("checkbox").nth(1).wait_for()
    await someone.press("a")
    busy.server.submit("shell", tags=["in.range"], delay="1h", payload={"command": ["true"]})  # not among those loaded

    async with page.expect_response(lambda reply: reply.url.endswith("/api/v1/bulk")) as waiting:
        await page.get_by_role("toolbar").get_by_role("button", name="Cancel").click()
    reply = await waiting.value
    asked: Any = reply.request.post_data_json
    answer = await reply.json()

    assert answer["total"] == 3, answer
    assert re.fullmatch(r"created>=\S+Z", asked["filter"]["expression"]), asked
    busy.server.ask("POST", "/api/v1/bulk", {"act": "cancel", "filter": {"tag": "in.range"}})


async def test_a_view_of_failures_keeps_every_filter_of_the_address(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/failures?queue=media&kind=ValueError&state=all&sort=count&since=7d")
    chips = page.get_by_role("list", name="Filters")
    assert [text.strip() for text in await chips.get_by_role("listitem").all_inner_texts()] == [
        "queue: media", "kind: ValueError", "since: 7d",
    ]  # fmt: skip
    await page.get_by_role("button", name="Views").click()
    await page.get_by_label("Save this search as").fill("whole address")
    await page.get_by_role("button", name="Save", exact=True).click()
    view = page.get_by_role("button", name="whole address", exact=True)
    await view.wait_for()
    await someone.open("/failures")
    await page.get_by_role("button", name="Views").click()
    await view.click()

    await page.wait_for_url("**filter=**")
    assert "state=all" in page.url
    assert "sort=count" in page.url
    await expect(chips).to_have_text("queue:media kind:ValueError last:7d")
    await chips.get_by_role("link").click()
    await page.wait_for_url(lambda url: "filter=" not in url)
    busy.server.ask("DELETE", "/api/v1/views/failures/whole%20address")


async def test_the_charts_of_a_type_are_about_it_alone_and_share_the_pointer(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/types/shop.ship")
    first = page.get_by_role("img", name=re.compile("^Tasks per second"))
    await first.hover()
    times = page.locator("figure li").filter(has_text=re.compile(r"^\d\d:\d\d|^\d\d \w{3}"))
    await expect(times).to_have_count(5)

    await page.get_by_role("link", name="Waiting now").click()
    await page.wait_for_url(re.compile("name=shop.ship"))
    assert "status=queued" in page.url


async def test_a_task_of_a_job_leads_back_to_the_job_and_on_to_its_queue_worker_and_type(
    visitor: Visit, busy: Busy
) -> None:
    job = busy.server.ask("GET", "/api/v1/jobs?name=close%20the%20month")[1]["items"][0]
    nodes = busy.server.ask("GET", f"/api/v1/jobs/{job['id']}/graph")[1]["nodes"]
    task = busy.server.ask("GET", f"/api/v1/tasks/{nodes[0]['task_id']}")[1]
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open(f"/tasks/{task['id']}")

    crumbs = page.get_by_role("navigation", name="Breadcrumb").get_by_role("listitem")
    await expect(crumbs).to_have_text(["Jobs", job["name"], task["key"]])
    facts = page.get_by_role("region", name="Facts")
    for name, place in (("queue", "/queues/"), ("name", "/types/")):
        link = facts.get_by_role("link", name=task[name], exact=True)
        await expect(link).to_have_attribute("href", f"/ui{place}{task[name]}")
    await crumbs.nth(1).get_by_role("link").click()
    await page.wait_for_url(f"**/jobs/{job['id']}")


async def test_pages_lead_on_to_the_next_of_the_list_that_they_were_opened_from(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    page = someone.page
    near = page.get_by_role("navigation", name="Breadcrumb")
    for place in ("/queues", "/types", "/alerts", "/failures"):
        await someone.open(place)
        await someone.press("j", "o")
        await expect(near).to_contain_text(re.compile(r"\d of \d"))
        first = page.url
        await someone.press("]" if await near.get_by_role("button", name="Next").is_enabled() else "[")
        assert page.url != first, place

    await someone.open(f"/failures/{busy.pages[-2].split('/')[-1]}")
    failed = page.get_by_role("table", name="Failed tasks").get_by_role("link")
    await failed.first.click()
    await page.wait_for_url("**/tasks/*")


async def test_the_address_keeps_how_a_list_is_sorted(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/queues?sort=Queue")
    names = page.get_by_role("region", name="Queues").get_by_role("rowheader")
    assert await names.all_inner_texts() == sorted(await names.all_inner_texts())

    heading = page.get_by_role("region", name="Queues").get_by_role("columnheader", name="Queued")
    await heading.get_by_role("button").click()
    await expect(heading).to_have_attribute("aria-sort", "descending")
    await page.wait_for_url("**sort=-Queued**")
    assert await someone.barriers() == []

    await someone.open("/tasks?sort=-Name&tag=nobody.has.this")
    await page.get_by_role("tab", name="Failed").or_(page.get_by_role("button", name="Failed")).first.click()
    await page.wait_for_url("**status=failed**")
    assert "sort=-Name" in page.url


async def test_the_search_of_the_list_is_copied_as_a_request_that_finds_the_same(visitor: Visit, busy: Busy) -> None:
    task = busy.server.submit("shell", tags=["to copy"], delay="1h", payload={"command": ["true"]})
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/tasks?tag=to%20copy&since=24h")
    await page.get_by_role("button", name="Copy as…").click()
    sheet = page.get_by_role("dialog")
    await expect(sheet.locator("pre")).to_have_text("drumline tasks list --filter 'tag:\"to copy\" created>24h'")
    await sheet.get_by_text("curl", exact=True).click()
    request = shlex.split(await sheet.locator("pre").inner_text())

    found = busy.server.ask("GET", request[3].removeprefix(busy.server.url))[1]["items"]
    assert [one["id"] for one in found] == [task]
    busy.server.ask("POST", f"/api/v1/tasks/{task}/cancel")


async def command(page: Page, typed: str, option: str) -> None:
    await page.keyboard.press("Control+k")
    await page.locator("[role=combobox]:focus").wait_for()
    await page.keyboard.type(typed)
    await page.get_by_role("option", name=re.compile(f"^{re.escape(option)}")).first.wait_for()
    await page.keyboard.press("Enter")


async def test_the_command_menu_acts_on_what_the_page_is_about_and_goes_to_any_of_them(
    visitor: Visit, busy: Busy
) -> None:
    server = busy.server
    alert = server.ask(
        "POST", "/api/v1/alerts", {"name": "to be muted", "measure": "wait_p95", "threshold": "30s", "queue": "media"}
    )[1]
    someone = await visitor(server)
    page = someone.page
    await someone.open("/settings")
    await command(page, "to be muted alert", "to be muted")
    await page.wait_for_url(f"**/alerts/{alert['id']}")
    await page.get_by_role("button", name="Mute").wait_for()
    await command(page, "mute this", "Mute this alert")
    await page.get_by_role("dialog", name="Mute to be muted").wait_for()
    await someone.press("Escape")
    server.ask("DELETE", f"/api/v1/alerts/{alert['id']}")

    await someone.open("/queues/media")
    await command(page, "pause this", "Pause this queue")
    await page.get_by_role("dialog").get_by_label("Reason").wait_for()


async def test_a_group_is_ignored_until_a_time_and_its_note_is_in_the_list(visitor: Visit, busy: Busy) -> None:
    server = busy.server
    fingerprint = server.ask("GET", "/api/v1/failures/groups?state=active")[1]["items"][-1]["fingerprint"]
    path = f"/api/v1/failures/groups/{fingerprint}"
    server.ask("PATCH", path, {"note": "waits for the new bank"})
    someone = await visitor(server)
    page = someone.page
    await someone.open("/failures")
    await page.get_by_text("Note: waits for the new bank").wait_for()
    await someone.open(f"/failures/{fingerprint}")
    await page.get_by_role("button", name="Ignore").click()
    await someone.choose(page.get_by_label("Ignore for"), "Until a time…")
    moment = page.get_by_label("Ignore until")
    await moment.fill("2020-01-01 10:00")
    ignore = page.get_by_role("dialog").get_by_role("button", name="Ignore", exact=True)
    await expect(ignore).to_be_disabled()
    assert await someone.barriers() == []
    await moment.fill("2030-01-01 10:00")
    await ignore.click()
    await page.get_by_role("button", name="Reopen").wait_for()

    assert server.ask("GET", path)[1]["ignored_until"].startswith("2030-01-01")
    server.ask("PATCH", path, {"state": "open", "note": None})
