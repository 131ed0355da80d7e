"""A small OpenID Connect issuer with real keys, on loopback: it does what it should, or what a test tells it to."""

import asyncio
import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any, Self
from urllib.parse import parse_qs, urlencode

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from drumline.api.server import Server

CLIENT = "drumline"
SECRET = "a client's secret: with & signs"

Claims = dict[str, Any]


class Key:
    """A key pair of the issuer."""

    def __init__(self, algorithm: str = "RS256") -> None:
        self.id = secrets.token_hex(4)
        self.algorithm = algorithm
        self.private: Any = (
            rsa.generate_private_key(65537, 2048) if algorithm == "RS256" else ec.generate_private_key(ec.SECP256R1())
        )

    @property
    def public(self) -> dict[str, Any]:
        kind = jwt.algorithms.RSAAlgorithm if self.algorithm == "RS256" else jwt.algorithms.ECAlgorithm
        told: dict[str, Any] = json.loads(kind.to_jwk(self.private.public_key()))
        return {**told, "kid": self.id, "use": "sig", "alg": self.algorithm}

    @property
    def pem(self) -> bytes:
        pem: bytes = self.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return pem

    def sign(self, claims: Claims) -> str:
        return jwt.encode(claims, self.private, algorithm=self.algorithm, headers={"kid": self.id})


class Issuer:
    """The issuer. `person` has the claims of the next sign-in."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.person: Claims = {"sub": "ada-1", "name": "Ada", "groups": ["ops"]}
        self.told_when_asked: Claims | None = None
        """What the userinfo endpoint says; without it there is none."""
        self.first_key = Key()
        self.keys = [self.first_key]
        self.change: Callable[[Claims], Claims] = lambda claims: claims
        """What becomes of the claims before they are signed."""
        self.sign: Callable[[Claims], str] = self.sign_newest
        self.described: Claims = {}
        """What it says of itself besides, or instead."""
        self.adds: Claims = {"session_state": "more than we asked for"}
        """What it sends back with a code."""
        self.asks = False
        """Whether people have to press a button."""
        self.exchanges = 0
        self._codes: dict[str, dict[str, str]] = {}
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._server = Server(self._app(), port=0)
        self.url = f"http://{host}:{self._server.port}"
        self._thread = threading.Thread(
            target=self._loop.run_until_complete, args=[self._server.run(self._stop)], name="issuer"
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()

    def provider(self, **more: Any) -> dict[str, Any]:
        """Return what a settings file says of it."""
        return {
            "name": "test",
            "label": "Test login",
            "issuer": self.url,
            "client_id": CLIENT,
            "client_secret": SECRET,
            "rules": [{"value": "ops", "role": "operator"}, {"value": "admins", "role": "admin", "tenant": "*"}],
            **more,
        }

    def sign_newest(self, claims: Claims) -> str:
        """Sign as an issuer should: with the newest key."""
        return self.keys[-1].sign(claims)

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._describe),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/keys", self._key_set),
                Route("/userinfo", self._userinfo),
                Route("/end", self._end),
            ]
        )

    async def _describe(self, _request: Request) -> Response:
        doors = {
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "end_session_endpoint": f"{self.url}/end",
        }
        if self.told_when_asked is not None:
            doors["userinfo_endpoint"] = f"{self.url}/userinfo"
        return JSONResponse({"issuer": self.url, **doors, **self.described})

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        assert (asked["response_type"], asked["client_id"], asked["code_challenge_method"]) == ("code", CLIENT, "S256")
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        back = f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state'], **self.adds})}"
        if self.asks:
            link = back.replace("&", "&amp;")
            return HTMLResponse(
                f'<!doctype html><title>Issuer</title><link rel="icon" href="data:,"><a href="{link}">I am Ada</a>'
            )
        return RedirectResponse(back, 302)

    async def _token(self, request: Request) -> Response:
        self.exchanges += 1
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        asked = self._codes.pop(form["code"], None)
        digest = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        expected = base64.b64encode(f"{CLIENT}:a+client%27s+secret%3A+with+%26+signs".encode()).decode()
        is_fine = (
            asked is not None
            and digest.decode() == asked["code_challenge"]
            and form["redirect_uri"] == asked["redirect_uri"]
            and request.headers.get("authorization") == f"Basic {expected}"
        )
        if not is_fine or asked is None:
            return JSONResponse({"error": "invalid_grant", "error_description": "<b>used up</b>"}, 400)
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"], **self.person}
        token = self.sign(self.change(claims))
        return JSONResponse({"id_token": token, "access_token": "opaque", "token_type": "Bearer", "expires_in": 300})

    async def _key_set(self, _request: Request) -> Response:
        return JSONResponse({"keys": [key.public for key in self.keys]})

    async def _userinfo(self, request: Request) -> Response:
        assert request.headers["authorization"] == "Bearer opaque"
        return JSONResponse(self.told_when_asked)

    async def _end(self, request: Request) -> Response:
        return RedirectResponse(request.query_params["post_logout_redirect_uri"], 302)
