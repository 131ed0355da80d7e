"""The doctor on the command line."""

import socket
from pathlib import Path

from drumline.cli.errors import ExitCode
from tests.cli.conftest import Drumline


def test_what_is_wrong_is_said_with_what_to_do_and_ends_with_a_status(drumline: Drumline, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        (tmp_path / "drumline.yaml").write_text(f"port: {taken.getsockname()[1]}\n")
        told = drumline("doctor", "--quiet")
        strict = drumline("doctor", "--strict", "--json")
    (tmp_path / "drumline.yaml").write_text("prot: 1\n")
    broken = drumline("doctor")

    assert told.code == 0
    assert "WARNING  127.0.0.1:" in told.out
    assert "Stop it, or set another `port`." in told.out
    assert (strict.code, strict.json["healthy"]) == (ExitCode.FAILED, False)
    assert {finding["check"] for finding in strict.json["findings"]} >= {"settings", "disk", "port", "store"}
    assert broken.code == ExitCode.FAILED
    assert "PROBLEM  drumline.yaml sets prot, which does not exist; did you mean port?" in broken.out
