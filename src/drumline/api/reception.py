"""The reception: who is signed in at a browser, by the cookie that it sends, and whether a page of ours sent it.

A browser sends cookies by itself, so whoever has one send a request could act as its owner. Three things keep others
out: the cookie is sent by pages of this site only (`SameSite`), a request that changes something must come from a page
of this origin, and it must carry a token that only such a page can have read.
"""

from typing import Final

from msgspec import Struct
from starlette.types import Scope

from drumline.api.cookies import HOST, LARGEST, Header, drop_cookie, read_cookie, write_cookie
from drumline.api.origins import Origins
from drumline.core.clock import Clock, Instant
from drumline.core.errors import Forbidden
from drumline.core.seal import Seal
from drumline.core.sign_in import SignIn
from drumline.engine.sign_ins import STATE_MS, SignInService

TOKEN: Final = b"x-csrf-token"
UNATTENDED: Final = b"x-unattended"
"""What a page sends along when it asks by itself: that keeps nobody signed in."""
COOKIES: Final = "drumline.cookies"
"""Where a request keeps the cookies that its answer sets."""
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})

_WAY: Final = "way"
_HINT: Final = "hint"


class Way(Struct, frozen=True):
    """Somebody on the way to their provider and back: what their browser keeps meanwhile."""

    provider: str
    state: str
    next: str
    began_at: Instant


class Reception:
    """Reads and writes what browsers keep."""

    def __init__(self, desk: SignInService, origins: Origins, *, clock: Clock) -> None:
        self.origins = origins
        self._desk = desk
        self._clock = clock

    @property
    def seal(self) -> Seal:
        """What all of it is sealed with."""
        return self._desk.seal

    def find(self, scope: Scope) -> SignIn | None:
        """Return the sign-in that a request comes with; raises `Unauthorized` for one that is not good."""
        text = read_cookie(scope["headers"], self._name(scope))
        return None if text is None else self._desk.read(text)

    def check_page(self, scope: Scope, sign_in: SignIn) -> None:
        """Raise `Forbidden` for a change that no page of ours asks for."""
        if scope["method"] in SAFE:
            return
        self.check_origin(scope)
        token = next((value for name, value in scope["headers"] if name == TOKEN), b"")
        if not self._desk.is_token(sign_in, token):
            raise Forbidden("whoever is signed in must send X-CSRF-Token with every change", field="X-CSRF-Token")

    def check_origin(self, scope: Scope) -> None:
        """Raise `Forbidden` for a request that a page of another origin sends."""
        if self.origins.is_foreign(scope):
            raise Forbidden("a page of another site may not do that")

    def renew(self, scope: Scope, sign_in: SignIn) -> None:
        """Let a sign-in last for longer because somebody is there."""
        if any(name == UNATTENDED for name, _ in scope["headers"]):
            return
        renewed = self._desk.renewed(sign_in)
        if renewed is not None:
            scope[COOKIES] = (self.keep(scope, renewed),)

    def keep(self, scope: Scope, sign_in: SignIn) -> Header:
        """Return the header that has a browser keep a sign-in."""
        seconds = (sign_in.ends_at - self._clock.now()) // 1000 if sign_in.is_lasting else None
        return write_cookie(
            self._name(scope), self._desk.write(sign_in), secure=self.origins.is_https(scope), seconds=seconds
        )

    def forget(self, scope: Scope) -> tuple[Header, ...]:
        """Return the headers that have a browser forget whoever was signed in."""
        secure = self.origins.is_https(scope)
        return drop_cookie(self._name(scope), secure=secure), drop_cookie(self._name(scope, _HINT), secure=secure)

    def send_off(self, scope: Scope, way: Way) -> Header:
        """Return the header that has a browser remember where it was sent from."""
        # Lax: the way back begins at another site.
        return write_cookie(
            self._name(scope, _WAY),
            self.seal.seal(_WAY, way),
            secure=self.origins.is_https(scope),
            site="Lax",
            seconds=STATE_MS // 1000,
        )

    def way_back(self, scope: Scope) -> Way | None:
        """Return the way that a browser was sent on, if that is not too long ago."""
        text = read_cookie(scope["headers"], self._name(scope, _WAY))
        way = None if text is None else self.seal.open(_WAY, text, Way)
        return None if way is None or self._clock.now() - way.began_at > STATE_MS else way

    def arrive(self, scope: Scope) -> Header:
        """Return the header that has a browser forget the way that it was sent on."""
        return drop_cookie(self._name(scope, _WAY), secure=self.origins.is_https(scope))

    def keep_hint(self, scope: Scope, token: str) -> tuple[Header, ...]:
        """Return the header that has a browser keep what its provider wants to see when somebody signs out."""
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
