"""Bodies of answers from other servers: decompressed one layer deep, up to a limit, and read as text in few charsets.

A body of some kilobytes may become gigabytes, and more with each layer; some of Python's charsets take time that grows
with the square of the text.
"""

import zlib
from typing import Final

from drumline.core.errors import Invalid

ACCEPTED: Final = "gzip, deflate"
"""What requests say that they can read."""
_GZIP: Final = 31
_ZLIB: Final = 15
_RAW: Final = -15
"""Window bits, which select zlib's format."""
_CHARSETS: Final = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "iso-8859-1": "latin-1",
    "iso8859-1": "latin-1",
    "latin-1": "latin-1",
    "latin1": "latin-1",
    "us-ascii": "ascii",
    "ascii": "ascii",
}


class BodyDecoder:
    """Decodes a body as it comes, up to `most` bytes."""

    def __init__(self, encoding: str | None, *, most: int) -> None:
        name = (encoding or "").strip().lower()
        if name not in {"", "identity", "gzip", "x-gzip", "deflate"}:
            raise Invalid(f"is {name[:100]!r}; {ACCEPTED} and identity are read", field="Content-Encoding")
        self._bits = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": _ZLIB}.get(name)
        self._zlib = None if self._bits is None else zlib.decompressobj(self._bits)
        self._most = most
        self._body = bytearray()
        self.is_cut = False
        """Whether there was more than is kept."""

    @property
    def body(self) -> bytes:
        """The decoded bytes, up to the limit."""
        return bytes(self._body)

    def feed(self, data: bytes) -> None:
        """Decode a piece, or raise `Invalid` if it is not in the format that it is said to be."""
        room = self._most - len(self._body)
        decoded = data[: room + 1] if self._zlib is None else self._decompressed(data, room + 1)
        self._body += decoded[:room]
        self.is_cut = self.is_cut or len(decoded) > room

    def _decompressed(self, data: bytes, most: int) -> bytes:
        if self._zlib is None or self._zlib.eof:
            return b""
        try:
            return self._zlib.decompress(data, most)
        except zlib.error as error:
            if self._bits != _ZLIB or self._body:
                raise Invalid(f"cannot be decompressed: {error}", field="body") from error
        # Some servers call it deflate and leave out the header of zlib.
        self._bits, self._zlib = _RAW, zlib.decompressobj(_RAW)
        return self._decompressed(data, most)


def text_of(body: bytes, content_type: str) -> str:
    """Return a body as text, in the charset that its type names if that is one of three, else in UTF-8."""
    _, _, rest = content_type[:1000].lower().partition("charset=")
    name = rest.partition(";")[0].strip().strip("\"'")
    return body.decode(_CHARSETS.get(name, "utf-8"), "replace")
