"""What a `shell` task finds of what the server was told by its environment."""

import sys
from pathlib import Path

import pytest

from tests.black_box.server import Server

KEY = "a-first-key-that-nobody-else-has-told"
LOOK = "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'; env; true"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")
def test_a_shell_task_finds_the_first_key_in_the_environment_of_no_process(tmp_path: Path) -> None:
    with Server(tmp_path / "data", api_key=KEY, allow_shell="true") as server:
        first = server.submit("shell", payload={"shell": "true"})  # with it come the processes that watch over programs
        server.until_ended(first)
        task = server.submit("shell", payload={"shell": LOOK})
        ended = server.until_ended(task)
        log = server.ask("GET", f"/api/v1/tasks/{task}/log")[1]

    assert ended["status"] == "COMPLETED"
    assert "PATH=" in log
    assert KEY not in log
    assert KEY not in str(ended["result"])
