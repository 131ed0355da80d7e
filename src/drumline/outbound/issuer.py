"""An OpenID Connect client: discovery, keys, and the exchange of a code for tokens.

Its address comes from the settings, so it may be anywhere. What it says of itself is kept for a while, and looked at
again when a token names a key that is not known: issuers change their keys.
"""

import asyncio
import functools
import ssl
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote_plus, urlencode

import httpx
import structlog
from msgspec import Struct

from drumline.core.clock import Clock
from drumline.core.codec import decode
from drumline.core.content_encoding import ACCEPTED
from drumline.core.errors import Invalid, Unauthorized, Unavailable
from drumline.core.provider import Claims, Provider, claim_of
from drumline.outbound.bodies import read_body
from drumline.outbound.id_token import Expected, UnknownKey, check_id_token, check_same_person
from drumline.outbound.no_cookies import no_cookies

WELL_KNOWN: Final = "/.well-known/openid-configuration"
SECONDS: Final = 10.0
"""For one request to an issuer, from first to last."""
LARGEST: Final = 1_000_000
"""Bytes of an answer."""
KEEP_SECONDS: Final = 600.0
"""How long its description and its keys are cached."""
LOOK_AGAIN_SECONDS: Final = 5.0
"""How soon keys may be fetched again because a token names another one."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Description(Struct, frozen=True):
    """What an issuer says of itself."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    end_session_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False


class KeySet(Struct, frozen=True):
    """The keys of an issuer."""

    keys: tuple[dict[str, Any], ...]


class Tokens(Struct, frozen=True):
    """The tokens that a code is exchanged for."""

    id_token: str
    access_token: str | None = None


class IssuerResponse(Struct, frozen=True):
    """The response of an issuer that a browser brings back."""

    code: str
    verifier: str
    nonce: str
    redirect_uri: str


class Vouched(Struct, frozen=True):
    """Whom an issuer vouches for: what it says of them, and the token, to sign out with."""

    claims: Claims
    id_token: str


