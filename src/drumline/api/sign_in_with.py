"""Signing in with a provider: to it, and back from it with a code. It is for browsers: refusals are pages."""

import hmac
import html
import re
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlencode

import structlog

from drumline.api.authentication import CREDENTIAL
from drumline.api.browser_sessions import PendingSignIn
from drumline.api.operation import HTML, PAGE, ApiCall, Operation, Reply, Tag
from drumline.api.problems import Headers, to_problem
from drumline.api.reading import AnyQuery
from drumline.api.sign_in import SIGN_IN, noted
from drumline.core.errors import DrumlineError, Forbidden, NotFound, Unauthorized
from drumline.core.provider import Claims, Provider, grant_of

log: structlog.stdlib.BoundLogger = structlog.get_logger()

LONGEST_NEXT: Final = 1000
LONGEST_NAME: Final = 100
LOST: Final = "this sign-in was not begun in this browser, or too long ago"

_NEXT: Final = re.compile(r"/(?:[\w.~!$&'()*+,;=:@?%-][\w./~!$&'()*+,;=:@?%-]*)?", re.ASCII)
_BACK: Final = "../../../../ui"
"""The way from where a provider sends people back to, whatever stands before it."""
_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>{title} - Drumline</title><link rel="icon" href="data:,"><link rel="stylesheet" href="{up}docs/style.css"></head>
<body><main><h1>{title}</h1>{texts}<p><a href="{up}ui/">Sign in in another way</a></p></main></body></html>
"""

Going = ApiCall[None, AnyQuery]


def paths_of(provider: Provider) -> tuple[str, str]:
    """Return the paths by which people go to a provider and come back."""
    return f"{SIGN_IN}/{provider.name}", f"{SIGN_IN}/{provider.name}/callback"


async def go(call: Going) -> Reply:
    """Send a browser to its provider."""
    return await _shown(call, _redirected, up="../../../")


async def come_back(call: Going) -> Reply:
    """Take in a browser that comes back from its provider."""
    return await _shown(call, _completed, up="../../../../")


async def _shown(call: Going, step: Callable[[Going], Awaitable[Reply]], *, up: str) -> Reply:
    """Run a step, and answer a refusal with a page: people, not programs, see it."""
    arrived = () if step is _redirected else (call.context.authentication.browser_sessions.drop_pending(call.scope),)
    try:
        reply = await step(call)
    except DrumlineError as error:
        problem = to_problem(error)
        log.warning("sign_in.refused", provider=call.params["provider"], code=problem.code, reason=error.message)
        texts = (error.message, "Ask the operator of this installation, if you should have access.")
        title = "You may not come in" if isinstance(error, Forbidden) else "That did not work"
        return _page(title, texts, up=up, status=problem.status, headers=arrived)
    return Reply(reply.body, reply.status, reply.media, (*reply.headers, *arrived), reply.policy)


async def _redirected(call: Going) -> Reply:
    issuer, sessions = _issuer(call), call.context.authentication.browser_sessions
    described = await issuer.describe()
    way = PendingSignIn(issuer.provider.name, secrets.token_urlsafe(32), _next(call), call.engine.clock.now())
    challenge = sha256(_verifier(call, way).encode()).digest()
    asked = {
        "response_type": "code",
        "client_id": issuer.provider.client_id,
        "redirect_uri": _redirect_uri(call),
        "scope": " ".join(issuer.provider.scopes),
        "state": way.state,
        "nonce": _nonce(call, way),
        "code_challenge": _base64(challenge),
        "code_challenge_method": "S256",
    }
    endpoint = described.authorization_endpoint
    location = f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"
    return _redirect(location, (sessions.keep_pending(call.scope, way),))


async def _completed(call: Going) -> Reply:
    issuer, sessions, given = _issuer(call), call.context.authentication.browser_sessions, call.query.given
    way = sessions.read_pending(call.scope)
    if way is None or way.provider != issuer.provider.name or not _is_same(given.get("state", ""), way.state):
        raise Unauthorized(LOST)
    call.context.authentication.check_lockout(call.scope)
    described = await issuer.describe()
    if given.get("iss", "" if described.authorization_response_iss_parameter_supported else described.issuer) != (
        described.issuer
    ):
        raise Unauthorized("the answer came from another provider than the one that was asked")
    if "code" not in given:
        raise Unauthorized(f"{issuer.provider.title} refused: {_error_code(given.get('error', ''))}")
    vouched = await _vouched(call, issuer, way)
    grant = grant_of(issuer.provider, vouched.claims)
    if grant.tenant is not None and await call.engine.access.tenants.find(grant.tenant) is None:
        raise Forbidden(f"your account belongs to the tenant {grant.tenant}, which is not there")
    user = f"{issuer.provider.name}:{vouched.claims['sub']}"
    made = await call.engine.access.sign_ins.by_provider(user, _name_of(vouched.claims), grant)
    await noted(call, made.caller(None), made)
    call.scope.pop(CREDENTIAL, None)
    cookies = (sessions.keep(call.scope, made), *sessions.keep_hint(call.scope, vouched.id_token))
    return _redirect(_BACK + way.next, cookies)


async def _vouched(call: Going, issuer: Any, way: PendingSignIn) -> Any:
    """Exchange the code for the provider's claims, once; an address that sends many wrong codes is locked out."""
    from drumline.outbound.issuer import IssuerResponse  # noqa: PLC0415 - as in app.py

    answer = IssuerResponse(call.query.given["code"], _verifier(call, way), _nonce(call, way), _redirect_uri(call))
    if not await call.engine.access.sign_ins.use_state(way.state):
        raise Unauthorized("this sign-in is over already")
    try:
        return await issuer.vouch(answer)
    except Unauthorized:
        call.context.authentication.note_failure(call.scope, way.state)
        raise


