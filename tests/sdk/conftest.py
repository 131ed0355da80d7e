from collections.abc import Iterator
from pathlib import Path

import pytest

from drumline import Drumline
from drumline.sdk.embedded import EmbeddedTransport


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set outside does not reach the tests."""
    for name in ("DRUMLINE_URL", "DRUMLINE_API_KEY", "DRUMLINE_DATA"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Drumline[None]]:
    """An app with an engine of its own, in this process."""
    app = Drumline("test", data=tmp_path)
    yield app
    app.close()


@pytest.fixture
def transport(app: Drumline[None]) -> EmbeddedTransport:
    """The way to the app's engine."""
    transport = app.client.transport
    assert isinstance(transport, EmbeddedTransport)
    return transport
