"""One server that the gentle tests share, with a task in it that fails for real from the start."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.black_box.server import Server


class Shared(Server):
    """The shared server, and where its failing task leaves its traces."""

    failing: str
    traces: Path


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    folder = tmp_path_factory.mktemp("shared")
    with Shared(folder / "data") as server:
        # It takes 14 seconds to fail for good; meanwhile the other tests go on.
        server.traces = folder / "failing"
        server.failing = server.submit("work.fail", payload={"file": str(server.traces)})
        yield server
        assert server.terminate() == 0
