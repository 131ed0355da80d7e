"""Signing in with a provider: whom it lets in, and all that it does not fall for."""

import base64
import hashlib
import hmac
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import msgspec
import pytest

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.core.access import KeyPolicy
from drumline.core.clock import SystemClock
from drumline.core.provider import Provider, check_provider
from drumline.core.sign_in import SignInPolicy
from drumline.engine.engine import Engine
from drumline.engine.options import EngineOptions, SignInOptions
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from tests.api.conftest import KEY
from tests.harness.issuer import CLIENT, Issuer, Key
from tests.harness.sqlite import migrated

SECRET = b"a secret that all servers share."
HERE = "http://drumline.test"


@pytest.fixture(scope="module")
def one_issuer() -> Iterator[Issuer]:
    with Issuer() as issuer:
        yield issuer


@pytest.fixture
def issuer(one_issuer: Issuer) -> Issuer:
    """Yield the issuer as it is before anybody has told it to do otherwise."""
    fresh = {"person": {"sub": "ada-1", "name": "Ada", "groups": ["ops"]}, "told_when_asked": None, "described": {}}
    for name, value in {**fresh, "adds": {}, "keys": [one_issuer.first_key]}.items():
        setattr(one_issuer, name, value)
    one_issuer.change = lambda claims: claims
    one_issuer.sign = one_issuer.sign_newest
    return one_issuer


class Shifted(SystemClock):
    """The machine's clock, with a monotonic one that can be set forward."""

    shift = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.shift


@pytest.fixture
def clock() -> Shifted:
    return Shifted()


@pytest.fixture
async def engine(tmp_path: Path, clock: Shifted) -> AsyncIterator[Engine]:
    engine = Engine(
        await SqliteStore.open(migrated(tmp_path / "drumline.db")),
        NoQueue(),
        EngineOptions(clock=clock, sign_in=SignInOptions(secret=SECRET)),
    )
    yield engine
    await engine.close()


Made = Callable[..., httpx.AsyncClient]


@pytest.fixture
async def browsers(engine: Engine, tmp_path: Path) -> AsyncIterator[Made]:
    """Open browsers at a server that takes the word of these providers."""
    opened: list[httpx.AsyncClient] = []

    def make(*providers: dict[str, Any], public_url: str | None = None) -> httpx.AsyncClient:
        given = tuple(check_provider(msgspec.convert(each, Provider), field="provider") for each in providers)
        engine.access.sign_ins.policy = SignInPolicy(providers=given, public_url=public_url)
        app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", disk=str(tmp_path)))
        opened.append(httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=HERE))
        return opened[-1]

    yield make
    for browser in opened:
        await browser.aclose()


async def begin(browser: httpx.AsyncClient, path: str = "/api/v1/sign-in/test") -> str:
    """Set out for the provider, and return where it sends the browser back to."""
    sent = await browser.get(path)
    assert sent.status_code == 303, sent.text
    async with httpx.AsyncClient(verify=False) as outside:
        there = await outside.get(sent.headers["location"])
    return str(there.headers["location"])


async def signed_in(browser: httpx.AsyncClient, path: str = "/api/v1/sign-in/test") -> httpx.Response:
    return await browser.get(await begin(browser, path))


async def who(browser: httpx.AsyncClient) -> Any:
    return (await browser.get("/api/v1/sign-in")).json()["signed_in"]


