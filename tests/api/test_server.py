"""The API on a real socket."""

import ast
import asyncio
import contextlib
import importlib.util
import io
import json
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from drumline.api.protocol import MOST_CHUNKS, OPERATIONS
from drumline.api.server import Server
from drumline.core.limits import DEFAULT_LIMITS
from drumline.core.session import BEAT_EVERY
from tests.api.conftest import KEY, problem, submitted

EXAMPLES = Path(__file__).parents[2] / "examples"
PLAIN, DURABLE = EXAMPLES / "worker_protocol.py", EXAMPLES / "worker_protocol_durable.py"
PROTOCOL = Path(__file__).parents[2] / "docs" / "reference" / "worker-protocol.md"


@pytest.fixture
async def address(app: Any, stop: asyncio.Event) -> AsyncIterator[str]:
    server = Server(app, port=0)
    serving = asyncio.create_task(server.run(stop))
    yield f"http://127.0.0.1:{server.port}"
    stop.set()
    await serving


@pytest.fixture
async def real(address: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=address, headers={"X-API-Key": KEY}, timeout=30) as client:
        yield client


async def until_ended(real: httpx.AsyncClient, task: str) -> Any:
    return (await real.get(f"/api/v1/tasks/{task}", params={"wait": 20})).json()


async def test_a_task_is_submitted_over_a_socket(real: httpx.AsyncClient) -> None:
    task = await submitted(real)

    assert (await real.get(f"/api/v1/tasks/{task}")).json()["name"] == "work"


async def test_twenty_megabytes_are_refused_and_the_connection_goes_on(real: httpx.AsyncClient) -> None:
    reply = await real.post("/api/v1/tasks", json={"name": "a", "payload": "x" * 20_000_000})

    problem(reply, 413, "too_large", "payload")
    assert (await real.get("/api/v1/tasks")).json()["items"] == []


async def test_a_log_is_followed_piece_by_piece(real: httpx.AsyncClient) -> None:
    task = await submitted(real)
    opened = await real.post("/api/v1/worker/sessions", json={"types": [{"name": "work"}], "capacity": 1})
    session = f"/api/v1/worker/sessions/{opened.json()['session']}"
    ((lease),) = [it["lease"] for it in (await real.post(f"{session}/claim", json={})).json()["tasks"]]
    heard = []

    async with real.stream("GET", f"/api/v1/tasks/{task}/log?follow=true") as reply:
        for seq, text in enumerate(("one\n", "two\n")):
            chunk = {"task": task, "epoch": lease["epoch"], "seq": seq, "text": text}
            await real.post(f"{session}/log", json={"chunks": [chunk]})
        await real.post(f"{session}/settle", json={"reports": [{"outcome": "succeeded", "lease": lease}]})
        heard = [line async for line in reply.aiter_lines()]

    assert heard == ["one", "two"]


async def test_long_polls_end_at_once_when_the_server_stops(real: httpx.AsyncClient, stop: asyncio.Event) -> None:
    task = await submitted(real, delay=3600)
    opened = await real.post("/api/v1/worker/sessions", json={"types": [{"name": "work"}], "capacity": 1})
    polls = [
        asyncio.create_task(real.get(f"/api/v1/tasks/{task}?wait=60")),
        asyncio.create_task(real.get(f"/api/v1/tasks/{task}/log?follow=true")),
        asyncio.create_task(real.post(f"/api/v1/worker/sessions/{opened.json()['session']}/claim", json={"wait": 60})),
    ]
    # Each of them has its connection once one more request has been served after them.
    await asyncio.sleep(0)
    await real.get("/livez")

    stop.set()

    async with asyncio.timeout(5):
        replies = await asyncio.gather(*polls, return_exceptions=True)
    assert [reply.status_code for reply in replies if isinstance(reply, httpx.Response)] == [200, 200, 503]


async def test_a_client_that_hangs_up_takes_its_claim_along(real: httpx.AsyncClient) -> None:
    opened = await real.post("/api/v1/worker/sessions", json={"types": [{"name": "work"}], "capacity": 1})
    session = f"/api/v1/worker/sessions/{opened.json()['session']}"
    with pytest.raises(httpx.ReadTimeout):
        await real.post(f"{session}/claim", json={"wait": 60}, timeout=0.3)
    # The server hears of it with its next turn; a request that was served after is past that turn.
    await real.get("/livez")

    task = await submitted(real)

    claimed = (await real.post(f"{session}/claim", json={"wait": 5})).json()["tasks"]
    assert [it["lease"]["task"] for it in claimed] == [task]


