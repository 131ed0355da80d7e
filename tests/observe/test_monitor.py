"""The listener for those who watch a process, spoken to over a real socket."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from drumline.core.clock import ManualClock
from drumline.core.metrics import Metrics
from drumline.observe.exposition import Exposition
from drumline.observe.loop import EVERY, watch_loop
from drumline.observe.monitor import Monitor


class Watched:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.metrics = Metrics(self.clock)
        self.is_ready = True
        self.port = 0
        self.monitor = Monitor(
            Exposition(self.metrics, role="worker"), self.metrics.liveness, is_ready=lambda: self.is_ready
        )

    async def ask(self, request: str) -> tuple[int, str, str]:
        """Send some bytes, and return the status, the headers and the body of the answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request.encode())
        answer = (await asyncio.wait_for(reader.read(), 10)).decode()
        writer.close()
        head, _, body = answer.partition("\r\n\r\n")
        return int(head.split()[1]) if head else 0, head.lower(), body

    async def get(self, path: str, *headers: str) -> tuple[int, str, str]:
        return await self.ask("\r\n".join([f"GET {path} HTTP/1.1", "Host: here", *headers, "", ""]))


@pytest.fixture
async def watched() -> AsyncIterator[Watched]:
    watched = Watched()
    server = await asyncio.start_server(watched.monitor.serve, "127.0.0.1", 0, limit=8192)
    watched.port = server.sockets[0].getsockname()[1]
    async with server:
        yield watched


async def test_prometheus_can_read_every_figure(watched: Watched) -> None:
    watched.metrics.store.observe(0.003, ("claim",))
    watched.metrics.passes.add(2, ('a "quoted"\nduty', "done"))

    status, head, body = await watched.get("/metrics")

    families = {family.name: family for family in text_string_to_metric_families(body)}
    assert (status, "text/plain" in head) == (200, True)
    assert {family.name.removesuffix("_total") for family in watched.metrics.families()} <= families.keys()
    (sample,) = families["drumline_duty_passes"].samples
    assert (sample.labels["duty"], sample.value) == ('a "quoted"\nduty', 2)
    buckets = {
        sample.labels["le"]: sample.value
        for sample in families["drumline_store_seconds"].samples
        if "le" in sample.labels
    }
    assert (buckets["0.001953125"], buckets["0.00390625"], buckets["+Inf"]) == (0, 1, 1)
    assert "process_cpu_seconds" in families
    (build,) = families["drumline_build_info"].samples
    assert build.labels["role"] == "worker"


async def test_openmetrics_is_spoken_to_those_who_ask(watched: Watched) -> None:
    _, head, body = await watched.get("/metrics", "Accept: application/openmetrics-text; version=1.0.0")

    assert "application/openmetrics-text" in head
    assert body.endswith("# EOF\n")


async def test_a_process_whose_duty_hangs_does_not_live(watched: Watched) -> None:
    watched.metrics.liveness.expect("reap", within=60)
    assert (await watched.get("/livez"))[0] == 200

    watched.clock.advance(61)

    status, _, body = await watched.get("/livez")
    assert (status, body) == (503, '{"status": "DOWN", "stuck": {"reap": 61.0}}')
    watched.metrics.liveness.beat("reap")
    assert (await watched.get("/livez"))[0] == 200


async def test_a_process_that_stops_is_not_ready_but_lives(watched: Watched) -> None:
    watched.is_ready = False

    assert (await watched.get("/readyz"))[0] == 503
    assert (await watched.get("/livez"))[0] == 200


async def test_nothing_else_is_served(watched: Watched) -> None:
    assert (await watched.get("/"))[0] == 404
    assert (await watched.get("/metrics/../secrets"))[0] == 404
    assert (await watched.ask("POST /metrics HTTP/1.1\r\n\r\n"))[0] == 405
    head = await watched.ask("HEAD /livez HTTP/1.1\r\n\r\n")
    assert (head[0], head[2]) == (200, "")


@pytest.mark.parametrize(
    "garbage",
    ["\r\n\r\n", "GET\r\n\r\n", "GET /metrics HTTP/1.1\r\nX: " + "x" * 20_000 + "\r\n\r\n", "\x16\x03\x01\r\n\r\n"],
    ids=["nothing", "a word", "a long line", "TLS"],
)
async def test_garbage_harms_nobody(watched: Watched, garbage: str) -> None:
    await watched.ask(garbage)

    assert (await watched.get("/livez"))[0] == 200


async def test_a_loop_that_is_held_up_is_noticed() -> None:
    metrics, stop = Metrics(), asyncio.Event()
    watching = asyncio.create_task(watch_loop(metrics, stop))
    await asyncio.sleep(0)
    time.sleep(EVERY + 0.1)  # noqa: ASYNC251 - just that
    await asyncio.sleep(0.01)

    stop.set()
    await watching

    assert metrics.loop_lag.series[()].sum >= 0.1
    assert metrics.liveness.idle() == {}
