import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from drumline import Drumline
from drumline.aio.events import StopEvent
from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.api.server import Server
from drumline.engine.engine import Engine
from drumline.sdk.embedded import EmbeddedTransport, open_embedded
from drumline.sdk.locate import ServerLocation

KEY = "sk_test_key"


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set outside does not reach the tests."""
    for name in ("DRUMLINE_URL", "DRUMLINE_API_KEY", "DRUMLINE_DATA"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[EmbeddedTransport]:
    """An engine on a background loop."""
    house = open_embedded(ServerLocation(data=tmp_path))
    yield house
    house.close()


@contextmanager
def served(house: EmbeddedTransport, *, port: int = 0) -> Iterator[int]:
    """Serve the engine's API inside the block; gives the port."""
    assert isinstance(house.engine, Engine)
    stop = StopEvent()
    server = Server(
        create_app(house.engine, keys=ConfiguredKeys([KEY]), info=Info(version="0"), stop=stop),
        host="127.0.0.1",
        port=port,
    )
    serving = house.thread.start(server.run(stop))
    try:
        _await_listening(server.port)
        yield server.port
    finally:
        house.thread.loop.call_soon_threadsafe(stop.set)
        serving.result(10)


def _await_listening(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise TimeoutError(f"nothing listens on port {port}")


@pytest.fixture(params=["embedded", "http"])
def app(request: pytest.FixtureRequest, house: EmbeddedTransport) -> Iterator[Drumline[None]]:
    """An app that reaches the engine in this process, and one that reaches it over HTTP."""
    if request.param == "embedded":
        app = Drumline("test")
        app.use(house)
        yield app
        return
    with served(house) as port:
        app = Drumline("test", url=f"http://127.0.0.1:{port}/", api_key=KEY)
        yield app
        app.close()