async def refused(browser: httpx.AsyncClient, reply: httpx.Response, status: int, *words: str) -> None:
    """Check that a page says why nobody was let in, and that nobody was."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    for word in words:
        assert word.lower() in reply.text.lower(), reply.text
    assert await who(browser) is None
    assert (await browser.get("/api/v1/me")).status_code == 401


async def test_whom_a_provider_vouches_for_is_signed_in_with_the_role_of_their_group(
    browsers: Made, issuer: Issuer
) -> None:
    browser = browsers(issuer.provider())

    arrived = await signed_in(browser, "/api/v1/sign-in/test?next=/tasks?tag=a%26b")

    assert arrived.status_code == 303
    assert arrived.headers["location"] == "../../../../ui/tasks?tag=a&b"
    someone = await who(browser)
    assert (someone["user"], someone["name"], someone["role"]) == ("test:ada-1", "Ada", "operator")
    assert (someone["tenant"], someone["provider"]) == ("default", "test")
    me = (await browser.get("/api/v1/me")).json()
    assert (me["id"], me["name"], me["rate_limit"]) == ("test:ada-1", "Ada", "1000/1m")
    assert (await browser.get("/api/v1/tasks")).status_code == 200
    assert (await browser.get("/api/v1/keys")).status_code == 403
    cookie = arrived.headers.get_list("set-cookie")[0]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie


async def test_providers_are_told_to_the_page(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider(), issuer.provider(name="other", label=None))

    assert (await browser.get("/api/v1/sign-in")).json() == {
        "providers": [
            {"name": "test", "label": "Test login", "path": "/api/v1/sign-in/test"},
            {"name": "other", "label": "Other", "path": "/api/v1/sign-in/other"},
        ],
        "signed_in": None,
    }


async def test_a_sign_in_is_in_the_audit_log(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider())
    await signed_in(browser)

    rows = (await browser.get("/api/v1/audit", headers={"X-API-Key": KEY})).json()["items"]

    assert (rows[0]["act"], rows[0]["key"], rows[0]["key_name"]) == ("sign_in.open", "test:ada-1", "Ada")


# -- what a token may not say


def without(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda claims: {key: value for key, value in claims.items() if key != name}


def having(**more: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda claims: {**claims, **more}


NOW = int(time.time())
LIES: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "another nonce": (having(nonce="x"), "another sign-in"),
    "no nonce": (without("nonce"), "another sign-in"),
    "another audience": (having(aud="shop"), "Audience"),
    "no audience": (without("aud"), "aud"),
    "several audiences and no party": (having(aud=[CLIENT, "shop"]), "another client"),
    "another party": (having(aud=[CLIENT, "shop"], azp="shop"), "another client"),
    "another issuer": (having(iss="https://evil.example"), "issuer"),
    "no issuer": (without("iss"), "iss"),
    "expired": (having(iat=NOW - 7200, exp=NOW - 3600), "expired"),
    "no expiry": (without("exp"), "exp"),
    "expiry that is a word": (having(exp="never"), "time"),
    "from the future": (having(iat=NOW + 3600, exp=NOW + 7200), "future"),
    "not yet": (having(nbf=NOW + 3600), "future"),
    "nobody": (without("sub"), "sub"),
    "an empty subject": (having(sub=""), "who it is about"),
    "a subject that no log could hold": (having(sub="a\x00b"), "who it is about"),
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_token_that_does_not_fit_is_not_believed(browsers: Made, issuer: Issuer, lie: str) -> None:
    browser = browsers(issuer.provider())
    issuer.change, word = LIES[lie]

    reply = await signed_in(browser)

    await refused(browser, reply, 401, word)


async def test_clocks_may_differ_a_little(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider())
    issuer.change = having(iat=NOW - 400, exp=int(time.time()) - 30)

    assert (await signed_in(browser)).status_code == 303


def unsigned(claims: dict[str, Any]) -> str:
    return jwt.encode(claims, "", algorithm="none")


def by_public_key(issuer: Issuer) -> Callable[[dict[str, Any]], str]:
    """Return how to sign with the issuer's public key as if it were a shared secret."""

    def part(data: bytes) -> bytes:
        return base64.urlsafe_b64encode(data).rstrip(b"=")

    def sign(claims: dict[str, Any]) -> str:
        head = part(msgspec.json.encode({"alg": "HS256", "typ": "JWT", "kid": issuer.keys[-1].id}))
        body = head + b"." + part(msgspec.json.encode(claims))
        return (body + b"." + part(hmac.digest(issuer.keys[-1].pem, body, hashlib.sha256))).decode()

    return sign


async def test_a_token_without_a_signature_is_refused(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider())
    issuer.sign = unsigned

    await refused(browser, await signed_in(browser), 401, "none, which is not allowed")


