"""One request and its answer on a connection, with short cuts past ASGI for what thousands of workers ask all day.

Each is used only where it does the same as the long way: a body that has come as a whole is taken without waiting, an
answer with nothing special about it is written at once, and a request that waits is told when its client is gone.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from starlette.types import Receive, Send
from uvicorn.protocols.http.httptools_impl import HEADER_VALUE_RE, STATUS_LINE, RequestResponseCycle

from drumline.api.problems import Headers

PLAIN: Final = frozenset({200, 201})
"""The statuses of answers that are written at once."""


class Exchange(RequestResponseCycle):
    """A request and its answer."""

    _gone: Callable[[], None] | None = None

    def take_body(self) -> bytes | None:
        """Return the body if all of it has come, which is then received no more; else None."""
        if self.more_body or self.waiting_for_100_continue or self.disconnected or self.response_complete:
            return None
        self.flow.resume_reading()
        self.message_event.clear()
        body, self.body = bytes(self.body), bytearray()
        return body

    def respond(self, status: int, lines: bytes, headers: Headers, body: bytes) -> bool:
        """Write a whole answer; tell whether that could be done, else nothing is written.

        `lines` are headers that are known to be well formed; `headers` are none that concern the connection.
        """
        is_plain = status in PLAIN and self.keep_alive and not self.response_started and self.scope["method"] != "HEAD"
        if not is_plain or self.flow.write_paused or any(HEADER_VALUE_RE.search(value) for _, value in headers):
            return False
        if self.disconnected:
            return True
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        more = b"".join([b"%b: %b\r\n" % header for header in (*self.default_headers, *headers)])
        # One write is one packet: an answer in two wakes its client twice.
        self.transport.write(
            b"%b%b%bcontent-length: %d\r\n\r\n%b" % (STATUS_LINE[status], lines, more, len(body), body)
        )
        self.message_event.set()
        self.on_response()
        return True

    def when_gone(self, gone: Callable[[], None] | None) -> None:
        """Call `gone` when the client closes the connection before it is answered; with None no more."""
        self._gone = gone

    def left(self) -> None:
        """Note that the client is gone."""
        if not self.response_complete:
            self.disconnected = True
        self.message_event.set()
        if self._gone is not None:
            self._gone()


def exchange_of(end: Receive | Send) -> Exchange | None:
    """Return the exchange that an ASGI application was handed one end of, unless something is in between."""
    owner: Any = getattr(end, "__self__", None)
    return owner if isinstance(owner, Exchange) else None


@lru_cache(maxsize=64)
def header_lines(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Return headers as they go over the wire; only for those that are constants of ours."""
    return b"".join([b"%b: %b\r\n" % header for header in headers])
