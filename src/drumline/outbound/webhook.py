"""Sends webhooks by the Standard Webhooks specification: signed, with a timeout, after the address check."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin

from msgspec import Struct

from drumline._version import __version__
from drumline.core.clock import Clock
from drumline.core.errors import Invalid
from drumline.core.signing import signature
from drumline.outbound.guard import AddressGuard, AddressRefused
from drumline.outbound.late_client import LateClient

if TYPE_CHECKING:
    import httpx

KEPT_RESPONSE: Final = 1000
"""Bytes of an answer that are kept."""
MOST_REDIRECTS: Final = 3
SENT_ON: Final = frozenset({307, 308})
"""Redirects that mean the same request again; the others would turn it into a GET."""
GONE: Final = 410
LONGEST_RETRY_AFTER: Final = 6 * 3600.0
LONGEST_LOCATION: Final = 200


class WebhookMessage(Struct, frozen=True, kw_only=True):
    """A webhook message; id and body are the same at every try."""

    id: str
    body: bytes
    secrets: tuple[str, ...]
    trace: str | None = None
    """The span that this try is, as a W3C `traceparent`."""


class WebhookResponse(Struct, frozen=True):
    """The response of a receiver that accepted a message."""

    status: int
    response: str


class WebhookFailed(Exception):
    """The message was not accepted; `permanent` tells whether trying again is of any use."""

    def __init__(
        self,
        message: str,
        *,
        permanent: bool = False,
        status: int | None = None,
        response: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.status = status
        self.response = response
        self.retry_after = retry_after

    @property
    def is_gone(self) -> bool:
        """Whether the receiver wants to hear nothing more, ever."""
        return self.status == GONE


class WebhookSender:
    """Calls receivers. Redirects are not followed unless an operator wants it, and then the guard judges each one."""

    def __init__(
        self,
        guard: AddressGuard,
        *,
        clock: Clock,
        timeout: float,
        follow_redirects: bool = False,
        make_client: "Callable[[], httpx.AsyncClient] | None" = None,
    ) -> None:
        self._guard = guard
        self._clock = clock
        self.timeout = timeout
        """Seconds for the whole exchange."""
        self._redirects = MOST_REDIRECTS if follow_redirects else 0
        # Another client is for simulations: there the guard judges URLs, and there are no connections.
        self._client = LateClient(make_client or partial(_new_client, guard))

    async def send(self, url: str, message: WebhookMessage) -> WebhookResponse:
        """Send a message and return the answer of a receiver that accepted it, or raise `WebhookFailed`."""
        client = await self._client.open()
        import httpx  # noqa: PLC0415 - imported with the client

        try:
            self._guard.check_url(url, field="url")
            async with asyncio.timeout(self.timeout):
                return await self._post(client, url, message)
        except TimeoutError as error:
            raise WebhookFailed(f"did not answer in {self.timeout:g} s") from error
        except (AddressRefused, Invalid) as error:
            raise WebhookFailed(f"refused: {error}", permanent=True) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise WebhookFailed(f"{type(error).__name__}: {error}") from error

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()

    async def _post(self, client: "httpx.AsyncClient", url: str, message: WebhookMessage) -> WebhookResponse:
        hops = 0
        while True:
            async with client.stream("POST", url, content=message.body, headers=self._headers(message)) as reply:
                response = await _excerpt(reply)
            location = urljoin(url, reply.headers.get("location", ""))
            if reply.status_code not in SENT_ON or hops == self._redirects:
                return _judged(reply, response, location)
            self._guard.check_url(location, field="location")
            url, hops = location, hops + 1

    def _headers(self, message: WebhookMessage) -> dict[str, str]:
        seconds = self._clock.now() // 1000
        return {
            "content-type": "application/json",
            "user-agent": f"drumline/{__version__}",
            "accept-encoding": "identity",
            "webhook-id": message.id,
            "webhook-timestamp": str(seconds),
            "webhook-signature": signature(message.secrets, id=message.id, seconds=seconds, body=message.body),
            **({} if message.trace is None else {"traceparent": message.trace}),
        }


def _new_client(guard: AddressGuard) -> "httpx.AsyncClient":
    client: Any = import_module("drumline.outbound.client")
    made: httpx.AsyncClient = client.guarded_client(guard)
    return made


async def _excerpt(reply: "httpx.Response") -> str:
    """Return the beginning of a response, so that a long one does not fill the notifier's memory."""
    kept = bytearray()
    async for part in reply.aiter_raw():
        kept += part
        if len(kept) >= KEPT_RESPONSE:
            break
    return bytes(kept[:KEPT_RESPONSE]).decode("utf-8", "replace")


def _judged(reply: "httpx.Response", response: str, location: str) -> WebhookResponse:
    status = reply.status_code
    if 200 <= status < 300:
        return WebhookResponse(status, response)
    words = f"answered {status} {reply.reason_phrase}".strip()
    if reply.is_redirect:
        words += f" and sends on to {location[:LONGEST_LOCATION]}, which is not followed"
    raise WebhookFailed(
        words,
        permanent=status == GONE,
        status=status,
        response=response,
        retry_after=_retry_after(reply.headers.get("retry-after")),
    )


def _retry_after(header: str | None) -> float | None:
    """Return the seconds that a receiver asks for, as a number or a date."""
    if header is None:
        return None
    try:
        header = header[:100]
        seconds = float(header) if header.strip().isdigit() else _seconds_until(header)
    except (TypeError, ValueError):
        return None
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER)


def _seconds_until(date: str) -> float:
    moment = parsedate_to_datetime(date)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - datetime.now(UTC)).total_seconds()
