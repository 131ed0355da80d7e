"""HTTP/1.1 on one connection, with limits on what a client may send before it is authenticated, and on its time.

The parser has no limits of its own. Bytes are counted here before headers are complete; times are checked for all
connections together, once a second, so that a request costs no timer.
"""

import asyncio
from enum import IntEnum
from time import monotonic
from typing import Any, Final, cast
from urllib.parse import unquote

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from drumline.api.connections import UNIX, Connections, Peer
from drumline.api.exchange import Exchange
from drumline.api.refusals import refusal

MOST_PIPELINED: Final = 16
"""Requests that a client may send ahead of their answers."""
LINGER_SECONDS: Final = 5.0
"""How long the rest of a refused request is read and thrown away, so that the client gets to read the refusal."""
MOST_DRAINED: Final = 8 * 1024 * 1024
LEAST_WRITTEN: Final = 64 * 1024
"""Bytes of a waiting response that a client must accept in each period of the write timeout."""
SLACK: Final = 64 * 1024
OVERHEAD: Final = 8
"""Bytes on the wire for each byte of a body at most: a chunk of one byte takes six."""


class Reading(IntEnum):
    """What is being read from a connection."""

    FRESH = 0
    """Nothing has come yet."""
    HEAD = 1
    BODY = 2
    NOTHING = 3
    """The last request is complete."""
    REFUSED = 4
    """What comes is thrown away."""


