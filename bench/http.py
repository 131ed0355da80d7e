"""Requests per second, latency and processor time of the HTTP API, by clients that keep their connections.

    python -m bench.http                          embedded: an API server on SQLite
    python -m bench.http --postgres               on PostgreSQL and Redis
    python -m bench.http --only GET --seconds 5

The server is the process that users start, `drumline api`; its key has a rate limit, which is counted but never
reached. The client writes bytes to sockets in this process and parses no more of an answer than its status and length,
so what is measured is the server. Processor time is what the server's process used (user and system) for each request;
for batches and claims, for each task. The database's own processes are not in it.
"""

import argparse
import asyncio
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import httpx
from uvloop import new_event_loop

from bench.scale.meter import cpu_seconds
from bench.services import HOST, free_port, postgres, redis

CONNECTIONS: Final = (1, 16, 256)
BATCH: Final = 1000
CLAIMED: Final = 500
"""Tasks that a remote worker asks for at once."""
WORKERS: Final = 4
CAPACITY: Final = 100_000
RATE: Final = "1000000000/60s"
START_SECONDS: Final = 30.0
TASK: Final = b'{"name":"noop","payload":{"a":1}}'

Requests = Callable[[int], bytes]
"""Returns the request with a number."""


@dataclass(frozen=True)
class Served:
    """A server that runs: where it is, its process and the keys that it takes."""

    url: str
    port: int
    pid: int
    first_key: str
    key: str
    environment: dict[str, str]

    def request(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """Return a request as it goes over the wire."""
        head = f"{method} {path} HTTP/1.1\r\nhost: {HOST}\r\nx-api-key: {self.key}\r\n"
        if body is None:
            return f"{head}\r\n".encode()
        return f"{head}content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body

    def ask(self, path: str, body: Any) -> Any:
        """Send one request, not measured, and return its answer."""
        answer = httpx.post(f"{self.url}{path}", json=body, headers={"x-api-key": self.first_key}, timeout=30)
        answer.raise_for_status()
        return answer.json()


class Connection(asyncio.Protocol):
    """Sends one request after the other, each when the one before it is answered, until told to stop."""

    def __init__(self, run: "Run") -> None:
        self._run = run
        self._received = b""
        self._sent_at = 0.0
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        received = self._received = self._received + data if self._received else data
        head = received.find(b"\r\n\r\n")
        if head < 0:
            return
        at = received.find(b"content-length: ", 0, head)
        size = head + 4 + int(received[at + 16 : received.index(b"\r", at)])
        if len(received) < size:
            return
        if not received.startswith(b"HTTP/1.1 20"):
            self._run.fail(received[: head + 500].decode(errors="replace"))
            return
        self._received = b""
        self._run.answered(time.perf_counter() - self._sent_at, received[head + 4 :])
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self._run.is_over:
            self._run.fail(f"the server closed a connection: {error}")

    def _send(self) -> None:
        if self._run.is_over:
            self._transport.close()
            self._run.closed()
            return
        self._sent_at = time.perf_counter()
        self._transport.write(self._run.next_request())


class Run:
    """One measurement: so many connections for so many seconds."""

    def __init__(self, requests: Requests, connections: int, on_answer: Callable[[bytes], None] | None = None) -> None:
        self._requests = requests
        self._on_answer = on_answer
        self._left = connections
        self._count = 0
        self.latencies: list[float] = []
        self.is_over = False
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def next_request(self) -> bytes:
        self._count += 1
        return self._requests(self._count)

    def answered(self, seconds: float, body: bytes) -> None:
        if not self.is_over:
            self.latencies.append(seconds)
        if self._on_answer is not None:
            self._on_answer(body)

    def closed(self) -> None:
        self._left -= 1
        if not self._left and not self.done.done():
            self.done.set_result(None)

    def fail(self, reason: str) -> None:
        self.is_over = True
        if not self.done.done():
            self.done.set_exception(SystemExit(reason))


async def _run(
    served: Served, requests: Requests, connections: int, seconds: float, on_answer: Callable[[bytes], None] | None
) -> dict[str, float]:
    run = Run(requests, connections, on_answer)
    loop = asyncio.get_running_loop()
    before, began = cpu_seconds([served.pid]), time.perf_counter()
    await asyncio.gather(
        *(loop.create_connection(lambda: Connection(run), HOST, served.port) for _ in range(connections))
    )
    await asyncio.wait([run.done], timeout=seconds)
    run.is_over = True
    took, used = time.perf_counter() - began, cpu_seconds([served.pid]) - before
    await asyncio.wait_for(run.done, START_SECONDS)
    ordered = sorted(run.latencies)
    return {
        "connections": connections,
        "per_s": round(len(ordered) / took, 1),
        "p50_ms": round(ordered[len(ordered) // 2] * 1e3, 2),
        "p99_ms": round(ordered[int(len(ordered) * 0.99)] * 1e3, 2),
        "server_us": round(used / len(ordered) * 1e6, 1),
    }


def measure(
    served: Served,
    requests: Requests,
    connections: int,
    seconds: float,
    on_answer: Callable[[bytes], None] | None = None,
) -> dict[str, float]:
    """Return what a server does with some requests, after a short run that warms it up."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_run(served, requests, connections, min(seconds / 4, 0.5), on_answer))
        return runner.run(_run(served, requests, connections, seconds, on_answer))


def measure_http(served: Served, seconds: float, only: Sequence[str] = ()) -> dict[str, Any]:
    """Return the results of every kind of request, by name."""
    results: dict[str, Any] = {}
    submission = served.request("POST", "/api/v1/tasks", TASK)
    tasks = served.ask("/api/v1/tasks/batch", {"tasks": [json.loads(TASK)] * BATCH})["tasks"]
    looks = [served.request("GET", f"/api/v1/tasks/{task['id']}") for task in tasks]
    single: dict[str, Requests] = {
        "POST /tasks": lambda _: submission,
        "GET /tasks/{id}": lambda number: looks[number % len(looks)],
    }
    for name, requests in single.items():
        if _is_wanted(name, only):
            results[name] = [measure(served, requests, connections, seconds) for connections in CONNECTIONS]
    if _is_wanted("POST /tasks/batch", only):
        batch = served.request("POST", "/api/v1/tasks/batch", b'{"tasks":[' + b",".join([TASK] * BATCH) + b"]}")
        rows = [measure(served, lambda _: batch, connections, seconds) for connections in (1, 4)]
        results["POST /tasks/batch"] = [_each(row, BATCH) for row in rows]
    if _is_wanted("claim", only):
        results["claim"] = [_measure_claims(served, seconds)]
    return results


def _is_wanted(name: str, only: Sequence[str]) -> bool:
    return not only or any(word in name for word in only)


def _each(row: dict[str, float], count: int) -> dict[str, float]:
    """Return a row of requests as one of the tasks in them."""
    return row | {"tasks_per_s": round(row["per_s"] * count, 1), "server_us": round(row["server_us"] / count, 2)}


def _measure_claims(served: Served, seconds: float) -> dict[str, float]:
    """Claim what waits, as remote workers that ask for many at once, and report nothing."""
    waiting = [{"name": "claimed"}] * 10_000
    for _ in range(int(seconds * 4) + 4):
        served.ask("/api/v1/tasks/batch", {"tasks": waiting})
    opened = [
        json.loads(
            httpx.post(
                f"{served.url}/api/v1/worker/sessions",
                json={"types": [{"name": "claimed"}], "capacity": CAPACITY},
                headers={"x-api-key": served.key},
            ).content
        )["session"]
        for _ in range(WORKERS)
    ]
    claimed = 0

    def request(number: int) -> bytes:
        body = b'{"claim_id":"%b","limit":%d,"wait":0}' % (secrets.token_hex(8).encode(), CLAIMED)
        return served.request("POST", f"/api/v1/worker/sessions/{opened[number % WORKERS]}/claim", body)

    def count(body: bytes) -> None:
        nonlocal claimed
        claimed += body.count(b'"lease"')

    began = time.perf_counter()
    before = cpu_seconds([served.pid])
    row = measure(served, request, WORKERS, seconds, count)
    took, used = time.perf_counter() - began, cpu_seconds([served.pid]) - before
    return row | {"tasks_per_s": round(claimed / took, 1), "server_us": round(used / max(claimed, 1) * 1e6, 2)}


@contextmanager
def serving(environment: dict[str, str]) -> Iterator[Served]:
    """Run an API server in a process of its own."""
    port, first_key = free_port(), secrets.token_urlsafe(32)
    variables = os.environ | environment | {"DRUMLINE_API_KEY": first_key, "DRUMLINE_LOG_LEVEL": "warning"}
    command = [str(Path(sys.prefix) / "bin" / "drumline"), "api", "--port", str(port)]
    server = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL)
    try:
        url = f"http://{HOST}:{port}"
        _await_ready(url, server)
        made = httpx.post(
            f"{url}/api/v1/keys",
            json={"name": "bench", "role": "admin", "rate_limit": RATE},
            headers={"x-api-key": first_key},
            timeout=START_SECONDS,
        )
        made.raise_for_status()
        yield Served(url, port, server.pid, first_key, made.json()["key"], environment)
    finally:
        server.terminate()
        server.wait(30)


def _await_ready(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            if httpx.get(f"{url}/readyz", timeout=1).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        if server.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("the server did not start")
        time.sleep(0.05)


@contextmanager
def embedded() -> Iterator[Served]:
    """Serve on SQLite, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="drumline-bench-") as folder, serving({"DRUMLINE_DATA": folder}) as served:
        yield served


@contextmanager
def distributed() -> Iterator[Served]:
    """Serve on PostgreSQL and Redis."""
    with ExitStack() as stack:
        database, queue = stack.enter_context(postgres()), stack.enter_context(redis())
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="drumline-bench-"))
        places = {"DRUMLINE_STORE_URL": database.url(), "DRUMLINE_QUEUE_URL": queue.url, "DRUMLINE_DATA": folder}
        subprocess.run(
            [str(Path(sys.prefix) / "bin" / "drumline"), "migrate"],
            env=os.environ | places,
            check=True,
            stdout=sys.stderr,
        )
        yield stack.enter_context(serving(places))


def main() -> None:
    """Read the flags, measure and print."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--postgres", action="store_true", help="on PostgreSQL and Redis")
    flags.add_argument("--seconds", type=float, default=4.0, help="how long each measurement takes")
    flags.add_argument("--only", default="", help="words in the names of what is measured, joined by commas")
    given = flags.parse_args()
    with distributed() if given.postgres else embedded() as served:
        for name, rows in measure_http(served, given.seconds, [word for word in given.only.split(",") if word]).items():
            for row in rows:
                print(f"{name:20}", "  ".join(f"{key} {value:>9,.6g}" for key, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
