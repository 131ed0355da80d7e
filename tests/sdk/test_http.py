"""The wire, when it misbehaves: a scripted server in place of Drumline's."""

import asyncio
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from drumline import (
    Conflict,
    Drumline,
    DrumlineError,
    Forbidden,
    Invalid,
    KeyReused,
    NotFound,
    Overloaded,
    Status,
    Task,
    TaskHandle,
    Unauthorized,
    Unavailable,
)
from drumline.aio.events import StopEvent
from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.api.server import Server
from drumline.core.problem import error_of
from drumline.core.task import TaskRequest
from drumline.sdk import http as http_module
from drumline.sdk.embedded import EmbeddedTransport
from drumline.sdk.http import HttpTransport
from drumline.sdk.locate import ServerLocation
from drumline.sdk.transport import Get, SubmitMany
from drumline.wiring import embedded_engine
from tests.sdk.conftest import KEY, served

ID = "01890a5d-ac96-774b-bcce-b302099a8057"
TASK = b'{"id":"%b","name":"n","queue":"q","status":"QUEUED"}' % ID.encode()


class ScriptedServer:
    """Answers each request with the next line of its script; `HANG_UP` closes the connection instead."""

    HANG_UP = b""

    def __init__(self, *script: bytes) -> None:
        self.requests: list[bytes] = []
        self._script = list(script)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self.requests.append(_read_request(connection))
                connection.sendall(self._script.pop(0))


def _read_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def reply(body: bytes, status: int = 200) -> bytes:
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (status, len(body), body)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_module, "PAUSES", (0.0, 0.0, 0.0))


@pytest.fixture
def servers() -> Iterator[list[ScriptedServer]]:
    servers: list[ScriptedServer] = []
    yield servers
    for server in servers:
        server.close()


def start(servers: list[ScriptedServer], *script: bytes) -> tuple[ScriptedServer, HttpTransport]:
    server = ScriptedServer(*script)
    servers.append(server)
    return server, HttpTransport(f"http://127.0.0.1:{server.port}", api_key="sk_x")


def submission(key: str | None = None) -> SubmitMany:
    return SubmitMany([TaskRequest(name="n", idempotency_key=key)])


def test_a_look_is_repeated_when_the_connection_breaks(servers: list[ScriptedServer]) -> None:
    server, transport = start(servers, ScriptedServer.HANG_UP, reply(b"{}", 503), reply(TASK))

    assert transport.send(Get(ID)).status is Status.QUEUED  # type: ignore[arg-type]

    assert len(server.requests) == 3
    assert b"authorization: bearer sk_x" in server.requests[0].lower()


def test_a_submission_whose_answer_was_lost_is_not_sent_twice(servers: list[ScriptedServer]) -> None:
    server, transport = start(servers, ScriptedServer.HANG_UP)

    with pytest.raises(Unavailable, match="broke"):
        transport.send(submission())

    assert len(server.requests) == 1


def test_a_submission_with_a_key_may_be_sent_again(servers: list[ScriptedServer]) -> None:
    server, transport = start(servers, ScriptedServer.HANG_UP, reply(b'{"id":"%b"}' % ID.encode()))

    assert transport.send(submission("once")) == [ID]

    assert len(server.requests) == 2


def test_nobody_listening_is_told_with_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    with pytest.raises(Unavailable, match=rf"no Drumline server at http://127\.0\.0\.1:{port}"):
        HttpTransport(f"http://127.0.0.1:{port}").send(submission())


def test_something_else_that_answers_is_told_apart(servers: list[ScriptedServer]) -> None:
    _, transport = start(servers, reply(b"<html>hello</html>"))

    with pytest.raises(DrumlineError, match="not a Drumline server"):
        transport.send(Get(ID))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (401, b'{"code":"unauthorized","detail":"no key"}', Unauthorized),
        (403, b"", Forbidden),
        (404, b'{"code":"not_found"}', NotFound),
        (409, b'{"code":"conflict"}', Conflict),
        (413, b'{"code":"too_large","field":"payload"}', Invalid),
        (422, b'{"code":"idempotency_key_reused"}', KeyReused),
        (422, b'{"code":"invalid","field":"queue","detail":"queue: is bad"}', Invalid),
        (429, b"slow down", Overloaded),
        (500, b"<html>", Unavailable),
        (502, b"bad gateway", Unavailable),
        (503, b'{"code":"overloaded"}', Overloaded),
    ],
)
def test_problems_become_the_errors_that_they_were(status: int, body: bytes, error: type[DrumlineError]) -> None:
    assert type(error_of(status, body)) is error


def test_an_error_keeps_its_message_field_and_code() -> None:
    error = error_of(422, b'{"code":"too_deep","field":"payload","detail":"payload: is nested too deeply"}')

    assert (error.message, error.field, error.code) == ("is nested too deeply", "payload", "too_deep")


