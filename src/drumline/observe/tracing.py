"""Traces by OpenTelemetry, sent by OTLP over HTTP in the background. Imported only where they are wanted."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from drumline._version import __version__
from drumline.core.trace import CURRENT_TRACE
from drumline.ports.tracing import Facts, TraceKind

CLOSE_SECONDS: Final = 2.0
"""How long the last spans may take to be sent."""
SEND_SECONDS: Final = 5.0

_KINDS = {
    TraceKind.PRODUCER: SpanKind.PRODUCER,
    TraceKind.CONSUMER: SpanKind.CONSUMER,
    TraceKind.CLIENT: SpanKind.CLIENT,
}
_FORM = TraceContextTextMapPropagator()


class OpenSpan:
    """`ports.tracing.Span` of OpenTelemetry."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span
        self.traceparent = _written(span.get_span_context())

    def note(self, name: str, value: str | int) -> None:
        """Add a fact."""
        self._span.set_attribute(name, value)

    def fail(self, reason: str) -> None:
        """Note that it did not succeed."""
        self._span.set_status(Status(StatusCode.ERROR, reason))


class OpenTracer:
    """`ports.tracing.Tracer` of OpenTelemetry."""

    is_on = True

    def __init__(self, endpoint: str, *, role: str, headers: str | None = None, sample: float = 1.0) -> None:
        resource = Resource.create({"service.name": f"drumline-{role}", "service.version": __version__})
        self._provider = TracerProvider(
            resource=resource, sampler=ParentBased(TraceIdRatioBased(sample)), shutdown_on_exit=False
        )
        exporter = OTLPSpanExporter(endpoint=endpoint, headers=_read_headers(headers), timeout=SEND_SECONDS)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("drumline", __version__)

    @contextmanager
    def span(
        self, name: str, kind: TraceKind, *, parent: str | None, facts: Facts, links: Sequence[str] = ()
    ) -> Iterator[OpenSpan]:
        """Give a span that ends with the block; what is done inside belongs to it."""
        context = _FORM.extract({"traceparent": parent}) if parent else None
        linked = [
            Link(trace.get_current_span(_FORM.extract({"traceparent": link})).get_span_context()) for link in links
        ]
        span = self._tracer.start_span(name, context, kind=_KINDS[kind], attributes=dict(facts), links=linked)
        opened = OpenSpan(span)
        token = CURRENT_TRACE.set(opened.traceparent)
        try:
            with trace.use_span(span, end_on_exit=True):
                yield opened
        finally:
            CURRENT_TRACE.reset(token)

    def close(self) -> None:
        """Flush the spans; an unavailable receiver delays the process only briefly."""
        sending = threading.Thread(target=self._provider.shutdown, name="last spans", daemon=True)
        sending.start()
        sending.join(CLOSE_SECONDS)


def _written(context: SpanContext) -> str:
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def _read_headers(text: str | None) -> dict[str, str]:
    pairs = (part.partition("=") for part in (text or "").split(",") if "=" in part)
    return {name.strip(): value.strip() for name, _, value in pairs}
