"""Sends files of the package, with the security headers of pages."""

from starlette.types import Scope, Send

from drumline.api.package_files import SAFE, StaticFile
from drumline.api.problems import Headers


async def send_file(found: StaticFile, scope: Scope, send: Send, *, cached: bytes) -> None:
    """Send a file in the form that the request accepts, or say that the browser has it already."""
    given = {name: value for name, value in scope["headers"] if name in {b"accept-encoding", b"if-none-match"}}
    known = [tag.strip().removeprefix(b"W/") for tag in given.get(b"if-none-match", b"").split(b",")]
    headers = ((b"etag", found.tag), (b"cache-control", cached), (b"vary", b"accept-encoding"))
    if found.tag in known:
        await send_static(scope, send, b"", status=304, headers=headers)
        return
    encoding, body = found.fitting(given.get(b"accept-encoding", b"").decode("latin-1"))
    coded = ((b"content-encoding", encoding.encode()),) if encoding else ()
    await send_static(scope, send, body, headers=((b"content-type", found.media), *headers, *coded))


async def send_static(scope: Scope, send: Send, body: bytes, *, status: int = 200, headers: Headers = ()) -> None:
    """Send a reply with the security headers."""
    length = () if status == 304 else ((b"content-length", b"%d" % len(body)),)
    await send({"type": "http.response.start", "status": status, "headers": [*length, *SAFE, *headers]})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
