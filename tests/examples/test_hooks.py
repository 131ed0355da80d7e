"""The examples of hooks: spans and error reports, collected in this process."""

from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sentry_sdk
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sentry_sdk.envelope import Envelope
from sentry_sdk.transport import Transport

from drumline import TaskFailed

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name: str) -> ModuleType:
    spec = spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRUMLINE_DATA", str(tmp_path))
    monkeypatch.delenv("DRUMLINE_URL", raising=False)


def test_spans_of_an_execution_continue_the_trace_of_its_submission(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    example = load("hooks_opentelemetry")

    with example.app.running():
        with example.tracer.start_as_current_span("checkout"):
            assert example.divide.submit(6, 3).result(timeout=20) == 2.0
        with pytest.raises(TaskFailed):
            example.divide.submit(1, 0).result(timeout=20)

    spans = exporter.get_finished_spans()
    checkout = next(span for span in spans if span.name == "checkout")
    first, second = (span for span in spans if span.name == f"run {example.divide.name}")
    inside = next(span for span in spans if span.name == "divide")
    assert [event.name for event in checkout.events] == ["task.submit"]
    assert inside.parent is not None
    assert inside.parent.span_id == first.context.span_id
    assert (first.status.is_ok, second.status.is_ok) == (True, False)
    assert [event.name for event in second.events] == ["exception"]


class Kept(Transport):
    """Keeps what would be sent."""

    def __init__(self) -> None:
        super().__init__({"dsn": "http://key@localhost/1"})
        self.events: list[dict[str, Any]] = []

    def capture_envelope(self, envelope: Envelope) -> None:
        event = envelope.get_event()
        if event is not None:
            self.events.append(dict(event))


@pytest.fixture
def reports() -> Iterator[Kept]:
    kept = Kept()
    sentry_sdk.init(dsn="http://key@localhost/1", transport=kept, default_integrations=False)
    yield kept
    sentry_sdk.init()


def test_a_failed_attempt_is_reported_with_its_task(reports: Kept) -> None:
    example = load("hooks_sentry")

    with example.app.running():
        assert example.divide.submit(6, 3).result(timeout=20) == 2.0
        handle = example.divide.submit(1, 0)
        with pytest.raises(TaskFailed):
            handle.result(timeout=20)

    (event,) = reports.events
    assert event["exception"]["values"][-1]["type"] == "ZeroDivisionError"
    assert event["tags"]["task.name"] == example.divide.name
    assert event["contexts"]["task"] == {"id": handle.id, "attempt": 1}