async def test_the_public_key_is_no_shared_secret(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider())
    issuer.sign = by_public_key(issuer)

    await refused(browser, await signed_in(browser), 401, "HS256, which is not allowed")


async def test_a_key_of_somebody_else_signs_nothing(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider())
    thief = Key()
    thief.id = issuer.keys[-1].id
    issuer.sign = thief.sign

    await refused(browser, await signed_in(browser), 401, "Signature verification failed")


async def test_an_algorithm_that_the_settings_do_not_name_is_refused(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider(algorithms=["ES256"]))

    await refused(browser, await signed_in(browser), 401, "RS256, which is not allowed")


async def test_keys_of_curves_are_taken(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider())
    issuer.keys = [Key("ES256")]

    assert (await signed_in(browser)).status_code == 303


async def test_an_issuer_may_change_its_keys(browsers: Made, issuer: Issuer, clock: Shifted) -> None:
    browser = browsers(issuer.provider())
    await signed_in(browser)
    old = issuer.keys[-1]
    issuer.keys = [Key()]
    clock.shift += 6

    assert (await signed_in(browser)).status_code == 303

    issuer.sign = old.sign
    clock.shift += 6
    browser.cookies.clear()
    await refused(browser, await signed_in(browser), 401, "a key that its issuer does not have")


# -- the way there and back


async def test_an_answer_to_somebody_elses_question_is_not_taken(browsers: Made, issuer: Issuer) -> None:
    victim, thief = browsers(issuer.provider()), browsers(issuer.provider())
    await begin(victim)

    reply = await victim.get(await begin(thief))

    await refused(victim, reply, 401, "not begun in this browser")


async def test_a_browser_that_never_set_out_is_not_let_in(browsers: Made, issuer: Issuer) -> None:
    browser, other = browsers(issuer.provider()), browsers(issuer.provider())

    await refused(other, await other.get(await begin(browser)), 401, "not begun in this browser")


async def test_a_way_is_gone_once(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider())
    back = await begin(browser)
    cookies = dict(browser.cookies)
    await browser.get(back)
    browser.cookies.clear()
    exchanges = issuer.exchanges

    again = await browser.get(back)
    browser.cookies.clear()
    stolen = await browser.get(back, headers={"cookie": "; ".join(f"{k}={v}" for k, v in cookies.items())})

    await refused(browser, again, 401, "not begun in this browser")
    await refused(browser, stolen, 401, "over already")
    assert issuer.exchanges == exchanges


async def test_a_code_that_was_used_is_refused_in_the_issuers_words_and_not_in_its_html(
    browsers: Made, issuer: Issuer
) -> None:
    browser = browsers(issuer.provider())
    back = await begin(browser)
    issuer._codes.clear()

    reply = await browser.get(back)

    await refused(browser, reply, 401, "Test login refused: invalid_grant")
    assert "used up" not in reply.text


async def test_whoever_comes_back_with_many_wrong_codes_has_to_wait(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider())
    replies = []
    for _ in range(22):
        back = await begin(browser)
        issuer._codes.clear()
        replies.append(await browser.get(back))

    assert [reply.status_code for reply in replies[:21]] == [401] * 21
    assert replies[21].status_code == 429
    assert "too many wrong" in replies[21].text.lower()


async def test_the_answer_of_another_provider_is_not_taken(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider(), issuer.provider(name="evil"))
    back = await begin(browser)

    reply = await browser.get(back.replace("/test/callback", "/evil/callback"))

    await refused(browser, reply, 401, "not begun in this browser")
    assert issuer.exchanges >= 0


@pytest.mark.parametrize("named", ["https://evil.example", None])
async def test_an_answer_must_name_its_issuer_if_that_one_does_so(
    browsers: Made, issuer: Issuer, named: str | None
) -> None:
    browser = browsers(issuer.provider())
    issuer.described = {"authorization_response_iss_parameter_supported": True}
    issuer.adds = {} if named is None else {"iss": named}

    await refused(browser, await signed_in(browser), 401, "the answer came from another provider")

    issuer.adds = {"iss": issuer.url}
    assert (await signed_in(browser)).status_code == 303


