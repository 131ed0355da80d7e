"""Reading the body of an answer: up to a limit of bytes on the wire and of bytes decoded."""

from typing import TYPE_CHECKING, NamedTuple

from drumline.core.content_encoding import BodyDecoder

if TYPE_CHECKING:
    import httpx


class Body(NamedTuple):
    """A body, or as much of it as was asked for; `is_cut` if there was more."""

    data: bytes
    is_cut: bool


async def read_body(response: "httpx.Response", *, most: int, most_raw: int) -> Body:
    """Return the body of a response that is being streamed, or raise `Invalid` if it cannot be decoded.

    The library's own decoders are not used: they have no limits, and undo as many layers as a header names.
    """
    if response.is_stream_consumed:  # its transport had it as a whole
        return Body(response.content[:most], is_cut=len(response.content) > most)
    decoder = BodyDecoder(response.headers.get("content-encoding"), most=most)
    raw = 0
    async for part in response.aiter_raw():
        decoder.feed(part)
        raw += len(part)
        if decoder.is_cut or raw > most_raw:
            return Body(decoder.body, is_cut=True)
    return Body(decoder.body, is_cut=False)