async def test_a_key_in_a_start_url_is_never_logged(
    real: httpx.AsyncClient, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level("DEBUG", logger="uvicorn"):
        await real.get(f"/?key={KEY}")

    written = capsys.readouterr()
    assert KEY not in caplog.text + written.out + written.err


async def test_the_address_is_taken_as_soon_as_the_server_is_made(app: Any) -> None:
    server = Server(app, port=0)

    with pytest.raises(OSError, match="in use"):
        Server(app, port=server.port)
    server.close()


@contextlib.asynccontextmanager
async def example_worker(address: str, program: Path = PLAIN) -> AsyncIterator[asyncio.subprocess.Process]:
    env = {**os.environ, "DRUMLINE_URL": address, "DRUMLINE_API_KEY": KEY}
    process = await asyncio.create_subprocess_exec(sys.executable, str(program), env=env)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def test_the_example_worker_runs_tasks_and_leaves_in_order(address: str, real: httpx.AsyncClient) -> None:
    good = await submitted(real, name="add", payload={"a": 1, "b": 2})
    bad = await submitted(real, name="add", payload={"a": 1})

    async with example_worker(address) as worker:
        added = await until_ended(real, good)
        failed = await until_ended(real, bad)
        worker.send_signal(signal.SIGTERM)
        async with asyncio.timeout(20):
            code = await worker.wait()

    assert (added["status"], added["result"]) == ("COMPLETED", 3)
    assert (failed["status"], failed["error"]["kind"], failed["attempt"]) == ("FAILED", "KeyError", 1)
    assert code == 0
    assert (await real.get("/api/v1/workers")).json()["items"] == []


async def test_the_example_worker_records_steps_and_waits(address: str, real: httpx.AsyncClient) -> None:
    task = await submitted(real, name="order", payload={"order": 7})

    async with example_worker(address, DURABLE):
        await real.post(f"/api/v1/tasks/{task}/signals/packed", json={"payload": "ada"})
        ended = await until_ended(real, task)

    assert (ended["status"], ended["result"]) == ("COMPLETED", "payment-7, packed by ada")
    steps = (await real.get(f"/api/v1/tasks/{task}/steps")).json()["items"]
    assert [(each["name"], each["kind"]) for each in steps] == [
        ("charge", "step"), ("until packed", "sleep"), ("packed", "signal"),
    ]  # fmt: skip


async def test_the_example_worker_leaves_when_an_operator_drains_it(address: str, real: httpx.AsyncClient) -> None:
    done = await submitted(real, name="add", payload={"a": 1, "b": 2})

    async with example_worker(address) as worker:
        await until_ended(real, done)
        (session,) = (await real.get("/api/v1/workers")).json()["items"]
        await real.post(f"/api/v1/workers/{session['id']}/drain")
        async with asyncio.timeout(60):
            code = await worker.wait()

    assert code == 0
    assert (await real.get("/api/v1/workers")).json()["items"] == []


class FakeServer:
    """Answers the requests of an example's session in its own process, as lists of a test say."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, beat_every: float) -> None:
        self.sent: list[tuple[str, Any]] = []
        self.answers: dict[str, list[Any]] = {}
        self.opened = {"session": "w-1", "beat_every": beat_every, "wants_usage": True, "undoes_drains": True}
        self.is_ready = threading.Event()
        spec = importlib.util.spec_from_file_location("worker_protocol", PLAIN)
        assert spec is not None
        assert spec.loader is not None
        self.example: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.example)
        monkeypatch.setattr("urllib.request.urlopen", self.urlopen)
        monkeypatch.setattr(self.example, "time", SimpleNamespace(sleep=lambda _: None))

    def urlopen(self, request: Any, timeout: float) -> io.BytesIO:
        assert timeout > 0
        called = request.full_url.rpartition("/")[2]
        if called == "sessions":
            return io.BytesIO(json.dumps(self.opened).encode())
        self.is_ready.wait(30)
        self.sent.append((called, json.loads(request.data)))
        answer = self.answers[called].pop(0)
        if isinstance(answer, Exception):
            raise answer
        return io.BytesIO(json.dumps(answer).encode())


def test_a_heartbeat_of_the_example_that_was_lost_is_repeated_with_what_is_held_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = FakeServer(monkeypatch, beat_every=0)
    server.answers["beat"] = [OSError("lost"), {"is_open": False}]

    session = server.example.Session(["add"])
    session.held[:] = ["lease"]
    server.is_ready.set()

    assert session.over.wait(30)
    assert server.sent[1] == ("beat", {"held": ["lease"], "again": True})


def test_the_example_claims_again_when_its_drain_was_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    server = FakeServer(monkeypatch, beat_every=3600)
    server.answers = {"leave": [{"has_left": False}, {"has_left": True}], "claim": [{"tasks": []}]}
    server.is_ready.set()
    session = server.example.Session(["add"])

    session.draining.set()
    session.claim()
    session.claim()
    was_stopped = server.example.stop.is_set()
    session.draining.set()
    session.claim()
    session.over.set()

    assert [called for called, _ in server.sent] == ["leave", "claim", "leave"]
    assert (was_stopped, server.example.stop.is_set()) == (False, True)


def test_the_example_workers_are_short_and_need_nothing_installed() -> None:
    texts = {path: path.read_text() for path in (PLAIN, DURABLE)}
    lines = {path: [line for line in text.splitlines() if line.strip()] for path, text in texts.items()}
    imports = {path: [line for line in each if line.startswith(("import ", "from "))] for path, each in lines.items()}

    assert len(_code(PLAIN)) - len(imports[PLAIN]) <= 65
    assert len(_code(DURABLE)) - len(imports[DURABLE]) <= 45
    modules = {line.split()[1].partition(".")[0] for each in imports.values() for line in each}
    assert modules <= {*sys.stdlib_module_names, PLAIN.stem}


def _code(program: Path) -> list[str]:
    """Return the lines of a program that are neither empty, nor comments, nor documentation."""
    text = program.read_text()
    documented = {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None
        for number in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    lines = enumerate(text.splitlines(), 1)
    return [line for n, line in lines if line.strip() and n not in documented and not line.lstrip().startswith("#")]


def test_the_numbers_in_the_protocol_page_are_those_of_the_code() -> None:
    page = PROTOCOL.read_text()

    assert f'"beat_every": {BEAT_EVERY}' in page
    assert f"At most {MOST_CHUNKS:,} pieces" in page
    assert f"at most {MOST_CHUNKS:,} in a request" in page
    assert f"at most {DEFAULT_LIMITS.artifact // 2**20} MiB" in page
    assert json.dumps({"outcome": "released"})[1:-1] in page


def test_every_call_of_the_protocol_is_on_its_page() -> None:
    page = PROTOCOL.read_text()

    assert [one.path for one in OPERATIONS if f"{one.method:<6} {one.path}" not in page] == []