async def test_whoever_says_no_at_the_provider_is_told_so(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider())
    state = parse_qs(urlsplit(await begin(browser)).query)["state"][0]

    reply = await browser.get(f"/api/v1/sign-in/test/callback?error=access_denied&state={state}")

    await refused(browser, reply, 401, "Test login refused: access_denied")


async def test_a_page_says_nothing_that_others_dictate(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider())
    state = parse_qs(urlsplit(await begin(browser)).query)["state"][0]
    evil = "<script>alert(1)</script> call 555-0100"

    reply = await browser.get("/api/v1/sign-in/test/callback", params={"error": evil, "state": state})

    await refused(browser, reply, 401, "it gave no reason")
    assert "555" not in reply.text
    assert "script-src" not in reply.headers["content-security-policy"]


EVIL_PLACES = [
    "https://evil.example",
    "//evil.example",
    "/\\evil.example",
    "/../api/v1/keys",
    "/%2e%2e/api",
    "/./x",
    "/a\r\nset-cookie: x=1",
    "javascript:alert(1)",
    "tasks",
    "/" + "a" * 2000,
]


@pytest.mark.parametrize("place", EVIL_PLACES)
async def test_nobody_is_sent_elsewhere_after_signing_in(browsers: Made, issuer: Issuer, place: str) -> None:
    browser = browsers(issuer.provider())
    sent = await browser.get("/api/v1/sign-in/test", params={"next": place})
    async with httpx.AsyncClient(verify=False) as outside:
        there = await outside.get(sent.headers["location"])

    arrived = await browser.get(there.headers["location"])

    assert arrived.headers["location"] == "../../../../ui/"


async def test_a_sign_in_is_a_new_one_each_time(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider())
    await signed_in(browser)
    first = (await who(browser))["token"]

    await signed_in(browser)

    assert (await who(browser))["token"] != first


# -- who may come in


async def test_a_missing_claim_is_told_by_its_name(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider())
    issuer.change = without("groups")

    reply = await signed_in(browser)

    await refused(browser, reply, 403, "You may not come in", "“groups” of your account is missing")


async def test_a_group_without_a_role_is_refused(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider())
    issuer.person = {"sub": "bob", "groups": ["guests", 7, None]}

    await refused(browser, await signed_in(browser), 403, "gives you a role")


async def test_the_first_rule_that_fits_decides(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider())
    issuer.person = {"sub": "eve", "email": "eve@example.com", "groups": ["admins"]}

    await signed_in(browser)

    someone = await who(browser)
    assert (someone["role"], someone["tenant"], someone["name"]) == ("admin", "*", "eve@example.com")


async def test_an_address_counts_only_once_it_was_verified(browsers: Made, issuer: Issuer) -> None:
    rules = [{"claim": "email", "value": "*@example.com", "role": "viewer"}]
    browser = browsers(issuer.provider(rules=rules))
    issuer.person = {"sub": "eve", "email": "eve@example.com"}

    await refused(browser, await signed_in(browser), 403)
    issuer.person = {**issuer.person, "email_verified": True}
    assert (await signed_in(browser)).status_code == 303


async def test_a_claim_may_lie_inside_another(browsers: Made, issuer: Issuer) -> None:
    rules = [{"claim": "realm_access.roles", "value": "drumline-*", "role": "viewer"}]
    browser = browsers(issuer.provider(rules=rules))
    issuer.person = {"sub": "ada", "realm_access": {"roles": ["drumline-people"]}}

    assert (await signed_in(browser)).status_code == 303


async def test_what_the_token_leaves_out_is_asked_for(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider())
    issuer.person = {"sub": "ada-1"}
    issuer.told_when_asked = {"sub": "ada-1", "groups": ["ops"]}
    assert (await signed_in(browser)).status_code == 303

    issuer.told_when_asked = {"sub": "eve", "groups": ["admins"]}
    browser.cookies.clear()
    await refused(browser, await signed_in(browser), 403, "another user")


