"""The files of the package that are served: found in memory, and sent with the security headers of pages."""

import functools
import gzip
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from msgspec import Struct
from starlette.types import Scope, Send

from drumline.api.problems import Headers

POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    b"font-src 'self'; worker-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
"""The content policy of both: nothing from another origin, and no script or style inside a page."""
SAFE: Final = (
    (b"content-security-policy", POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
"""The security headers of every reply."""
MEDIA: Final = {
    "html": b"text/html; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "json": b"application/json",
    "md": b"text/markdown; charset=utf-8",
    "png": b"image/png",
    "svg": b"image/svg+xml",
    "txt": b"text/plain; charset=utf-8",
    "woff2": b"font/woff2",
    "yaml": b"text/plain; charset=utf-8",
    "py": b"text/plain; charset=utf-8",
    "cfg": b"text/plain; charset=utf-8",
}
ENCODINGS: Final = (("br", ".br"), ("gzip", ".gz"))
"""How a file may be sent, the smallest first, with the suffix of the compressed copy that the build made."""


class StaticFile(Struct, frozen=True):
    """A file, ready to be sent."""

    media: bytes
    plain: bytes
    tag: bytes
    """The entity tag: a browser that has this content already is answered without it."""
    encoded: tuple[tuple[str, bytes], ...] = ()

    def fitting(self, accepted: str) -> tuple[str | None, bytes]:
        """Return the smallest form that a request accepts, with the name of its encoding."""
        words = {word.partition(";")[0].strip() for word in accepted.split(",")}
        return next(((name, body) for name, body in self.encoded if name in words), (None, self.plain))


class StaticFolder:
    """A folder of the package. A file may be there plain, compressed, or both."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._read: dict[str, StaticFile] = {}

    @functools.cached_property
    def names(self) -> dict[str, Traversable]:
        """Every file there is, by its path below the folder; empty if the build has not run."""
        root = files("drumline") / self._folder
        return dict(_walk(root, "")) if root.is_dir() else {}

    def __contains__(self, path: str) -> bool:
        is_copy = path.endswith(tuple(suffix for _, suffix in ENCODINGS))
        return not is_copy and (path in self.names or f"{path}.gz" in self.names)

    def find(self, path: str) -> StaticFile | None:
        """Return a file, or nothing if there is no such file."""
        if path not in self._read and path in self:
            self._read[path] = self._load(path)
        return self._read.get(path)

    def page_name(self, path: str) -> str | None:
        """Return the name of the file that an address means: the file itself, or the page of a folder."""
        folder = path if path.endswith("/") or not path else f"{path}/"
        return next((name for name in (path, f"{folder}index.html") if name in self), None)

    def _load(self, path: str) -> StaticFile:
        encoded = tuple(
            (name, self.names[path + suffix].read_bytes()) for name, suffix in ENCODINGS if path + suffix in self.names
        )
        place = self.names.get(path)
        plain = gzip.decompress(dict(encoded)["gzip"]) if place is None else place.read_bytes()
        media = MEDIA.get(path.rpartition(".")[2], b"application/octet-stream")
        return StaticFile(media, plain, b'"%b"' % sha256(plain).hexdigest()[:32].encode(), encoded)


def _walk(folder: Traversable, above: str) -> list[tuple[str, Traversable]]:
    found = []
    for place in folder.iterdir():
        name = f"{above}{place.name}"
        found += _walk(place, f"{name}/") if place.is_dir() else [(name, place)]
    return found


SITE: Final = StaticFolder("_docs")
"""The documentation."""


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
