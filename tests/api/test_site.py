"""The documentation is served at /docs/, beside the page on which the API describes itself."""

import gzip

import httpx
import pytest

from drumline.api.package_files import SITE, StaticFolder

BUILT = pytest.mark.skipif(not SITE.names, reason="the documentation is not built: `make docs` builds it")


@BUILT
async def test_the_site_is_served_without_a_key(stranger: httpx.AsyncClient) -> None:
    reply = await stranger.get("/docs/")

    assert reply.status_code == 200
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert "<title>" in reply.text


@BUILT
async def test_a_page_without_its_slash_leads_to_the_page(stranger: httpx.AsyncClient) -> None:
    reply = await stranger.get("/docs/how-to/jobs")

    assert (reply.status_code, reply.headers["location"]) == (307, "jobs/")
    assert (await stranger.get("/docs/how-to/jobs/")).status_code == 200


@BUILT
async def test_a_browser_that_has_a_page_is_not_sent_it_again(stranger: httpx.AsyncClient) -> None:
    first = await stranger.get("/docs/")
    again = await stranger.get("/docs/", headers={"if-none-match": first.headers["etag"]})
    other = await stranger.get("/docs/", headers={"if-none-match": '"other"'})

    assert (again.status_code, again.content) == (304, b"")
    assert (other.status_code, other.headers["etag"]) == (200, first.headers["etag"])


@BUILT
async def test_a_client_that_cannot_unpack_is_sent_plain_text(stranger: httpx.AsyncClient) -> None:
    plain = await stranger.get("/docs/llms.txt", headers={"accept-encoding": "identity"})
    packed = await stranger.get("/docs/llms.txt", headers={"accept-encoding": "gzip"})

    assert plain.text.startswith("# Drumline")
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.text == plain.text
    assert gzip.compress(plain.content)[:2] == b"\x1f\x8b"


@BUILT
async def test_the_index_for_language_models_is_found_at_the_root(stranger: httpx.AsyncClient) -> None:
    reply = await stranger.get("/llms.txt")

    assert (reply.status_code, reply.headers["location"]) == (307, "docs/llms.txt")


@pytest.mark.parametrize("path", ["/docs", "/docs/api"])
async def test_the_api_describes_itself_beside_the_site(stranger: httpx.AsyncClient, path: str) -> None:
    reply = await stranger.get(path)

    assert reply.status_code == 200
    assert 'id="op-' in reply.text
    assert 'href="/docs/"' in reply.text


@pytest.mark.parametrize(
    "path",
    [
        "nowhere", "a" * 300, "a" * 5000, "a/" * 300, "//", "%2e%2e", "%2e%2e/api/app.py",
        "..%2f..%2fsettings%2ffields.py", "%2e%2e%2f_version.py", "%00", "index.html%00.png",
        "index.html.gz", "C:%5cwindows", "%ff%fe",
    ],
)  # fmt: skip
async def test_a_path_that_is_no_page_is_not_found(stranger: httpx.AsyncClient, path: str) -> None:
    address = httpx.URL("http://drumline").copy_with(raw_path=f"/docs/{path}".encode())

    reply = await stranger.get(address)

    assert reply.status_code == 404
    assert "import" not in reply.text


@pytest.mark.parametrize("path", ["/docs/", "/docs/nowhere", "/docs/how-to/jobs"])
async def test_every_reply_has_the_headers_of_a_page(stranger: httpx.AsyncClient, path: str) -> None:
    reply = await stranger.get(path)

    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["x-frame-options"] == "DENY"


async def test_only_reading_is_served(http: httpx.AsyncClient) -> None:
    assert (await http.post("/docs/")).status_code == 404
    assert (await http.head("/docs/")).content == b""


async def test_a_server_without_the_site_says_how_to_build_it(
    stranger: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drumline.api.site.SITE", StaticFolder("_nothing_is_built_here"))

    start, other = await stranger.get("/docs/"), await stranger.get("/docs/how-to/jobs/")

    assert start.status_code == 200
    assert "make docs" in start.text
    assert other.status_code == 404
    assert (await stranger.get("/docs/api")).status_code == 200