async def test_a_claim_names_the_tenant_but_never_the_whole_installation(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider(tenant_claim="org"))
    for org, words in {"acme": "which is not there", "*": "names no tenant", "": "names no tenant"}.items():
        issuer.person = {"sub": "ada", "groups": ["ops"], "org": org}
        await refused(browser, await signed_in(browser), 403, words)
    issuer.person = {"sub": "ada", "groups": ["ops"]}
    await refused(browser, await signed_in(browser), 403, "does not name one tenant")

    await browser.post("/api/v1/tenants", headers={"X-API-Key": KEY}, json={"name": "acme"})
    issuer.person = {"sub": "ada", "groups": ["ops"], "org": ["acme"]}
    await signed_in(browser)

    assert (await who(browser))["tenant"] == "acme"


# -- an issuer that is not as it should be


async def test_an_issuer_that_calls_itself_otherwise_is_not_trusted(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider())
    issuer.described = {"issuer": "https://evil.example"}

    reply = await browser.get("/api/v1/sign-in/test")

    await refused(browser, reply, 503, "calls itself https://evil.example")


async def test_an_issuer_that_is_away_is_said_to_be(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider(issuer="http://127.0.0.1:9"))

    await refused(browser, await browser.get("/api/v1/sign-in/test"), 503, "cannot be reached")


# -- signing out


async def test_signing_out_leads_to_the_provider_with_what_it_wants_to_see(browsers: Made, issuer: Issuer) -> None:
    browser = browsers(issuer.provider(), public_url="https://drumline.example/drums/ui")
    browser.base_url = httpx.URL("http://localhost")
    sent = await browser.get("/api/v1/sign-in/test")
    asked = parse_qs(urlsplit(sent.headers["location"]).query)
    assert asked["redirect_uri"] == ["https://drumline.example/drums/api/v1/sign-in/test/callback"]
    async with httpx.AsyncClient(verify=False) as outside:
        there = await outside.get(sent.headers["location"])
    await browser.get(f"/api/v1/sign-in/test/callback?{urlsplit(there.headers['location']).query}")
    token = (await who(browser))["token"]

    out = await browser.post("/api/v1/sign-out", headers={"X-CSRF-Token": token})

    url = urlsplit(out.json()["url"])
    given = parse_qs(url.query)
    assert f"{url.scheme}://{url.netloc}{url.path}" == f"{issuer.url}/end"
    assert given["post_logout_redirect_uri"] == ["https://drumline.example/drums/ui/"]
    assert given["client_id"] == [CLIENT]
    assert jwt.decode(given["id_token_hint"][0], options={"verify_signature": False})["sub"] == "ada-1"
    assert await who(browser) is None
    assert len(browser.cookies) == 0


@pytest.mark.parametrize(
    ("passed", "base"),
    [
        ({"x-forwarded-prefix": "/drums/"}, "http://drumline.test/drums"),
        ({"x-forwarded-proto": "https", "x-forwarded-host": "here.example"}, "https://here.example"),
        ({"x-forwarded-prefix": "//evil.example"}, "http://drumline.test"),
        ({"x-forwarded-prefix": "/../x"}, "http://drumline.test"),
        ({"x-forwarded-host": "evil.example/?"}, "http://localhost"),
    ],
)
@pytest.mark.parametrize("is_trusted", [True, False])
async def test_the_way_back_leads_to_where_trusted_proxies_say_that_people_are(
    browsers: Made, engine: Engine, issuer: Issuer, passed: dict[str, str], base: str, is_trusted: bool
) -> None:
    engine.access.use_policy(KeyPolicy(proxies=("127.0.0.1/32",) if is_trusted else ()))
    browser = browsers(issuer.provider())

    sent = await browser.get("/api/v1/sign-in/test", headers=passed)

    asked = parse_qs(urlsplit(sent.headers["location"]).query)["redirect_uri"]
    assert asked == [f"{base if is_trusted else HERE}/api/v1/sign-in/test/callback"]
