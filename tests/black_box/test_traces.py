"""One trace from a caller through submission, claim and execution to a webhook, across processes, by OTLP."""

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import urllib3
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.black_box.apart import Apart
from tests.black_box.server import eventually

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Collector(BaseHTTPRequestHandler):
    """Takes spans at /v1/traces and webhooks elsewhere."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/v1/traces":
            plain = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
            self.server.take(ExportTraceServiceRequest.FromString(plain))  # type: ignore[attr-defined]
        else:
            self.server.hooks.append(self.headers.get("traceparent", ""))  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class CollectorServer(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Collector)
        self.spans: dict[str, tuple[str, Span]] = {}
        """Role and span by its name."""
        self.hooks: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def take(self, request: ExportTraceServiceRequest) -> None:
        for of_process in request.resource_spans:
            facts = {each.key: each.value.string_value for each in of_process.resource.attributes}
            for of_scope in of_process.scope_spans:
                for span in of_scope.spans:
                    self.spans[span.name] = (facts["service.name"], span)


@pytest.fixture
def collector() -> Iterator[CollectorServer]:
    server = CollectorServer()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def facts_of(span: Span) -> dict[str, str | int]:
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


def test_a_task_is_one_trace_from_its_caller_to_those_who_are_told(tmp_path: Path, collector: CollectorServer) -> None:
    settings = {
        "trace_endpoint": f"{collector.url}/v1/traces",
        "notify_allow": "*",
        "api_key": "sk_test_of_traces",
        "log_format": "json",
    }
    with Apart(tmp_path / "data", **settings) as apart:
        apart.run("notifier", "notifier")
        apart.run_worker("worker", remote=True)
        task = {"name": "work.sleep", "payload": {"seconds": 0}, "notify": [{"webhook": f"{collector.url}/hook"}]}

        reply = urllib3.request(
            "POST",
            f"{apart.url}/api/v1/tasks",
            json=task,
            headers={"X-API-Key": "sk_test_of_traces", "traceparent": f"00-{TRACE}-{CALLER}-01"},
        )
        assert reply.status == 201, reply.data
        task_id = reply.json()["id"]
        wanted = {"send default", "receive default", "process work.sleep", "POST webhook"}
        eventually(lambda: wanted <= collector.spans.keys(), 60, lambda: f"{collector.spans.keys()} {apart.errors}")

    spans = {name: collector.spans[name][1] for name in wanted}
    assert {collector.spans[name][0] for name in wanted} == {"drumline-api", "drumline-worker", "drumline-notifier"}
    assert {span.trace_id.hex() for span in spans.values()} == {TRACE}
    send, receive, process, post = (
        spans[name] for name in ("send default", "receive default", "process work.sleep", "POST webhook")
    )
    assert send.parent_span_id.hex() == CALLER
    assert receive.parent_span_id == post.parent_span_id == send.span_id
    assert process.parent_span_id == receive.span_id
    assert [link.span_id for link in process.links] == [send.span_id]
    assert [span.kind for span in (send, receive, process, post)] == [
        Span.SPAN_KIND_PRODUCER, Span.SPAN_KIND_CONSUMER, Span.SPAN_KIND_CONSUMER, Span.SPAN_KIND_CLIENT,
    ]  # fmt: skip
    for span, act in ((send, "send"), (receive, "receive"), (process, "process")):
        facts = facts_of(span)
        assert facts["messaging.system"] == "drumline"
        assert facts["messaging.operation.type"] == act
        assert (facts["messaging.destination.name"], facts["messaging.message.id"]) == ("default", task_id)
    assert facts_of(post)["http.response.status_code"] == 200
    assert collector.hooks == [f"00-{TRACE}-{post.span_id.hex()}-01"]