class Issuer:
    """One issuer."""

    def __init__(self, provider: Provider, *, clock: Clock) -> None:
        self.provider = provider
        self._clock = clock
        self._asking = asyncio.Lock()
        self._described: tuple[float, Description] | None = None
        self._keys: tuple[float, tuple[dict[str, Any], ...]] | None = None

    async def describe(self) -> Description:
        """Return what the issuer says of itself, or raise `Unavailable`."""
        async with self._asking:
            now = self._clock.monotonic()
            if self._described is None or now - self._described[0] >= KEEP_SECONDS:
                address = self.provider.issuer.rstrip("/") + WELL_KNOWN
                found = self._read(await self._ask("GET", address), Description)
                self._described = now, self._checked(found)
            return self._described[1]

    async def vouch(self, answer: IssuerResponse) -> Vouched:
        """Exchange a code for the user's claims; raises `Unauthorized` if they are not valid."""
        described = await self.describe()
        tokens = await self._exchange(described, answer)
        expected = Expected(self.provider, answer.nonce, self._clock.now())
        try:
            claims = check_id_token(tokens.id_token, await self._key_set(described), expected)
        except UnknownKey:
            try:
                claims = check_id_token(tokens.id_token, await self._key_set(described, anew=True), expected)
            except UnknownKey:
                raise Unauthorized("the ID token is signed by a key that its issuer does not have") from None
        return Vouched(await self._completed(described, claims, tokens), tokens.id_token)

    async def _exchange(self, described: Description, answer: IssuerResponse) -> Tokens:
        form = {
            "grant_type": "authorization_code",
            "code": answer.code,
            "redirect_uri": answer.redirect_uri,
            "code_verifier": answer.verifier,
        }
        secret, ours, headers = self.provider.client_secret, self.provider.client_id, {}
        if secret is None:
            form["client_id"] = ours
        elif "client_secret_basic" in described.token_endpoint_auth_methods_supported:
            credentials = f"{quote_plus(ours)}:{quote_plus(secret)}".encode()
            headers["authorization"] = f"Basic {b64encode(credentials).decode()}"
        else:
            form |= {"client_id": ours, "client_secret": secret}
        reply = await self._ask("POST", described.token_endpoint, body=urlencode(form).encode(), headers=headers)
        tokens: Tokens = self._read(reply, Tokens)
        return tokens

    async def _key_set(self, described: Description, *, anew: bool = False) -> tuple[dict[str, Any], ...]:
        async with self._asking:
            now = self._clock.monotonic()
            age = LOOK_AGAIN_SECONDS if anew else KEEP_SECONDS
            if self._keys is None or now - self._keys[0] >= age:
                found = self._read(await self._ask("GET", described.jwks_uri), KeySet)
                self._keys = now, found.keys
            return self._keys[1]

    async def _completed(self, described: Description, claims: Claims, tokens: Tokens) -> Claims:
        """Return the token's claims, with those that the issuer tells only when asked if a rule needs them."""
        needed = {rule.claim for rule in self.provider.rules} | {self.provider.tenant_claim or "sub"}
        is_whole = all(claim_of(claims, name) is not None for name in needed)
        if is_whole or described.userinfo_endpoint is None or tokens.access_token is None:
            return claims
        headers = {"authorization": f"Bearer {tokens.access_token}"}
        told = self._read(await self._ask("GET", described.userinfo_endpoint, headers=headers), dict[str, Any])
        return {**check_same_person(told, claims), **claims}

    def _checked(self, found: Description) -> Description:
        if found.issuer != self.provider.issuer:
            raise self._away(f"calls itself {found.issuer}, not {self.provider.issuer}: set that as its issuer")
        doors = (found.authorization_endpoint, found.token_endpoint, found.jwks_uri, found.userinfo_endpoint)
        scheme = "https://" if self.provider.issuer.startswith("https://") else ("http://", "https://")
        if not all(door is None or door.startswith(scheme) for door in (*doors, found.end_session_endpoint)):
            raise self._away("has a door that is not https")
        return found

    def _read(self, reply: httpx.Response, type: Any) -> Any:
        try:
            return decode(reply.content, type)
        except Invalid as error:
            raise self._away(f"answers what is not understood: {error}") from error

    async def _ask(
        self, method: str, url: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """Return a good answer; raises `Unauthorized` for a refusal, `Unavailable` for everything else."""
        certificates = await asyncio.to_thread(_certificates)
        sent = {"accept": "application/json", "accept-encoding": ACCEPTED, **(headers or {})}
        if body is not None:
            sent["content-type"] = "application/x-www-form-urlencoded"
        try:
            async with (
                asyncio.timeout(SECONDS),
                httpx.AsyncClient(verify=certificates, cookies=no_cookies(), timeout=SECONDS) as client,
                client.stream(method, url, content=body, headers=sent) as reply,
            ):
                said = await read_body(reply, most=LARGEST, most_raw=LARGEST)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError) as error:
            raise self._away(f"cannot be reached: {str(error) or type(error).__name__}") from error
        except Invalid as error:
            raise self._away(f"answers what is not understood: {error}") from error
        if said.is_cut:
            raise self._away("answers far too much")
        content = said.data
        if reply.status_code in {400, 401, 403}:
            log.warning("issuer.refused", provider=self.provider.name, status=reply.status_code, said=content[:500])
            raise Unauthorized(f"{self.provider.title} refused: {_reason(content)}")
        if reply.status_code != httpx.codes.OK:
            raise self._away(f"answers {reply.status_code}")
        return httpx.Response(reply.status_code, content=content)

    def _away(self, what: str) -> Unavailable:
        log.warning("issuer.away", provider=self.provider.name, issuer=self.provider.issuer, error=what)
        return Unavailable(f"{self.provider.title} {what}")


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Return those who vouch for servers; reading them from the disk takes a while."""
    return httpx.create_ssl_context()


class _Refusal(Struct, frozen=True):
    error: str = "it gave no reason"


def _reason(content: bytes) -> str:
    """Return an error's code; the rest of the issuer's message goes to the log."""
    try:
        return decode(content, _Refusal).error[:60]
    except Invalid:
        return _Refusal().error
