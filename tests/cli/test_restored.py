"""`drumline restored` is for a store that was restored, and on which nothing runs."""

import shutil
from pathlib import Path

import pytest

from drumline.cli.errors import ExitCode
from tests.black_box.server import Server
from tests.cli.conftest import Drumline


def test_a_store_that_a_server_uses_is_left_alone(online: Drumline, server: Server) -> None:
    ran = online("restored", "--yes")

    assert ran.code == ExitCode.CONFLICT
    assert f"a server is running on {server.data}" in ran.err


def test_a_folder_without_a_store_gets_none(drumline: Drumline, tmp_path: Path) -> None:
    ran = drumline("restored", "--yes", "--data", str(tmp_path / "none"))

    assert ran.code == ExitCode.NOT_FOUND
    assert not (tmp_path / "none" / "drumline.db").exists()


@pytest.mark.parametrize("yes", [True, False])
def test_a_restored_store_is_finished_when_somebody_says_so(
    drumline: Drumline, server: Server, tmp_path: Path, yes: bool
) -> None:
    copy = tmp_path / "copy.db"
    assert drumline("backup", str(copy), "--data", str(server.data)).code == ExitCode.OK
    (tmp_path / "data").mkdir()
    shutil.copy(copy, tmp_path / "data" / "drumline.db")

    ran = drumline("restored", "--data", str(tmp_path / "data"), *(["--yes"] if yes else []))

    if yes:
        assert ran.code == ExitCode.OK, ran.err
        assert "Events come from the log" in ran.err
    else:
        assert ran.code == ExitCode.USAGE
        assert "add --yes" in ran.err
