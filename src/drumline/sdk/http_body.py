"""Reading what a server answered, up to a limit of bytes and of time."""

from time import monotonic
from typing import TYPE_CHECKING, Final

from drumline.core.content_encoding import BodyDecoder
from drumline.core.errors import Invalid, Unavailable

if TYPE_CHECKING:
    import urllib3

LARGEST: Final = 128 * 1024 * 1024
"""Bytes of an answer that are read at most, and that it may decompress to."""
_PIECE: Final = 64 * 1024


def read_body(reply: "urllib3.BaseHTTPResponse", *, seconds: float) -> bytes:
    """Return the body of an answer that has begun, or raise `Unavailable` if it is too large or takes too long."""
    deadline = monotonic() + seconds
    try:
        decoder = BodyDecoder(reply.headers.get("content-encoding"), most=LARGEST)
        for part in reply.stream(_PIECE, decode_content=False):
            decoder.feed(part)
            if decoder.is_cut or monotonic() > deadline:
                break
        else:
            return decoder.body
    except Invalid as error:
        reply.close()
        raise Unavailable(f"the answer cannot be read: {error}") from error
    reply.close()
    raise Unavailable(f"the answer has more than {LARGEST:,} bytes, or takes longer than {seconds:g} s")
