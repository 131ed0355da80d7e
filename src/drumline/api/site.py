"""The documentation site: files that the build put into the package, under /docs/.

It needs no key: it says nothing about this installation. Two paths below it belong to the API, which describes itself:
`/docs/api` and its style sheet.
"""

import html
from collections.abc import Awaitable
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from drumline.api.package_files import MEDIA, SITE, send_file, send_static

ROOT: Final = "/docs/"
OF_THE_API: Final = frozenset({"/docs/api", "/docs/style.css"})
INDEX: Final = "llms.txt"
"""What language models read; they look for it at the root of a host."""
_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Drumline</title></head><body>{body}</body></html>"""
HOW_TO_BUILD: Final = (
    "<p>The documentation has not been built: <code>make docs</code> in the source tree builds it; a wheel carries it "
    'already. <a href="api">The API describes itself.</a></p>'
)


class WithSite:
    """Serves the site under /docs/, and leaves every other path to the API."""

    def __init__(self, api: ASGIApp) -> None:
        self._api = api

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serve one request."""
        path: str = scope.get("path", "")
        if scope["type"] != "http" or scope["method"] not in {"GET", "HEAD"} or path in OF_THE_API:
            return self._api(scope, receive, send)
        if path.startswith(ROOT):
            return _serve(path.removeprefix(ROOT), scope, send)
        if path == f"/{INDEX}" and INDEX in SITE:
            return _lead(scope, send, f"docs/{INDEX}")
        return self._api(scope, receive, send)


async def _serve(path: str, scope: Scope, send: Send) -> None:
    name = SITE.page_name(path)
    if name is None:
        await (_tell_how if not path and not SITE.names else _miss)(scope, send)
    elif name == f"{path}/index.html":
        # Its links are relative to its folder, so the address has to end with a slash.
        await _lead(scope, send, f"{path.rpartition('/')[2]}/")
    else:
        found = SITE.find(name)
        assert found is not None  # noqa: S101 - the name is from the list of files
        await send_file(found, scope, send, cached=b"no-cache")


async def _lead(scope: Scope, send: Send, where: str) -> None:
    await send_static(scope, send, b"", status=307, headers=((b"location", where.encode()),))


async def _tell_how(scope: Scope, send: Send) -> None:
    await _send_page(scope, send, HOW_TO_BUILD, 200)


async def _miss(scope: Scope, send: Send) -> None:
    back = "../" * (scope["path"].count("/") - ROOT.count("/")) or "./"
    body = f'<h1>There is no such page</h1><p><a href="{html.escape(back)}">The documentation</a> has a search.</p>'
    await _send_page(scope, send, body, 404)


async def _send_page(scope: Scope, send: Send, body: str, status: int) -> None:
    headers = ((b"content-type", MEDIA["html"]), (b"cache-control", b"no-cache"))
    await send_static(scope, send, _PAGE.format(body=body).encode(), status=status, headers=headers)
