"""The web interface: files that the build put into the package, under /ui/ of whatever path the server is reached at.

The pages of the interface are all one file; its script reads the address. A `<base>` that counts the steps back to /ui/
makes its relative links right at any depth and behind any prefix, without knowing the prefix.
"""

import functools
import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from msgspec import Struct
from starlette.types import ASGIApp, Receive, Scope, Send

from drumline.api.problems import Headers

ROOT: Final = "/ui"
POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    b"font-src 'self'; worker-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
"""The content policy of the interface: nothing from anywhere else, and no script or style inside a page."""
MEDIA: Final = {
    "html": b"text/html; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "svg": b"image/svg+xml",
    "woff2": b"font/woff2",
    "txt": b"text/plain; charset=utf-8",
}
ENCODINGS: Final = (("br", ".br"), ("gzip", ".gz"))
"""What a file may be sent as, the smallest first, with the ending of the twin that the build made."""
HOW_TO_BUILD: Final = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Drumline</title></head><body>
<h1>Drumline is running</h1><p>The web interface has not been built. With Node.js and npm on this machine,
<code>make ui</code> in the source tree builds it; a wheel carries it already.</p>
<p><a href="../docs">The API</a> and the command line do everything that it does.</p></body></html>"""

_ASSET: Final = re.compile(r"assets/[\w.-]+|[\w-]+\.(?:svg|js|txt)")


class File(Struct, frozen=True):
    """A file of the interface, ready to be sent."""

    media: bytes
    plain: bytes
    twins: tuple[tuple[str, bytes], ...] = ()


class WithUi:
    """Serves the interface under /ui/, and leaves every other path to the API."""

    def __init__(self, api: ASGIApp) -> None:
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path: str = scope.get("path", "")
        is_ours = scope["type"] == "http" and (path in {"/", ROOT} or path.startswith(f"{ROOT}/"))
        if not is_ours or scope["method"] not in {"GET", "HEAD"}:
            await self._api(scope, receive, send)
        elif path in {"/", ROOT}:
            await _send(scope, send, b"", status=307, headers=((b"location", b"ui/"),))
        else:
            await _serve(path.removeprefix(f"{ROOT}/"), scope, send)


async def _serve(path: str, scope: Scope, send: Send) -> None:
    found = _file(path) if _ASSET.fullmatch(path) else None
    if found is not None:
        is_hashed = path.startswith("assets/")
        cached = b"public, max-age=31536000, immutable" if is_hashed else b"no-cache"
        encoding, body = _fitting(found, scope)
        coded = ((b"content-encoding", encoding.encode()),) if encoding else ()
        headers = ((b"content-type", found.media), (b"cache-control", cached), (b"vary", b"accept-encoding"), *coded)
        await _send(scope, send, body, headers=headers)
    elif path.startswith("assets/"):
        # A page of an older version asks for its parts: say no, so that it can offer to load itself anew.
        await _send(scope, send, b"", status=404, headers=((b"cache-control", b"no-store"),))
    else:
        page = _file("index.html")
        body = HOW_TO_BUILD if page is None else _based(page.plain, path)
        await _send(scope, send, body, headers=((b"content-type", MEDIA["html"]), (b"cache-control", b"no-cache")))


def _based(page: bytes, path: str) -> bytes:
    """Return the page with the way back to /ui/ from where it is asked for."""
    back = "../" * path.count("/") or "./"
    return page.replace(b"<head>", f'<head>\n    <base href="{back}" />'.encode(), 1)


def _fitting(found: File, scope: Scope) -> tuple[str | None, bytes]:
    """Return the smallest form that the browser takes."""
    taken = next((value for name, value in scope["headers"] if name == b"accept-encoding"), b"").decode("latin-1")
    words = {word.partition(";")[0].strip() for word in taken.split(",")}
    return next(((name, body) for name, body in found.twins if name in words), (None, found.plain))


@functools.lru_cache(maxsize=256)
def _file(path: str) -> File | None:
    """Return a file of the build; the pattern that let its name through has no way out of the folder."""
    place: Traversable = files("drumline") / "_ui"
    for part in path.split("/"):
        place /= part
    if not place.is_file():
        return None
    twins = []
    for name, ending in ENCODINGS:
        twin = files("drumline").joinpath("_ui", *path.split("/")[:-1], place.name + ending)
        if twin.is_file():
            twins.append((name, twin.read_bytes()))
    return File(MEDIA.get(path.rpartition(".")[2], b"application/octet-stream"), place.read_bytes(), tuple(twins))


async def _send(scope: Scope, send: Send, body: bytes, *, status: int = 200, headers: Headers = ()) -> None:
    fixed = (
        (b"content-length", b"%d" % len(body)),
        (b"content-security-policy", POLICY),
        (b"x-content-type-options", b"nosniff"),
        (b"x-frame-options", b"DENY"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    )
    await send({"type": "http.response.start", "status": status, "headers": [*fixed, *headers]})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