def test_a_wrong_key_is_refused(house: EmbeddedTransport) -> None:
    with served(house) as port:
        app = Drumline("test", url=f"http://127.0.0.1:{port}", api_key="sk_wrong")
        with pytest.raises(
            Unauthorized, match=r"not valid\. Give a key with DRUMLINE_API_KEY or Drumline\(…, api_key=…\)"
        ):
            app.submit_task("ping")
        app.close()


def test_a_large_batch_is_split_by_its_bytes(house: EmbeddedTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_module, "MOST_BYTES", 2_000)
    with served(house) as port:
        app = Drumline("test", url=f"http://127.0.0.1:{port}", api_key=KEY)
        echo = app.task(name="echo")(_echo)

        handles = app.submit_many([echo.call(f"{n}" * 700) for n in range(9)])

        payloads = [bytes(handle.info().payload) for handle in handles if isinstance(handle, TaskHandle)]
        assert payloads == [b'{"text":"%b"}' % (b"%d" % n * 700) for n in range(9)]
        app.close()


def _echo(text: str) -> str:
    return text


async def test_more_waiters_than_threads_do_not_hold_up_submissions(house: EmbeddedTransport) -> None:
    with served(house) as port:
        app = Drumline("test", url=f"http://127.0.0.1:{port}", api_key=KEY)
        echo: Task[[str], str] = app.task(name="echo")(_echo)
        handles = await asyncio.gather(*(echo.asubmit(str(n)) for n in range(60)))
        waiting = [asyncio.create_task(handle.aresult(30)) for handle in handles]
        await asyncio.sleep(0)

        last = await asyncio.wait_for(echo.asubmit("last"), 5)
        await asyncio.wait_for(asyncio.gather(*(handle.acancel() for handle in [*handles, last])), 20)
        ended = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 20)

        assert {type(end).__name__ for end in ended} == {"TaskCancelled"}
        app.close()


def test_waiting_for_a_result_survives_a_restart_of_the_server(house: EmbeddedTransport) -> None:
    with served(house) as port:
        app = Drumline("test", url=f"http://127.0.0.1:{port}", api_key=KEY)
        handle = app.submit_task("ping")

    waiter = threading.Thread(target=lambda: ends.append(_end_of(handle)), daemon=True)
    ends: list[str] = []
    waiter.start()
    with served(house, port=port):
        handle.cancel()
        waiter.join(20)

        assert ends == ["TaskCancelled"]
        app.close()


def _end_of(handle: TaskHandle[object]) -> str:
    try:
        handle.result(timeout=30)
    except DrumlineError as error:
        return type(error).__name__
    return "result"


def test_a_server_that_runs_on_the_data_folder_is_found_with_its_key(house: EmbeddedTransport, tmp_path: Path) -> None:
    with served(house) as port:
        _write_note(tmp_path, port)
        (tmp_path / "api-key").write_text(f"{KEY}\n")
        app = Drumline("test", data=tmp_path)

        assert app.submit_task("ping").url.startswith(f"http://127.0.0.1:{port}/ui/tasks/")
        app.close()


async def test_the_first_async_submission_finds_a_server_on_its_own_loop(tmp_path: Path) -> None:
    # As in `drumline dev`, where an async task submits to the server of its own process.
    engine = await embedded_engine(ServerLocation(data=tmp_path))
    stop = StopEvent()
    server = Server(create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="0"), stop=stop), port=0)
    serving = asyncio.create_task(server.run(stop))
    _write_note(tmp_path, server.port)
    app = Drumline("test", data=tmp_path, api_key=KEY)

    handle = await asyncio.wait_for(app.asubmit_task("ping"), 20)

    assert handle.url.startswith("http://")
    await asyncio.to_thread(app.close)
    stop.set()
    await serving
    await engine.close()


def test_a_worker_lends_its_engine_unless_the_app_names_a_server(house: EmbeddedTransport) -> None:
    unnamed, named = Drumline("unnamed"), Drumline("named", url="http://127.0.0.1:1")

    unnamed.use(house, unless_named=True)
    named.use(house, unless_named=True)

    assert unnamed.client.transport is house
    assert isinstance(named.client.transport, HttpTransport)
    named.close()


def test_a_note_of_a_server_that_does_not_answer_is_passed_over(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    _write_note(tmp_path, port)
    app = Drumline("test", data=tmp_path)

    assert app.submit_task("ping").url.startswith("file://")
    app.close()


def _write_note(folder: Path, port: int) -> None:
    (folder / "server.json").write_text(f'{{"url":"http://127.0.0.1:{port}","pid":{os.getpid()}}}')
