"""The web interface: files that the build put into the package, under /ui/ of whatever path the server is reached at.

The pages of the interface are all one file; its script reads the address. A `<base>` that counts the steps back to /ui/
makes its relative links right at any depth and behind any prefix, without knowing the prefix.
"""

import re
from html import escape
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from drumline.api.package_files import MEDIA, StaticFolder, send_file, send_static

ROOT: Final = "/ui"
HOW_TO_BUILD: Final = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Drumline</title></head><body>
<h1>Drumline is running</h1><p>The web interface has not been built: <code>make ui</code> in the
source tree builds it; a wheel carries it already.</p>
<p><a href="../docs">The API</a> and the command line do everything that it does.</p></body></html>"""

_ASSET: Final = re.compile(r"assets/[\w.-]+|[\w-]+\.(?:svg|js|txt)")
_FILES: Final = StaticFolder("_ui")


class WithUi:
    """Serves the interface under /ui/, and leaves every other path to the API."""

    def __init__(self, api: ASGIApp, *, environment: str = "", colour: str = "grey") -> None:
        self._api = api
        self._head = _environment_tag(environment, colour) if environment else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path: str = scope.get("path", "")
        is_ours = scope["type"] == "http" and (path in {"/", ROOT} or path.startswith(f"{ROOT}/"))
        if not is_ours or scope["method"] not in {"GET", "HEAD"}:
            await self._api(scope, receive, send)
        elif path in {"/", ROOT}:
            await send_static(scope, send, b"", status=307, headers=((b"location", b"ui/"),))
        else:
            await _serve(path.removeprefix(f"{ROOT}/"), scope, send, head=self._head)


async def _serve(path: str, scope: Scope, send: Send, *, head: str) -> None:
    found = _FILES.find(path) if _ASSET.fullmatch(path) else None
    if found is not None:
        is_hashed = path.startswith("assets/")
        cached = b"public, max-age=31536000, immutable" if is_hashed else b"no-cache"
        await send_file(found, scope, send, cached=cached)
    elif path.startswith("assets/"):
        # A page of an older version asks for its parts: say no, so that it can offer to load itself anew.
        await send_static(scope, send, b"", status=404, headers=((b"cache-control", b"no-store"),))
    else:
        page = _FILES.find("index.html")
        body = HOW_TO_BUILD if page is None else _completed(page.plain, path, head)
        headers = ((b"content-type", MEDIA["html"]), (b"cache-control", b"no-cache"))
        await send_static(scope, send, body, headers=headers)


def _completed(page: bytes, path: str, head: str) -> bytes:
    """Return the page with the way back to /ui/ from where it is asked for, and what else its head has to say."""
    back = "../" * path.count("/") or "./"
    return page.replace(b"<head>", f'<head>\n    <base href="{back}" />{head}'.encode(), 1)


def _environment_tag(name: str, colour: str) -> str:
    """Return what tells the interface which environment it shows, before anything is asked for."""
    return f'\n    <meta name="drumline-environment" content="{escape(name)}" data-colour="{escape(colour)}" />'
