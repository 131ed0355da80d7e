"""Browser sessions: who is signed in, by the cookie that a browser sends, and whether one of our pages sent it.

A browser sends cookies by itself, so another site could have it send a request as its owner. Three things prevent
that: the cookie is sent by pages of this site only (`SameSite`), a request that changes something must come from a page
of this origin, and it must carry a token that only such a page can have read.
"""

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct
from starlette.types import Scope

from drumline.api.origins import Origins
from drumline.core.clock import Clock, Instant
from drumline.core.errors import Forbidden
from drumline.core.seal import Seal
from drumline.core.sign_in import SignIn
from drumline.engine.sign_ins import STATE_MS, SignInService

HOST: Final = "__Host-"
"""How a cookie's name begins that a browser takes only from this very host, over a protected connection."""
LARGEST: Final = 4000
"""Bytes of a cookie that every browser keeps."""

Header = tuple[bytes, bytes]

TOKEN: Final = b"x-csrf-token"
UNATTENDED: Final = b"x-unattended"
"""The header of requests that a page makes by itself: they do not extend the sign-in."""
COOKIES: Final = "drumline.cookies"
"""Where a request keeps the cookies that its answer sets."""
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})

_WAY: Final = "way"
_HINT: Final = "hint"


class PendingSignIn(Struct, frozen=True):
    """A sign-in that a provider has not answered yet, as the browser keeps it meanwhile."""

    provider: str
    state: str
    next: str
    began_at: Instant


class BrowserSessions:
    """Reads and writes the cookies of sign-ins."""

    def __init__(self, sign_ins: SignInService, origins: Origins, *, clock: Clock) -> None:
        self.origins = origins
        self._sign_ins = sign_ins
        self._clock = clock

    @property
    def seal(self) -> Seal:
        """What all of it is sealed with."""
        return self._sign_ins.seal

    def find(self, scope: Scope) -> SignIn | None:
        """Return the sign-in that a request comes with; raises `Unauthorized` for one that is not good."""
        text = read_cookie(scope["headers"], self._name(scope))
        return None if text is None else self._sign_ins.read(text)

    def check_page(self, scope: Scope, sign_in: SignIn) -> None:
        """Raise `Forbidden` for a change that no page of ours asks for."""
        if scope["method"] in SAFE:
            return
        self.check_origin(scope)
        token = next((value for name, value in scope["headers"] if name == TOKEN), b"")
        if not self._sign_ins.is_token(sign_in, token):
            raise Forbidden(
                "a browser that is signed in must send X-CSRF-Token with every change", field="X-CSRF-Token"
            )

    def check_origin(self, scope: Scope) -> None:
        """Raise `Forbidden` for a request that a page of another origin sends."""
        if self.origins.is_foreign(scope):
            raise Forbidden("a page of another site may not do that")

    def renew(self, scope: Scope, sign_in: SignIn) -> None:
        """Extend a sign-in, since a person uses it."""
        if any(name == UNATTENDED for name, _ in scope["headers"]):
            return
        renewed = self._sign_ins.renewed(sign_in)
        if renewed is not None:
            scope[COOKIES] = (self.keep(scope, renewed),)

    def keep(self, scope: Scope, sign_in: SignIn) -> Header:
        """Return the header that has a browser keep a sign-in."""
        seconds = (sign_in.ends_at - self._clock.now()) // 1000 if sign_in.is_lasting else None
        return write_cookie(
            self._name(scope), self._sign_ins.write(sign_in), secure=self.origins.is_https(scope), seconds=seconds
        )

    def forget(self, scope: Scope) -> tuple[Header, ...]:
        """Return the headers that delete a browser's sign-in."""
        secure = self.origins.is_https(scope)
        return drop_cookie(self._name(scope), secure=secure), drop_cookie(self._name(scope, _HINT), secure=secure)

    def keep_pending(self, scope: Scope, way: PendingSignIn) -> Header:
        """Return the header that keeps a pending sign-in in the browser."""
        # Lax: the way back begins at another site.
        return write_cookie(
            self._name(scope, _WAY),
            self.seal.seal(_WAY, way),
            secure=self.origins.is_https(scope),
            site="Lax",
            seconds=STATE_MS // 1000,
        )

    def read_pending(self, scope: Scope) -> PendingSignIn | None:
        """Return the pending sign-in of a browser, if it has not expired."""
        text = read_cookie(scope["headers"], self._name(scope, _WAY))
        way = None if text is None else self.seal.open(_WAY, text, PendingSignIn)
        return None if way is None or self._clock.now() - way.began_at > STATE_MS else way

    def drop_pending(self, scope: Scope) -> Header:
        """Return the header that deletes a pending sign-in."""
        return drop_cookie(self._name(scope, _WAY), secure=self.origins.is_https(scope))

    def keep_hint(self, scope: Scope, token: str) -> tuple[Header, ...]:
        """Return the header that keeps the token which the provider asks for when signing out."""
        if len(token) > LARGEST - 200:
            return ()
        name = self._name(scope, _HINT)
        return (write_cookie(name, token, secure=self.origins.is_https(scope)),)

    def hint(self, scope: Scope) -> str | None:
        """Return what was kept to sign out with."""
        return read_cookie(scope["headers"], self._name(scope, _HINT))

    def _name(self, scope: Scope, what: str = "") -> str:
        """Return a cookie's name: of one that no plain connection can have set, where there is a protected one.

        Browsers do not tell ports apart, so installations are told apart by what they seal with.
        """
        name = f"drumline_{self.seal.derive('cookie')[:8]}{what and '_' + what}"
        return f"{HOST}{name}" if self.origins.is_https(scope) else name


def read_cookie(headers: Iterable[Header], name: str) -> str | None:
    """Return a cookie; None if there are several with its name, since one of them was planted."""
    wanted = f"{name}="
    found = [
        part.strip().removeprefix(wanted)
        for key, value in headers
        if key == b"cookie"
        for part in value.decode("latin-1").split(";")
        if part.strip().startswith(wanted)
    ]
    return found[0] if len(found) == 1 else None


def write_cookie(
    name: str,
    value: str,
    *,
    secure: bool,
    site: Literal["Strict", "Lax"] = "Strict",
    seconds: int | None = None,
) -> Header:
    """Return the header that has a browser keep a cookie: for so many seconds, or until its window is closed."""
    parts = [f"{name}={value}", "Path=/", "HttpOnly", f"SameSite={site}"]
    if secure:
        parts.append("Secure")
    if seconds is not None:
        parts.append(f"Max-Age={seconds}")
    return b"set-cookie", "; ".join(parts).encode("latin-1")


def drop_cookie(name: str, *, secure: bool) -> Header:
    """Return the header that has a browser forget a cookie."""
    return write_cookie(name, "", secure=secure, seconds=0)
