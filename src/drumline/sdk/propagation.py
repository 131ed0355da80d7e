"""Telling a server which trace a request belongs to, if the program is traced at all."""

import sys

from drumline.core.trace import CURRENT_TRACE


def trace_headers() -> dict[str, str]:
    """Return the headers that carry the current trace: of OpenTelemetry, where the program uses it, or of our own."""
    headers: dict[str, str] = {}
    propagate = sys.modules.get("opentelemetry.propagate")
    if propagate is not None:
        propagate.inject(headers)
    if not headers and (current := CURRENT_TRACE.get()) is not None:
        headers["traceparent"] = current
    return headers
