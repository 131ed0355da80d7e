"""Blobs as objects of a bucket: S3, or a server that speaks its protocol."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree as ET

from drumline.blobs.signature import EMPTY_DIGEST, Bucket, S3Credentials, S3Request, signed_headers
from drumline.core.clock import Clock, Instant, SystemClock
from drumline.core.errors import Unavailable
from drumline.outbound.late_client import LateClient
from drumline.ports.blobs import BlobEntry

if TYPE_CHECKING:
    import httpx

SECONDS: Final = 30.0
"""For one exchange with the server."""
CONNECT_SECONDS: Final = 5.0
MOST_LISTED: Final = 1000
"""Objects in one answer, by the protocol."""
DELETED_AT_ONCE: Final = 8
LONGEST_ANSWER: Final = 4 * 1024 * 1024
"""Bytes of a list, or of an error, that are read."""
LONGEST_ERROR: Final = 300


class S3Blobs:
    """`ports.blobs.BlobStore` in a bucket."""

    def __init__(
        self, bucket: Bucket, credentials: Callable[[], Awaitable[S3Credentials]], *, clock: Clock | None = None
    ) -> None:
        self._bucket = bucket
        self._credentials = credentials
        self._clock = clock or SystemClock()
        self._client = LateClient(_new_client)

    @property
    def place(self) -> str:
        """The bucket with its prefix."""
        return f"s3://{self._bucket.name}/{self._bucket.prefix}".rstrip("/")

    async def put(self, name: str, data: bytes) -> None:
        """Write an object."""
        digest = await asyncio.to_thread(lambda: sha256(data).hexdigest())
        async with self._exchange("PUT", self._path(name), data=data, digest=digest) as reply:
            await self._check(reply)

    async def get(self, name: str, *, largest: int) -> bytes | None:
        """Read an object; None if there is none."""
        async with self._exchange("GET", self._path(name)) as reply:
            if reply.status_code == HTTPStatus.NOT_FOUND:
                return None
            await self._check(reply)
            return await _body(reply, largest)

    async def list(self, home: str, *, after: str, limit: int) -> list[BlobEntry]:
        """List objects in the order of their keys."""
        query = [
            ("list-type", "2"), ("prefix", f"{self._key(home)}/"), ("max-keys", str(min(limit, MOST_LISTED))),
            *([("start-after", self._key(after))] if after else []),
        ]  # fmt: skip
        async with self._exchange("GET", self._path(""), query=query) as reply:
            await self._check(reply)
            text = await _body(reply, LONGEST_ANSWER)
        return _entries(text, self._bucket.prefix)

    async def delete(self, names: Sequence[str]) -> None:
        """Delete objects."""
        turns = asyncio.Semaphore(DELETED_AT_ONCE)

        async def delete(name: str) -> None:
            async with turns, self._exchange("DELETE", self._path(name)) as reply:
                if reply.status_code != HTTPStatus.NOT_FOUND:
                    await self._check(reply)

        await asyncio.gather(*(delete(name) for name in names))

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()

    def _key(self, name: str) -> str:
        return f"{self._bucket.prefix}/{name}" if self._bucket.prefix else name

    def _path(self, name: str) -> str:
        base = urlsplit(self._bucket.endpoint).path.rstrip("/")
        return f"{base}/{quote(self._key(name), safe='/-_.~')}" if name else base or "/"

    @asynccontextmanager
    async def _exchange(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        data: bytes = b"",
        digest: str = EMPTY_DIGEST,
    ) -> "AsyncIterator[httpx.Response]":
        """Send a signed request, and give the answer before its body is read."""
        client = await self._client.open()
        import httpx  # noqa: PLC0415 - imported with the client

        where = urlsplit(self._bucket.endpoint)
        request = S3Request(method=method, host=where.netloc, path=path, query=query, digest=digest)
        at = datetime.fromtimestamp(self._clock.now() / 1000, UTC)
        credentials = await self._credentials()
        headers = signed_headers(request, credentials, region=self._bucket.region, at=at)
        url = f"{where.scheme}://{where.netloc}{path}" + (f"?{request.query_text}" if query else "")
        try:
            async with asyncio.timeout(SECONDS), client.stream(method, url, headers=headers, content=data) as reply:
                yield reply
        except (httpx.HTTPError, TimeoutError, OSError) as error:
            reason = str(error) or type(error).__name__
            raise Unavailable(f"the blob store {self.place} cannot be reached: {reason}") from error

    async def _check(self, reply: "httpx.Response") -> None:
        """Raise `Unavailable` with what the server says, unless it has done what it was asked."""
        if not reply.is_success:
            said = (await _body(reply, LONGEST_ERROR)).decode(errors="replace")
            reason = f"the blob store {self.place} answers {reply.status_code}: {' '.join(said.split())}"
            raise Unavailable(reason)


def _new_client() -> "httpx.AsyncClient":
    import httpx  # noqa: PLC0415 - only processes with such a store need it

    from drumline.outbound.no_cookies import no_cookies  # noqa: PLC0415

    timeout = httpx.Timeout(SECONDS, connect=CONNECT_SECONDS)
    return httpx.AsyncClient(cookies=no_cookies(), trust_env=False, timeout=timeout)


async def _body(reply: "httpx.Response", largest: int) -> bytes:
    read = bytearray()
    async for part in reply.aiter_bytes():
        read += part
        if len(read) >= largest:
            break
    return bytes(read[:largest])


def _entries(text: bytes, prefix: str) -> list[BlobEntry]:
    entries = []
    # The server is the operator's own, and expat bounds what entities expand to.
    for item in ET.fromstring(text).iterfind("{*}Contents"):  # noqa: S314
        key, modified = item.findtext("{*}Key", ""), item.findtext("{*}LastModified", "")
        name = key.removeprefix(f"{prefix}/") if prefix else key
        at = datetime.fromisoformat(modified)
        entries.append(BlobEntry(name, Instant(int(at.timestamp() * 1000))))
    return entries
