"""Where people think they are: the address in their browser, which proxies in between may have changed.

What a proxy says of it (`X-Forwarded-Proto`, `-Host`, `-Prefix`) is believed if the proxy is trusted. The setting
`public_url` needs no headers.
"""

import re
from typing import Final
from urllib.parse import urlsplit

from starlette.types import Scope

from drumline.api.addresses import Addresses
from drumline.core.links import server_url

_HOST: Final = re.compile(r"[A-Za-z0-9._-]+(?::\d{1,5})?|\[[0-9A-Fa-f:.]+\](?::\d{1,5})?")
_PREFIX: Final = re.compile(r"(?:/[A-Za-z0-9._~-]+)+")


class Origins:
    """Tells where a request's browser is, and whether the page that sent it is ours."""

    def __init__(self, addresses: Addresses, public_url: str | None) -> None:
        self._addresses = addresses
        self._public = None if public_url is None else server_url(public_url)

    def base(self, scope: Scope) -> str:
        """Return the URL before `/ui/` and `/api/…` as the browser sees it."""
        if self._public is not None:
            return self._public
        prefix = self._passed(scope, b"x-forwarded-prefix").rstrip("/")
        prefix = prefix if _PREFIX.fullmatch(prefix) and "/.." not in prefix else ""
        return f"{'https' if self.is_https(scope) else 'http'}://{self._host(scope)}{prefix}"

    def is_https(self, scope: Scope) -> bool:
        """Tell whether the browser has a protected connection."""
        passed = self._passed(scope, b"x-forwarded-proto").lower()
        if passed in {"http", "https"}:
            return passed == "https"
        if scope.get("scheme") == "https":
            return True
        public = urlsplit(self._public or "")
        return public.scheme == "https" and public.netloc.lower() == self._host(scope)

    def is_foreign(self, scope: Scope) -> bool:
        """Tell whether a page of another origin had the browser send this; what is no browser says nothing."""
        site = _header(scope, b"sec-fetch-site")
        if site:
            return site not in {"same-origin", "none"}
        origin = _header(scope, b"origin").lower()
        if not origin:
            return False
        ours = {self._host(scope), urlsplit(self._public or "").netloc.lower()} - {""}
        return urlsplit(origin).netloc not in ours

    def _host(self, scope: Scope) -> str:
        host = (self._passed(scope, b"x-forwarded-host") or _header(scope, b"host")).lower()
        return host if _HOST.fullmatch(host) else "localhost"

    def _passed(self, scope: Scope, name: bytes) -> str:
        """Return the header of the nearest proxy, if that is trusted."""
        if not self._addresses.is_passed_on(scope):
            return ""
        return _header(scope, name).rpartition(",")[2].strip()


def _header(scope: Scope, name: bytes) -> str:
    found = [value for given, value in scope["headers"] if given == name]
    return found[-1].decode("latin-1").strip() if found else ""
