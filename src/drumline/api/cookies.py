"""Cookies: read from a request, and written so that no script, no other site and no plain connection gets at them."""

from collections.abc import Iterable
from typing import Final, Literal

HOST: Final = "__Host-"
"""How a cookie's name begins that a browser takes only from this very host, over a protected connection."""
LARGEST: Final = 4000
"""Bytes of a cookie that every browser keeps."""

Header = tuple[bytes, bytes]


def read_cookie(headers: Iterable[Header], name: str) -> str | None:
    """Return a cookie; of several with its name, nothing: somebody put one there."""
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
