"""Answers to requests that never reach the application: too large, too slow, too many, or not HTTP.

They are written to the socket as they are. A log line about them names no text of the client, and each reason is logged
at most once in ten seconds, so that refused requests cannot fill a disk.
"""

from typing import Final

import structlog

from drumline.api.problems import PROBLEMS
from drumline.core.clock import Clock
from drumline.core.codec import encode
from drumline.core.metrics import Metrics
from drumline.core.problem import Problem

log: structlog.stdlib.BoundLogger = structlog.get_logger()

LOG_EVERY: Final = 10.0
"""Seconds between two log lines for the same reason."""
_PHRASES: Final = {
    400: b"Bad Request",
    408: b"Request Timeout",
    414: b"URI Too Long",
    431: b"Request Header Fields Too Large",
    503: b"Service Unavailable",
}
_HEADERS: Final = (
    b"content-type: application/problem+json\r\n"
    b"content-security-policy: default-src 'none'; frame-ancestors 'none'; sandbox\r\n"
    b"x-content-type-options: nosniff\r\nx-frame-options: DENY\r\nreferrer-policy: no-referrer\r\n"
    b"cross-origin-resource-policy: same-origin\r\ncache-control: no-store\r\nconnection: close\r\n"
)
REASONS: Final = (
    "not_http",
    "slow_headers",
    "slow_body",
    "slow_reader",
    "headers_too_large",
    "url_too_long",
    "pipeline",
    "overhead",
    "connections",
    "connections_per_address",
    "evicted",
    "files",
    "request_bytes",
)
"""Why requests and connections are refused; labels of a metric."""


def refusal(code: str, detail: str) -> bytes:
    """Return a whole response that refuses a request and ends its connection."""
    status, title = PROBLEMS[code]
    problem = Problem(type=f"/errors/{code}", title=title, status=status, code=code, detail=detail)
    body = encode(problem)
    retry = b"retry-after: 5\r\n" if status == 503 else b""
    head = b"HTTP/1.1 %d %b\r\ncontent-length: %d\r\n" % (status, _PHRASES[status], len(body))
    return head + _HEADERS + retry + b"\r\n" + body


class Refusals:
    """Counts what is refused, and logs it now and then."""

    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._count = metrics.http_refused.add
        self._clock = clock
        self._logged_at: dict[str, float] = {}
        self._since: dict[str, int] = {}
        metrics.http_refused.begin(*((reason,) for reason in REASONS))

    def note(self, reason: str, address: str) -> None:
        """Count a refusal, and log it unless one for this reason was logged a moment ago."""
        self._count(1, (reason,))
        self._since[reason] = self._since.get(reason, 0) + 1
        now = self._clock.monotonic()
        if now - self._logged_at.get(reason, -LOG_EVERY) >= LOG_EVERY:
            self._logged_at[reason] = now
            log.warning("connection.refused", reason=reason, address=address, count=self._since.pop(reason))
