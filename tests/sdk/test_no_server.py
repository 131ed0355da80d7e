"""Tasks are not written into a folder that nobody asked for, and that no worker reads."""

import asyncio
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from drumline import Drumline, DrumlineError, NoServer

PROGRAM = """
from drumline import Drumline

app = Drumline("lost")
print(app.submit_task("ping").id)
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_program_that_has_lost_its_server_is_told_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(NoServer, match="DRUMLINE_URL") as caught:
        Drumline("lost").submit_task("ping")

    assert isinstance(caught.value, DrumlineError)
    assert str(tmp_path / ".drumline") in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_async_programs_are_told_too(tmp_path: Path) -> None:
    async def connect() -> None:
        async with Drumline("lost").connected():
            pass

    with pytest.raises(NoServer):
        asyncio.run(Drumline("lost").asubmit_task("ping"))
    with pytest.raises(NoServer):
        asyncio.run(connect())

    assert list(tmp_path.iterdir()) == []


def test_naming_the_folder_asks_for_embedded_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_argument = Drumline("asked", data=".drumline")
        by_argument.submit_task("ping")
        by_argument.close()
        monkeypatch.setenv("DRUMLINE_DATA", str(tmp_path / "other"))
        by_environment = Drumline("asked")
        by_environment.submit_task("ping")
        by_environment.close()

    assert (tmp_path / ".drumline" / "drumline.db").exists()
    assert (tmp_path / "other" / "drumline.db").exists()


def test_a_worker_in_the_process_asks_for_embedded_use() -> None:
    app = Drumline("asked")

    @app.task
    def add(a: int, b: int) -> int:
        return a + b

    with app.running():
        assert add.submit(2, 3).result(timeout=30) == 5


def test_data_without_a_server_is_used_with_a_loud_warning(tmp_path: Path) -> None:
    made = Drumline("asked", data=".drumline")
    made.submit_task("ping")
    made.close()

    found = Drumline("found")
    with pytest.warns(RuntimeWarning, match="no Drumline server runs here") as caught:
        found.submit_task("ping")
    found.close()

    assert str(tmp_path / ".drumline") in str(caught[0].message)


def test_a_program_ends_with_the_error_and_prints_the_warning(tmp_path: Path) -> None:
    program = tmp_path / "lost.py"
    program.write_text(PROGRAM)

    lost = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    made = Drumline("asked", data=".drumline")
    made.submit_task("ping")
    made.close()
    warned = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)

    assert lost.returncode == 1
    assert "NoServer: nothing says where tasks go" in lost.stderr
    assert warned.returncode == 0
    assert f"RuntimeWarning: no Drumline server runs here: tasks are written into {tmp_path}" in warned.stderr
