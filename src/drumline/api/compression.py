"""Compresses the answers to reads: lists, graphs and logs repeat themselves, and travel at a tenth of their size.

Only whole answers to GET are compressed: streams stay unbuffered, and submissions and the worker protocol, which are
POST, cost nothing. A compressed answer that holds a secret beside a text that an attacker can choose would leak the
secret by its length (BREACH): answers about sign-ins and keys, and every answer that sets a cookie, stay as they are.
"""

import asyncio
import zlib
from collections.abc import Awaitable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from drumline.api.exchange import Exchange, exchange_of

SMALLEST: Final = 1_400
"""Bytes that fit into one packet are not worth it."""
AT_ONCE: Final = 16 * 1024
"""Bytes that are compressed on the event loop, in less than a millisecond; more are given to a thread."""
LARGEST: Final = 16 * 1024 * 1024
"""Bytes beyond which an answer goes as it is."""
THREADS: Final = 2
"""Answers that are compressed in threads at a time; while so many are, others go as they are."""
LEVEL: Final = 1
GZIP: Final = 31
"""What makes zlib write the format gzip."""
MEDIA: Final = (b"application/json", b"text/plain", b"application/openapi+json")
NEVER: Final = ("/api/v1/sign-in", "/api/v1/keys", "/api/v1/me")
"""How the paths begin whose answers are about who may come in."""


class Compression:
    """An ASGI application that compresses the answers of another one for clients that accept it."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner
        self._threads = asyncio.Semaphore(THREADS)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serve a request."""
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"].startswith(NEVER):
            return self._inner(scope, receive, send)
        return self._inner(scope, receive, _Answer(scope, send, self._threads).send)


class _Answer:
    """One answer on its way out: its head waits for its body if it may be compressed."""

    def __init__(self, scope: Scope, send: Send, threads: asyncio.Semaphore) -> None:
        self._scope = scope
        self._send = send
        self._threads = threads
        self._head: Message | None = None

    def exchange(self, size: int) -> Exchange | None:
        """Return the exchange that an answer of so many bytes can be given to: only one that is not compressed."""
        return exchange_of(self._send) if size < SMALLEST else None

    async def send(self, message: Message) -> None:
        """Pass a message on, compressed if it is worth it."""
        if message["type"] == "http.response.start" and _is_worth_it(message):
            self._head = message
            return
        head, self._head = self._head, None
        if head is None:
            await self._send(message)
            return
        body = message.get("body", b"")
        packed = None if message.get("more_body") else await self._packed(body)
        head["headers"] = [*head["headers"], (b"vary", b"accept-encoding")]
        if packed is not None and len(packed) < len(body):
            head["headers"] = _replaced(head["headers"], len(packed))
            message = {**message, "body": packed}
        await self._send(head)
        await self._send(message)

    async def _packed(self, body: bytes) -> bytes | None:
        if not SMALLEST <= len(body) <= LARGEST or not _accepts_gzip(self._scope):
            return None
        if len(body) <= AT_ONCE:
            return compress(body)
        if self._threads.locked():
            return None
        async with self._threads:
            return await asyncio.to_thread(compress, body)


def exchange_for(send: Send, size: int) -> Exchange | None:
    """Return the exchange that a whole answer of so many bytes can be given to; None if something is in between."""
    owner = getattr(send, "__self__", None)
    return owner.exchange(size) if isinstance(owner, _Answer) else exchange_of(send)


def compress(body: bytes) -> bytes:
    """Return a text in the format gzip, made with as little work as there can be."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
    return packer.compress(body) + packer.flush()


def _is_worth_it(head: Message) -> bool:
    """Tell whether an answer is a whole text that is not compressed yet, and sets no cookie."""
    headers = dict(head["headers"])
    if head["status"] != 200 or b"content-encoding" in headers or b"set-cookie" in headers:
        return False
    length = headers.get(b"content-length", b"0")
    return int(length) >= SMALLEST and headers.get(b"content-type", b"").startswith(MEDIA)


def _accepts_gzip(scope: Scope) -> bool:
    """Tell whether a client accepts gzip; one that names it with a weight of nothing does not."""
    given = b",".join(value for name, value in scope["headers"] if name == b"accept-encoding").lower()
    for coding in given.split(b","):
        name, *parameters = (part.strip() for part in coding.split(b";"))
        if name == b"gzip":
            return not any(part.replace(b" ", b"") in _NOTHING for part in parameters)
    return False


_NOTHING: Final = frozenset({b"q=0", b"q=0.", b"q=0.0", b"q=0.00", b"q=0.000"})


def _replaced(headers: list[tuple[bytes, bytes]], length: int) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in headers if name != b"content-length"]
    return [*kept, (b"content-length", b"%d" % length), (b"content-encoding", b"gzip")]
