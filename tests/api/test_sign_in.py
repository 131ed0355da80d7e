"""Signing in by key at a browser: what the cookie is good for, and for whom it is not."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from time import process_time
from typing import Any

import httpx
import msgspec
import pytest

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.core.access import KeyPolicy
from drumline.core.clock import Instant, ManualClock
from drumline.core.rate import Rate
from drumline.core.seal import Seal
from drumline.core.sign_in import SignIn, SignInPolicy
from drumline.engine.engine import Engine
from drumline.engine.options import EngineOptions, SignInOptions
from drumline.stores.no_queue import NoQueue
from drumline.stores.postgres import PostgresStore
from drumline.stores.sqlite import SqliteStore
from tests.api.conftest import KEY, problem
from tests.harness.sqlite import migrated

SECRET = b"a secret that all servers share."
HOUR = 3_600_000
SIGN_IN = "/api/v1/sign-in"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def engine(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Engine]:
    engine = Engine(
        await SqliteStore.open(migrated(tmp_path / "drumline.db"), clock=clock),
        NoQueue(),
        EngineOptions(clock=clock, sign_in=SignInOptions(SignInPolicy(idle_ms=HOUR, lifetime_ms=10 * HOUR), SECRET)),
    )
    yield engine
    await engine.close()


@pytest.fixture
async def browser(app: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://drumline") as client:
        yield client


async def sign_in(browser: httpx.AsyncClient, key: str = KEY, **more: Any) -> str:
    """Sign in, and return the token that changes need."""
    reply = await browser.post(SIGN_IN, json={"key": key, **more})
    assert reply.status_code == 200, reply.text
    return str(reply.json()["token"])


async def made_key(http: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    reply = await http.post("/api/v1/keys", json={"name": "k", **fields})
    assert reply.status_code == 201, reply.text
    made: dict[str, Any] = reply.json()
    return made


def cookie_of(browser: httpx.AsyncClient) -> tuple[str, str]:
    (found,) = browser.cookies.items()
    return found


async def test_a_key_is_exchanged_for_a_cookie_that_no_script_can_read(browser: httpx.AsyncClient) -> None:
    reply = await browser.post(SIGN_IN, json={"key": KEY})

    cookie = reply.headers["set-cookie"]
    assert KEY not in cookie
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert "Max-Age=36000" in cookie
    assert "Secure" not in cookie
    assert (await browser.get("/api/v1/me")).json()["id"] == "first"
    assert (await browser.get(SIGN_IN)).json()["signed_in"] == reply.json()


async def test_a_cookie_may_be_for_the_window_only(browser: httpx.AsyncClient) -> None:
    reply = await browser.post(SIGN_IN, json={"key": KEY, "remember": False})

    assert "Max-Age" not in reply.headers["set-cookie"]


async def test_over_a_protected_connection_the_cookie_is_bound_to_host_and_protection(app: Any) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="https://drumline") as browser:
        reply = await browser.post(SIGN_IN, json={"key": KEY})
        name, value = cookie_of(browser)

        assert reply.headers["set-cookie"].startswith("__Host-drumline_")
        assert "Secure" in reply.headers["set-cookie"]
        browser.cookies.clear()
        planted = await browser.get("/api/v1/me", headers={"cookie": f"{name.removeprefix('__Host-')}={value}"})
        assert planted.status_code == 401


@pytest.mark.parametrize("key", ["wrong", "sk_live_x"])
async def test_a_wrong_key_signs_nobody_in(browser: httpx.AsyncClient, key: str) -> None:
    reply = await browser.post(SIGN_IN, json={"key": key})

    problem(reply, 401, "unauthorized")
    assert "set-cookie" not in reply.headers


async def test_whoever_tries_keys_at_the_form_has_to_wait(browser: httpx.AsyncClient) -> None:
    replies = [await browser.post(SIGN_IN, json={"key": f"guess {n}"}) for n in range(22)]

    assert [reply.status_code for reply in replies[:21]] == [401] * 21
    assert replies[21].status_code == 429
    assert replies[21].headers["retry-after"] == "1"


async def test_signing_in_is_in_the_audit_log(browser: httpx.AsyncClient, http: httpx.AsyncClient) -> None:
    await sign_in(browser)

    (row,) = (await http.get("/api/v1/audit")).json()["items"]

    assert (row["act"], row["phase"], row["key"]) == ("sign_in.open", "done", "first")


# -- others who have the browser send something


CHANGE = ("POST", "/api/v1/queues/mail/pause")


async def test_a_change_needs_the_token_of_the_page(browser: httpx.AsyncClient) -> None:
    token = await sign_in(browser)

    without = await browser.request(*CHANGE)
    wrong = await browser.request(*CHANGE, headers={"X-CSRF-Token": token[:-2] + "xx"})
    right = await browser.request(*CHANGE, headers={"X-CSRF-Token": token})

    problem(without, 403, "forbidden", "X-CSRF-Token")
    problem(wrong, 403, "forbidden", "X-CSRF-Token")
    assert right.is_success


async def test_the_token_of_one_sign_in_is_nothing_for_another(app: Any, browser: httpx.AsyncClient) -> None:
    await sign_in(browser)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://drumline") as other:
        token = await sign_in(other)

    problem(await browser.request(*CHANGE, headers={"X-CSRF-Token": token}), 403, "forbidden", "X-CSRF-Token")


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://drumline.evil.example"},
        {"origin": "http://drumline:81"},
        {"sec-fetch-site": "cross-site", "origin": "http://drumline"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_a_page_of_another_origin_changes_nothing_and_signs_nobody_in(
    browser: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    token = await sign_in(browser)

    change = await browser.request(*CHANGE, headers={"X-CSRF-Token": token, **headers})
    planted = await browser.post(SIGN_IN, json={"key": KEY}, headers=headers)
    out = await browser.post("/api/v1/sign-out", headers={"X-CSRF-Token": token, **headers})

    for reply in (change, planted, out):
        problem(reply, 403, "forbidden")
        assert "set-cookie" not in reply.headers


@pytest.mark.parametrize("headers", [{"origin": "http://drumline"}, {"sec-fetch-site": "same-origin"}])
async def test_a_page_of_ours_may(browser: httpx.AsyncClient, headers: dict[str, str]) -> None:
    token = await sign_in(browser)

    reply = await browser.request(*CHANGE, headers={"X-CSRF-Token": token, **headers})

    assert reply.is_success


async def test_a_key_needs_no_token(browser: httpx.AsyncClient) -> None:
    await sign_in(browser)

    reply = await browser.request(*CHANGE, headers={"X-API-Key": KEY, "origin": "https://tools.example"})

    assert reply.is_success


# -- cookies that somebody wrote


async def test_a_cookie_that_somebody_changed_opens_nothing(browser: httpx.AsyncClient) -> None:
    await sign_in(browser)
    name, value = cookie_of(browser)
    browser.cookies.clear()
    body, _, mark = value.rpartition(".")
    forged = Seal(b"another secret of enough length.").seal(
        "sign-in",
        SignIn(
            id="x",
            user="key:first",
            name="x",
            created_at=Instant(0),
            seen_at=Instant(0),
            ends_at=Instant(2**52),
            proof="x",
        ),
    )

    for text in (body + "." + mark[::-1], "e30." + mark, body, "." + mark, "", "%%%", forged, value + "x", "é.é"):
        reply = await browser.get("/api/v1/me", headers={b"cookie": f"{name}={text}".encode()})
        assert reply.status_code == 401, text


async def test_what_was_sealed_for_one_purpose_is_nothing_for_another(
    browser: httpx.AsyncClient, engine: Engine
) -> None:
    await sign_in(browser)
    name, value = cookie_of(browser)
    sign_ins = engine.access.sign_ins
    browser.cookies.clear()

    other = sign_ins.seal.seal("way", sign_ins.read(value))

    assert (await browser.get("/api/v1/me", headers={"cookie": f"{name}={other}"})).status_code == 401


async def test_two_cookies_of_one_name_are_none(browser: httpx.AsyncClient) -> None:
    await sign_in(browser)
    name, value = cookie_of(browser)
    browser.cookies.clear()

    reply = await browser.get("/api/v1/me", headers={"cookie": f"{name}={value}; {name}={value}x"})

    assert reply.status_code == 401


async def test_another_secret_ends_every_sign_in(browser: httpx.AsyncClient, engine: Engine) -> None:
    await sign_in(browser)

    engine.access.sign_ins.seal = Seal(b"another secret of enough length.")

    assert (await browser.get("/api/v1/me")).status_code == 401


# -- how long it lasts


async def test_a_sign_in_ends_when_nobody_is_there(browser: httpx.AsyncClient, clock: ManualClock) -> None:
    await sign_in(browser)
    for _ in range(3):
        clock.advance(3000)
        assert (await browser.get("/api/v1/me")).status_code == 200

    clock.advance(3601)

    body = problem(await browser.get("/api/v1/me"), 401, "unauthorized")
    assert "sign in again" in body["detail"]


async def test_a_page_that_asks_by_itself_keeps_nobody_signed_in(
    browser: httpx.AsyncClient, clock: ManualClock
) -> None:
    await sign_in(browser)
    clock.advance(3000)
    by_itself = await browser.get("/api/v1/me", headers={"X-Unattended": "1"})
    clock.advance(601)

    assert by_itself.status_code == 200
    assert "set-cookie" not in by_itself.headers
    assert (await browser.get("/api/v1/me")).status_code == 401


async def test_a_sign_in_ends_after_its_lifetime_however_busy(browser: httpx.AsyncClient, clock: ManualClock) -> None:
    await sign_in(browser)
    for _ in range(19):
        clock.advance(1800)
        assert (await browser.get("/api/v1/me")).status_code == 200

    clock.advance(1800)

    assert (await browser.get("/api/v1/me")).status_code == 401


async def test_signing_out_ends_the_cookie_and_not_only_the_browsers_memory(browser: httpx.AsyncClient) -> None:
    token = await sign_in(browser)
    name, value = cookie_of(browser)

    out = await browser.post("/api/v1/sign-out", headers={"X-CSRF-Token": token})

    assert out.json() == {"url": None}
    assert not browser.cookies
    reply = await browser.get("/api/v1/me", headers={"cookie": f"{name}={value}"})
    assert "signed out" in problem(reply, 401, "unauthorized")["detail"]


async def test_signing_out_everywhere_ends_all_of_ones_own_and_no_others(
    app: Any, http: httpx.AsyncClient, clock: ManualClock
) -> None:
    keys = [(await made_key(http, role="viewer"))["key"] for _ in range(2)]
    transport = httpx.ASGITransport(app=app)
    async with (
        httpx.AsyncClient(transport=transport, base_url="http://x") as one,
        httpx.AsyncClient(transport=transport, base_url="http://x") as two,
        httpx.AsyncClient(transport=transport, base_url="http://x") as other,
    ):
        token = await sign_in(one, keys[0])
        await sign_in(two, keys[0])
        await sign_in(other, keys[1])
        clock.advance(1)

        await one.post("/api/v1/sign-out", json={"everywhere": True}, headers={"X-CSRF-Token": token})

        assert (await two.get("/api/v1/me")).status_code == 401
        assert (await other.get("/api/v1/me")).status_code == 200
        clock.advance(1)
        await sign_in(one, keys[0])
        assert (await one.get("/api/v1/me")).status_code == 200


async def test_the_installation_can_send_anybody_away(
    browser: httpx.AsyncClient, http: httpx.AsyncClient, clock: ManualClock
) -> None:
    made = await made_key(http, role="viewer")
    for user in (f"key:{made['id']}", "*"):
        await sign_in(browser, made["key"])
        clock.advance(1)
        assert (await browser.get("/api/v1/me")).status_code == 200
        reply = await http.post("/api/v1/sign-ins/revoke", json={"user": user}, headers={"X-Reason": "a lost laptop"})
        assert reply.status_code == 204
        assert (await browser.get("/api/v1/me")).status_code == 401
        clock.advance(1)

    (row, *_) = (await http.get("/api/v1/audit?act=sign_in.revoke")).json()["items"]
    assert row["reason"] == "a lost laptop"


async def test_a_key_cannot_sign_out(http: httpx.AsyncClient) -> None:
    problem(await http.post("/api/v1/sign-out"), 409, "conflict")


# -- what becomes of the key


async def test_a_sign_in_can_do_what_its_key_can_and_counts_as_its_key(
    browser: httpx.AsyncClient, http: httpx.AsyncClient, engine: Engine
) -> None:
    made = await made_key(http, role="viewer", rate_limit="5/60s")
    token = await sign_in(browser, made["key"])

    assert (await browser.request(*CHANGE, headers={"X-CSRF-Token": token})).status_code == 403
    codes = [(await browser.get("/api/v1/me")).status_code for _ in range(4)]

    assert codes == [200, 200, 200, 429]
    assert (await browser.post(SIGN_IN, json={"key": made["key"]})).status_code == 429
    await engine.access.identities.flush()
    assert (await http.get(f"/api/v1/keys/{made['id']}")).json()["uses"] >= 5


@pytest.mark.parametrize("act", ["disable", "revoke"])
async def test_a_sign_in_ends_with_its_key(browser: httpx.AsyncClient, http: httpx.AsyncClient, act: str) -> None:
    made = await made_key(http, role="viewer")
    await sign_in(browser, made["key"])

    await http.post(f"/api/v1/keys/{made['id']}/{act}")

    assert (await browser.get("/api/v1/me")).status_code == 401


async def test_a_sign_in_by_the_first_key_ends_when_the_server_is_started_with_another(
    browser: httpx.AsyncClient, engine: Engine, tmp_path: Path
) -> None:
    await sign_in(browser)
    app = create_app(engine, keys=ConfiguredKeys(["another key"]), info=Info(version="1", disk=str(tmp_path)))

    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app), base_url="http://drumline", cookies=browser.cookies
    ) as again:
        assert (await again.get("/api/v1/me")).status_code == 401


# -- behind others


@pytest.mark.parametrize("is_trusted", [True, False])
async def test_only_a_trusted_proxy_says_where_people_are(engine: Engine, tmp_path: Path, is_trusted: bool) -> None:
    engine.access.use_policy(KeyPolicy(proxies=("127.0.0.1/32",) if is_trusted else ()))
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", disk=str(tmp_path)))
    passed = {"x-forwarded-proto": "https", "x-forwarded-host": "work.example", "host": "inside:8080"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://inside:8080") as browser:
        reply = await browser.post(SIGN_IN, json={"key": KEY}, headers={**passed, "origin": "https://work.example"})

        if is_trusted:
            assert "Secure" in reply.headers["set-cookie"]
            evil = {**passed, "origin": "https://evil.example"}
            assert (await browser.post(SIGN_IN, json={"key": KEY}, headers=evil)).status_code == 403
        else:
            problem(reply, 403, "forbidden")


# -- several servers


async def test_signing_out_reaches_another_server_within_two_seconds(postgres_url: str, tmp_path: Path) -> None:
    options = EngineOptions(sign_in=SignInOptions(secret=SECRET), policy=KeyPolicy(first_rate=Rate(100_000, 60.0)))
    engines = [Engine(await PostgresStore.open(postgres_url), NoQueue(), options) for _ in range(2)]
    browsers = []
    for engine in engines:
        app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", disk=str(tmp_path)))
        browsers.append(httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://x"))
    here, there = browsers
    token = await sign_in(here)
    name, value = cookie_of(here)
    there.cookies.set(name, value)
    assert (await there.get("/api/v1/me")).status_code == 200

    out = await here.post("/api/v1/sign-out", json={"everywhere": True}, headers={"X-CSRF-Token": token})

    assert out.status_code == 200
    async with asyncio.timeout(2.0):
        reply = await there.get("/api/v1/me")
        while reply.status_code != 401:
            await asyncio.sleep(0.02)
            reply = await there.get("/api/v1/me")
    for browser, engine in zip(browsers, engines, strict=True):
        await browser.aclose()
        await engine.close()


async def test_servers_may_be_of_different_versions(engine: Engine) -> None:
    """What a newer server adds to a sign-in, an older one passes over."""

    class Newer(SignIn, frozen=True, kw_only=True):
        mood: str = "fine"

    fields = msgspec.structs.asdict(
        await engine.access.sign_ins.by_key(id="first", name="first key", digest=b"x", is_first=True, is_lasting=True)
    )

    text = engine.access.sign_ins.seal.seal("sign-in", Newer(**fields, mood="good"))

    assert engine.access.sign_ins.read(text).id == fields["id"]


@pytest.mark.parametrize("size", [4000, 8000])
async def test_an_unknown_field_of_any_length_is_refused_at_once(stranger: httpx.AsyncClient, size: int) -> None:
    name = (" - at `" * (size // 7)) + "\n"
    began = process_time()

    reply = await stranger.post("/api/v1/sign-in", json={name: 1})

    assert process_time() - began < 1
    assert reply.status_code == 422
    assert len(reply.content) < 5000
