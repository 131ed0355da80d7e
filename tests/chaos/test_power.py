"""Writes to files that were not synced are undone after a power cut, and those that were synced stay."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.chaos.power import UnsyncedWrites

SYNCED_THEN_NOT = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.pwrite(file, b"synced", 0)
os.fsync(file)
os.pwrite(file, b"UN", 2)
os.lseek(file, 6, 0)
os.write(file, b"longer")
os.kill(os.getpid(), 9)
"""


class All(Random):
    """Chance that undoes everything."""

    def choice(self, seq: list[float]) -> float:  # type: ignore[override]
        return seq[0]


def test_only_what_was_synced_is_left_after_a_power_cut(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    unsynced = UnsyncedWrites(tmp_path, data)
    if unsynced.reason:
        pytest.skip(unsynced.reason)
    command = [sys.executable, "-c", SYNCED_THEN_NOT, str(data / "file")]

    done = subprocess.run(command, env={**os.environ, **unsynced.environment()}, check=False)

    assert done.returncode == -9
    assert (data / "file").read_bytes() == b"syUNedlonger"
    assert unsynced.drop(All()) == (2, 2)
    assert (data / "file").read_bytes() == b"synced"
    assert unsynced.unsynced() == []
