"""The version before this one: the sources before the last migration, installed with what they needed.

It is made once for each commit, in `build/before/COMMIT`: by the installer of that version, in an environment of its
own, since this version may need other packages.
"""

import fcntl
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from scripts import programs

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "before"
MIGRATIONS = "src/drumline/stores/postgres/migrations"
LAST_LINES = 5


class VersionBeforeMissing(Exception):
    """It cannot be had here; the text says why."""


class VersionBefore(NamedTuple):
    """A commit, and the Python of the environment in which it is installed."""

    commit: str
    python: str
    sources: Path


def version_before() -> VersionBefore:
    """Return the version before the last migration, installed if it is not yet; `VersionBeforeMissing` says why not."""
    added = _git("log", "-1", "--format=%H", "--diff-filter=A", "--", MIGRATIONS).decode().strip()
    if not added:
        raise VersionBeforeMissing("the history before the last migration is missing: git fetch --unshallow")
    commit = _git("rev-parse", "--verify", f"{added}~1").decode().strip()
    folder = FOLDER / commit
    folder.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{commit}.lock").open("w") as lock:  # several processes of a test run may want it at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ".installed").exists():
            _install(commit, folder)
            (folder / ".installed").touch()
    return VersionBefore(commit, str(folder / ".venv" / "bin" / "python"), folder)


def _install(commit: str, folder: Path) -> None:
    _run(["tar", "-x", "-C", str(folder)], folder, given=_git("archive", commit))
    _run([sys.executable, "-m", "venv", "--clear", ".venv"], folder)
    _run(["scripts/install", ".venv", "run"], folder)


def _git(*words: str) -> bytes:
    git = programs.find_program("git")
    if git is None:
        raise VersionBeforeMissing("git is missing")
    return _run([git, "-C", str(ROOT), *words], ROOT)


def _run(command: list[str], folder: Path, given: bytes = b"") -> bytes:
    done = subprocess.run(command, cwd=folder, input=given, check=False, capture_output=True)
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").strip().splitlines()[-LAST_LINES:])
        raise VersionBeforeMissing(f"the version before cannot be had: {' '.join(command)}: {said}")
    return done.stdout
