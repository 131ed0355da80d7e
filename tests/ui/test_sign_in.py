"""Coming in and going out, as people do it."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.black_box.server import Server
from tests.harness.browser import Visitor, visit
from tests.harness.issuer import Issuer
from tests.ui.conftest import Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services]

KEPT = "JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])"
"""What scripts of a page can get at."""


class Vouched(NamedTuple):
    """A server, and an issuer whose word it takes. To a browser they are two sites."""

    server: Server
    issuer: Issuer


@pytest.fixture(scope="module")
def vouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vouched]:
    with Issuer("localhost") as issuer:
        issuer.asks = True
        given = json.dumps([issuer.provider()])
        with Server(tmp_path_factory.mktemp("vouched") / "data", sign_in_providers=given) as server:
            yield Vouched(server, issuer)


@pytest_asyncio.fixture(loop_scope="session")
async def stranger(browser: Browser, vouched: Vouched) -> AsyncIterator[Visitor]:
    """Somebody whom nobody knows yet."""
    context, found = await visit(browser, vouched.server.url, vouched.server.key)
    found.expected.append(vouched.issuer.url)
    yield found
    await context.close()
    found.check()


async def kept(visitor: Visitor) -> str:
    text: Any = await visitor.page.evaluate(KEPT)
    return str(text)


async def test_somebody_signs_in_with_a_provider_acts_and_signs_out(stranger: Visitor, vouched: Vouched) -> None:
    page = stranger.page
    await page.goto(f"{stranger.url}/ui/queues?sort=name")
    await page.get_by_role("link", name="Sign in with Test login").click()
    await page.get_by_role("link", name="I am Ada").click()
    await page.wait_for_url(f"{stranger.url}/ui/queues?sort=name")
    assert '["",' in await kept(stranger)

    vouched.server.submit("nobody-has-this", queue="mail", delay="1h")
    await page.reload()
    row = page.get_by_role("row").filter(has_text="mail")
    await row.get_by_role("button", name="Pause").click()
    await page.get_by_label("Reason").fill("a test")
    await page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    await row.get_by_text("Paused: a test").wait_for()
    _, audit = vouched.server.ask("GET", "/api/v1/audit?act=queue.pause")
    assert (audit["items"][0]["key"], audit["items"][0]["key_name"]) == ("test:ada-1", "Ada")

    await page.get_by_role("button", name="Signed in as Ada").click()
    assert await stranger.barriers() == []
    assert "operator of default, by test" in await page.inner_text("header")
    await page.get_by_role("button", name="Sign out", exact=True).click()

    await page.get_by_role("link", name="Sign in with Test login").wait_for()
    assert await stranger.barriers() == []
    await page.reload()
    await page.get_by_label("API key").wait_for()


async def test_somebody_without_a_role_reads_why(stranger: Visitor, vouched: Vouched) -> None:
    page = stranger.page
    person, vouched.issuer.person = vouched.issuer.person, {"sub": "guest"}
    stranger.expected.append("403")
    await page.goto(f"{stranger.url}/ui/")
    await page.get_by_role("link", name="Sign in with Test login").click()
    await page.get_by_role("link", name="I am Ada").click()

    await page.get_by_role("heading", name="You may not come in").wait_for()
    assert "“groups” of your account is missing" in await page.inner_text("main")
    assert await stranger.barriers() == []
    await page.get_by_role("link", name="Sign in in another way").click()

    await page.get_by_label("API key").wait_for()
    vouched.issuer.person = person


async def test_a_key_is_typed_once_and_kept_nowhere(stranger: Visitor) -> None:
    page = stranger.page
    stranger.expected.append("401")
    await page.goto(f"{stranger.url}/ui/")
    await page.get_by_label("API key").fill("sk_live_wrong")
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_text("The API key is not valid").wait_for()

    await page.get_by_label("API key").fill(stranger.key)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_selector("nav", state="attached")

    assert stranger.key not in await kept(stranger)
    await page.reload()
    await page.wait_for_selector("nav", state="attached")


async def test_the_address_that_the_server_prints_signs_in_and_leaves_no_key(visitor: Visit, vouched: Vouched) -> None:
    someone = await visitor(vouched.server)

    assert someone.key not in someone.page.url
    assert someone.key not in await kept(someone)
    assert "Signed in as first key" in await someone.page.inner_html("header")


async def test_whoever_is_signed_out_elsewhere_is_back_at_the_door(stranger: Visitor, vouched: Vouched) -> None:
    stranger.expected.append("401")
    await stranger.log_in()
    status, _ = vouched.server.ask("POST", "/api/v1/sign-ins/revoke", {"user": "*"})
    assert status == 204

    await stranger.page.get_by_label("API key").wait_for()
    await stranger.page.locator("main").get_by_text("Your sign-in has ended").wait_for()
