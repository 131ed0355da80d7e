"""The span of a submission, and how its tasks come to carry it."""

from collections.abc import Iterator
from contextlib import contextmanager

from drumline.core.trace import CARRIED_TRACE, CURRENT_TRACE
from drumline.ports.tracing import Span, TraceKind, Tracer, messaging


@contextmanager
def sending(tracer: Tracer, queue: str, **facts: str | int) -> Iterator[Span]:
    """Give the span of a submission; tasks that are accepted inside carry it with them."""
    named = f"send {queue}" if queue else "send"
    with tracer.span(
        named, TraceKind.PRODUCER, parent=CURRENT_TRACE.get(), facts=messaging("send", queue, **facts)
    ) as span:
        token = CARRIED_TRACE.set(span.traceparent)
        try:
            yield span
        finally:
            CARRIED_TRACE.reset(token)
