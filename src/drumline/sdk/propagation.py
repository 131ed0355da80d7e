"""Telling a server which trace a request belongs to, if the program is traced at all."""

import sys
from importlib import import_module

from drumline.core.trace import CURRENT_TRACE


def is_traced() -> bool:
    """Tell whether the program may be traced: cheap, since it is asked for every submission."""
    return "opentelemetry.trace" in sys.modules or CURRENT_TRACE.get() is not None


def trace_headers() -> dict[str, str]:
    """Return the headers that carry the current trace: of OpenTelemetry, where the program uses it, or of our own."""
    headers: dict[str, str] = {}
    # A program may make spans without loading what writes them as headers.
    if "opentelemetry.trace" in sys.modules:
        import_module("opentelemetry.propagate").inject(headers)
    if not headers and (current := CURRENT_TRACE.get()) is not None:
        headers["traceparent"] = current
    return headers
