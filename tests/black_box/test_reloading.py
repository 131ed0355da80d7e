"""`drumline dev --reload`: a supervisor and the server that it starts again."""

from pathlib import Path

import psutil
import pytest

from tests.black_box.server import Server

pytestmark = pytest.mark.faults


def test_a_supervisor_that_is_killed_leaves_no_server_behind(tmp_path: Path) -> None:
    supervisor = Server(tmp_path / "data", "--reload").start()
    (server,) = psutil.Process(supervisor.pid).children()

    supervisor.kill()

    psutil.wait_procs([server], timeout=60)
    assert not server.is_running()