class LimitedHttpProtocol(HttpToolsProtocol):
    """Serves the requests of one connection, within limits."""

    def __init__(
        self, config: Config, server_state: ServerState, app_state: dict[str, Any], *, registry: Connections, peer: Peer
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._registry = registry
        self._limits = registry.limits
        self._peer = peer
        self._reading = Reading.FRESH
        self._since = monotonic()
        self._head = 0
        """Bytes that came since the headers began."""
        self._wire = self._body = 0
        """Bytes that came since they were complete, and those among them that are the body."""
        self._drained = 0
        self._stalled: tuple[float, int] | None = None
        """Since when a response waits for its client, and how much of it."""
        self._closing_since: float | None = None
        self._served: Exchange | None = None
        """What is being served, of requests that were sent ahead the first."""

    # -- the connection

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        super().connection_made(transport)
        self._registry.opened(self, self._peer)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._registry.closed(self)
        super().connection_lost(exc)
        if self._served is not None:
            self._served.left()

    def evict(self) -> None:
        """Close, since the place is needed for another connection."""
        self._reading = Reading.REFUSED
        self.transport.abort()

    def check(self, now: float) -> None:
        """Close the connection if its client is too slow; called about once a second."""
        if self.transport.is_closing():
            self._check_closing(now)
            return
        # A request that is being served, such as a long poll, has no time limit: there may be thousands.
        if self._reading is not Reading.NOTHING or self._is_idle():
            self._check_reading(now - self._since)
        self._check_writing(now)

    # -- bytes

    def data_received(self, data: bytes) -> None:
        """Take bytes; refuse the request if its headers become too large."""
        if self._reading is Reading.REFUSED or self.transport.is_closing():
            self._drained += len(data)
            if self._drained > MOST_DRAINED:
                self.transport.abort()
            return
        if self._reading is Reading.BODY:
            self._wire += len(data)
        else:
            self._head += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._end_after_response()
        except httptools.HttpParserError:
            self._refuse("not_http", "malformed", "this is not HTTP/1.1")
        self._check_sizes()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        if self._reading is not Reading.REFUSED:
            self._reading = Reading.HEAD
            self._since = monotonic()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; those that follow a body are dropped."""
        if self._reading is Reading.HEAD:
            name = name.lower()
            if name == b"expect" and value.lower() == b"100-continue":
                self.expect_100_continue = True
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Have the request served, unless it is refused."""
        limits = self._limits
        if self._reading is Reading.REFUSED:
            return
        if len(self.url) > limits.url_bytes:
            self._refuse_url()
            return
        # What came since the headers began may be more than the headers, and is mostly less than their limit.
        is_large = self._head > limits.header_bytes and self._head_size() > limits.header_bytes
        if is_large or len(self.headers) > limits.header_count:
            self._refuse_headers()
            return
        if len(self.pipeline) >= MOST_PIPELINED:
            self._refuse("pipeline", "too_many", "")
            return
        self._reading = Reading.BODY
        self._since = monotonic()
        self._head = self._wire = self._body = 0
        self._registry.busy(self)
        self._begin()

    def on_body(self, body: bytes) -> None:
        """Hand on a part of a body."""
        if self._reading is Reading.BODY:
            self._body += len(body)
            super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        if self._reading is Reading.BODY:
            self._reading = Reading.NOTHING
            self._since = monotonic()
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """End a response, and begin the next one if its request has come already."""
        self.server_state.total_requests += 1
        self._served = None
        is_open, was_last = not self.transport.is_closing(), not self.pipeline
        if is_open:
            self.flow.resume_reading()
        if is_open and not was_last:
            self._start_asgi_task(*self.pipeline.pop())
        if was_last:  # how long it may be idle is checked for all connections together
            if self._reading is not Reading.BODY:
                self._since = monotonic()
            self._registry.idle(self)

    def _begin(self) -> None:
        """Serve a request whose headers are complete, or let it wait for those that were sent before it."""
        parser, scope = self.parser, cast("dict[str, Any]", self.scope)
        version = parser.get_http_version()
        url = httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        scope["http_version"] = version
        scope["method"] = parser.get_method().decode("ascii")
        scope["path"] = unquote(path) if "%" in path else path
        scope["raw_path"] = url.path
        scope["query_string"] = url.query or b""
        before: RequestResponseCycle | None = self.cycle
        self.cycle = Exchange(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=version != "1.0" and parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._served = cast("Exchange", cycle)
        super()._start_asgi_task(cycle, app)

    # -- limits

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _check_sizes(self) -> None:
        limits = self._limits
        if self._reading is Reading.BODY:
            if self._wire > limits.header_bytes + SLACK + OVERHEAD * self._body:
                self._break_off("overhead")
        elif self._reading is Reading.HEAD:
            if len(self.url) > limits.url_bytes:
                self._refuse_url()
            elif self._head > limits.header_bytes:
                self._refuse_headers()

    def _check_reading(self, waited: float) -> None:
        limits = self._limits
        match self._reading:
            case Reading.FRESH if waited > limits.header_timeout:
                self._break_off("slow_headers")
            case Reading.HEAD if waited > limits.header_timeout:
                seconds = f"{limits.header_timeout:g} seconds"
                self._refuse("slow_headers", "too_slow", f"the headers were not complete after {seconds}")
            # The handler that reads the body has answered by then; nothing more is read after that answer.
            case Reading.BODY if waited > limits.body_timeout + LINGER_SECONDS:
                self._break_off("slow_body")
            case Reading.NOTHING if self._is_idle() and waited > limits.keep_alive:
                self.transport.close()
            case Reading.REFUSED if waited > LINGER_SECONDS:
                self.transport.close()

    def _check_writing(self, now: float) -> None:
        left = self.transport.get_write_buffer_size()
        if not left:
            self._stalled = None
        elif self._stalled is None:
            self._stalled = (now, left)
        elif now - self._stalled[0] > self._limits.write_timeout:
            if left > max(self._stalled[1] - LEAST_WRITTEN, 0):
                self._break_off("slow_reader")
            self._stalled = (now, left)

    def _check_closing(self, now: float) -> None:
        """End a connection whose last bytes its client does not take."""
        if self._closing_since is None:
            self._closing_since = now
        elif now - self._closing_since > self._limits.write_timeout:
            self._break_off("slow_reader")

    def _is_idle(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _end_after_response(self) -> None:
        """Serve a request that asks for another protocol as if it did not, and nothing after it."""
        if self.cycle is not None:
            self.cycle.keep_alive = False

    # -- refusing

    def _refuse_url(self) -> None:
        most = self._limits.url_bytes
        self._refuse("url_too_long", "url_too_long", f"an URL may have at most {most:,} bytes")

    def _refuse_headers(self) -> None:
        most, count = self._limits.header_bytes, self._limits.header_count
        detail = f"a request may have at most {count} headers, and {most:,} bytes of them with its first line"
        self._refuse("headers_too_large", "headers_too_large", detail)

    def _refuse(self, reason: str, code: str, detail: str) -> None:
        """Answer what is wrong and end the connection; while another answer is under way, only end it."""
        if self._reading is Reading.REFUSED:
            return
        if not self._is_idle():
            if self.pipeline or self.cycle.response_started:
                self._break_off(reason)
                return
            cast("Exchange", self.cycle).left()
        self._note(reason)
        self._reading = Reading.REFUSED
        self._since = monotonic()
        self._registry.busy(self)
        self.transport.write(refusal(code, detail))
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _break_off(self, reason: str) -> None:
        self._note(reason)
        self._reading = Reading.REFUSED
        self.transport.abort()

    def _note(self, reason: str) -> None:
        self._registry.refusals.note(reason, self.client[0] if self.client else UNIX)
