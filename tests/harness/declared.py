"""Fails a test whose process starts an outside program that scripts/programs.toml does not name.

On a machine where such a program happens to be installed nothing else would tell: the test would pass here, and fail on
every bare machine.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scripts.programs import ROOT, TABLE, declared

MISSING_FAILS = "DRUMLINE_TEST_MISSING_FAILS"
"""Set where everything can be installed: there a test that lacks a program fails instead of being skipped."""
_undeclared: list[str] = []
_phases: list[str] = []


class Undeclared(FileNotFoundError):
    """A program was about to be started that the table does not name: as if it were missing, which it may be."""


def pytest_configure() -> None:
    """Check every program that tests and their fixtures start in this process."""
    sys.addaudithook(_look)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Watch what fixtures start."""
    with _watched("setup"):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Watch what the test starts."""
    with _watched("call"):
        yield


@contextmanager
def _watched(phase: str) -> Iterator[None]:
    """Fail the test though something else may have caught what `_look` raised."""
    _undeclared.clear()
    _phases.append(phase)
    try:
        yield
    finally:
        _phases.pop()
    if _undeclared:
        raise Undeclared(_undeclared.pop())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip for a missing program into a failure, if the environment says so."""
    report = yield
    if os.environ.get(MISSING_FAILS) and report.skipped and " is missing: " in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = str(report.longrepr)
    return report


def is_declared(program: str) -> bool:
    """Tell whether tests may start a program: one of the table, of this source tree, or of its Python."""
    found = Path(shutil.which(program) or program)
    if not found.exists() or declared(found.name) is not None:
        return True  # what does not exist cannot be started
    if found.resolve() == Path(sys.executable).resolve():
        return True
    # The environment of the tests, and not a system's Python with all programs of the system beside it.
    ours = (ROOT, tempfile.gettempdir(), *((sys.prefix,) if sys.prefix != sys.base_prefix else ()))
    return any(path.is_relative_to(folder) for path in (found.absolute(), found.resolve()) for folder in ours)


def _look(event: str, arguments: tuple[object, ...]) -> None:
    if event not in {"subprocess.Popen", "os.exec", "os.posix_spawn"} or not _phases:
        return
    program = arguments[0]
    if isinstance(program, str | bytes | os.PathLike) and not is_declared(os.fsdecode(program)):
        text = f"{os.fsdecode(program)} is not in {TABLE.relative_to(ROOT)}: declare every program that tests start"
        _undeclared.append(text)
        raise Undeclared(text)