def _issuer(call: Going) -> Any:
    issuer = call.context.issuers.get(call.params["provider"])
    if issuer is None:
        raise NotFound(f"there is no provider {_error_code(call.params['provider'])} here", field="provider")
    return issuer


def _next(call: Going) -> str:
    """Return the page to come back to: a path of the interface, and nothing that a browser could read otherwise."""
    asked = call.query.given.get("next", "/")
    is_fine = len(asked) <= LONGEST_NEXT and _NEXT.fullmatch(asked) and "/." not in asked and "%2e" not in asked.lower()
    return asked if is_fine else "/"


def _redirect_uri(call: Going) -> str:
    base = call.context.authentication.browser_sessions.origins.base(call.scope)
    return f"{base}{SIGN_IN}/{call.params['provider']}/callback"


def _verifier(call: Going, way: PendingSignIn) -> str:
    """Return what only we can know of a way, and the provider is shown the digest of. It never leaves the servers."""
    return call.context.authentication.browser_sessions.seal.derive("verifier", way.state)


def _nonce(call: Going, way: PendingSignIn) -> str:
    return call.context.authentication.browser_sessions.seal.derive("nonce", way.state)


def _name_of(claims: Claims) -> str:
    said = (claims.get(name) for name in ("name", "preferred_username", "email", "sub"))
    name = next(text for text in said if isinstance(text, str) and text.strip())
    return "".join(letter for letter in name if letter.isprintable()).strip()[:LONGEST_NAME] or "somebody"


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _is_same(given: str, ours: str) -> bool:
    return hmac.compare_digest(given.encode(), ours.encode())


def _error_code(text: str) -> str:
    """Return an error code of the provider, if it looks like one: our page shows no text that others choose."""
    return text if re.fullmatch(r"[a-z0-9_-]{1,60}", text) else "it gave no reason"


def _redirect(location: str, headers: Headers) -> Reply:
    return Reply(b"", 303, HTML, ((b"location", location.encode("ascii")), *headers), PAGE)


def _page(title: str, texts: tuple[str, ...], *, up: str, status: int, headers: Headers) -> Reply:
    said = "".join(f"<p>{html.escape(text[:1].upper() + text[1:].rstrip('.'))}.</p>" for text in texts)
    body = _PAGE.format(title=html.escape(title), texts=said, up=up)
    return Reply(body.encode(), status, HTML, headers, PAGE)


OPERATIONS = (
    Operation(
        method="GET", path=SIGN_IN + "/{provider}", handler=go, tag=Tag.SIGN_IN, summary="Begin with a provider",
        query=AnyQuery, media=HTML, status=303, is_open=True, is_hidden=True,
    ),
    Operation(
        method="GET", path=SIGN_IN + "/{provider}/callback", handler=come_back, tag=Tag.SIGN_IN,
        summary="Come back from a provider", query=AnyQuery, media=HTML, status=303, is_open=True, is_hidden=True,
    ),
)  # fmt: skip
