"""The web interface: files that the build put into the package, under /ui/ of whatever path the server is reached at.

The pages of the interface are all one file; its script reads the address. A `<base>` that counts the steps back to /ui/
makes its relative links right at any depth and behind any prefix, without knowing the prefix.
"""

import re
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

    def __init__(self, api: ASGIApp) -> None:
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path: str = scope.get("path", "")
        is_ours = scope["type"] == "http" and (path in {"/", ROOT} or path.startswith(f"{ROOT}/"))
        if not is_ours or scope["method"] not in {"GET", "HEAD"}:
            await self._api(scope, receive, send)
        elif path in {"/", ROOT}:
            await send_static(scope, send, b"", status=307, headers=((b"location", b"ui/"),))
        else:
            await _serve(path.removeprefix(f"{ROOT}/"), scope, send)


async def _serve(path: str, scope: Scope, send: Send) -> None:
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
        body = HOW_TO_BUILD if page is None else _based(page.plain, path)
        headers = ((b"content-type", MEDIA["html"]), (b"cache-control", b"no-cache"))
        await send_static(scope, send, body, headers=headers)


def _based(page: bytes, path: str) -> bytes:
    """Return the page with the way back to /ui/ from where it is asked for."""
    back = "../" * path.count("/") or "./"
    return page.replace(b"<head>", f'<head>\n    <base href="{back}" />'.encode(), 1)
