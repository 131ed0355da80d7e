"""The web interface is served at any depth, under any prefix, and lets nothing from outside in."""

import re

import httpx
import pytest

from drumline.api import ui
from drumline.api.middleware import no_such_path
from tests.harness.programs import NOT_BUILT

IS_BUILT = "index.html" in ui._FILES
BUILT = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)


async def test_the_root_leads_to_the_interface(stranger: httpx.AsyncClient) -> None:
    reply = await stranger.get("/")

    assert (reply.status_code, reply.headers["location"]) == (307, "ui/")


@BUILT
@pytest.mark.parametrize(("path", "back"), [("", "./"), ("tasks", "./"), ("tasks/1", "../"), ("a/b/c", "../../")])
async def test_a_page_knows_its_way_back(stranger: httpx.AsyncClient, path: str, back: str) -> None:
    reply = await stranger.get(f"/ui/{path}")

    assert reply.status_code == 200
    assert f'<base href="{back}" />' in reply.text
    assert reply.headers["cache-control"] == "no-cache"


@BUILT
async def test_parts_are_kept_by_browsers_for_ever_and_sent_small(stranger: httpx.AsyncClient) -> None:
    page = await stranger.get("/ui/")
    (script,) = re.findall(r'src="\./(assets/[^"]+\.js)"', page.text)

    reply = await stranger.get(f"/ui/{script}", headers={"accept-encoding": "gzip, br"})
    plain = await stranger.get(f"/ui/{script}", headers={"accept-encoding": "identity"})

    assert "immutable" in reply.headers["cache-control"]
    assert reply.headers["content-encoding"] == "br"
    assert int(reply.headers["content-length"]) < len(plain.content) / 2


@pytest.mark.parametrize(
    "path", ["assets/none.js", "assets/%2e%2e/index.html", "assets/..%2f..%2fapi%2fapp.py", "assets/../../api/app.py"]
)
async def test_nothing_outside_the_build_is_served(stranger: httpx.AsyncClient, path: str) -> None:
    reply = await stranger.get(f"/ui/{path}")

    assert "WithUi" not in reply.text
    assert "import" not in reply.text or reply.text.startswith("<!doctype html>")


@pytest.mark.parametrize("path", ["assets/" + "a" * 300, "assets/" + "a" * 5000 + ".js", "a" * 300 + ".svg"])
async def test_a_name_too_long_for_the_file_system_is_no_error(stranger: httpx.AsyncClient, path: str) -> None:
    reply = await stranger.get(f"/ui/{path}")

    assert reply.status_code == (404 if path.startswith("assets/") else 200)


async def test_the_interface_may_load_nothing_from_anywhere_else(stranger: httpx.AsyncClient) -> None:
    policy = (await stranger.get("/ui/")).headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


@BUILT
async def test_every_page_says_which_environment_it_shows_and_a_name_cannot_leave_its_place() -> None:
    named = ui.WithUi(no_such_path, environment='prod"><script>', colour="red")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=named), base_url="http://x") as http:
        page = (await http.get("/ui/tasks/1")).text

    assert '<meta name="drumline-environment" content="prod&quot;&gt;&lt;script&gt;" data-colour="red" />' in page
    unnamed = ui.WithUi(no_such_path)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=unnamed), base_url="http://x") as http:
        assert "drumline-environment" not in (await http.get("/ui/")).text
