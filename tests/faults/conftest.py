"""Fleets, their chance, and what their processes said when a test failed."""

import os
import re
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import pytest

from tests.faults.fleet import Fleet
from tests.harness import postgres, redis

MakeFleet = Callable[..., AbstractContextManager[Fleet]]

_running: list[Fleet] = []
_last_lines: list[tuple[str, str]] = []
"""What the processes of a fleet said that ended with its test."""
_whole_logs: list[tuple[str, str]] = []
EVIDENCE = Path(os.environ.get("DRUMLINE_TEST_EVIDENCE", ".evidence"))
"""Where all that is known of a test that failed is kept: such a failure may not come again for days."""


@pytest.fixture(scope="session")
def make_fleet(tmp_path_factory: pytest.TempPathFactory) -> MakeFleet:
    """Start a fleet of so many processes of each kind, and end it with the block."""
    if reason := postgres.missing() or redis.missing():
        pytest.skip(reason)
    if postgres.ADDRESS or redis.ADDRESS:
        pytest.skip("the servers that the environment names are not ours to kill")

    @contextmanager
    def make(
        *,
        apis: int = 2,
        schedulers: int = 2,
        near: int = 2,
        far: int = 2,
        prepare: Callable[[Fleet], None] = lambda _fleet: None,
        **more: Any,
    ) -> Iterator[Fleet]:
        folder = tmp_path_factory.mktemp("fleet")
        fleet = Fleet(folder, apis=apis, schedulers=schedulers, near=near, far=far, **more)
        prepare(fleet)
        _running.append(fleet)
        try:
            yield fleet.start()
        except BaseException:
            _last_lines.extend(fleet.logs())
            _whole_logs.extend((name, member.text) for name, member in fleet.members.items())
            raise
        finally:
            _running.remove(fleet)
            fleet.close()

    return make


@pytest.fixture
def chance() -> Random:
    """Chance that can be had again: its seed is printed, and taken from DRUMLINE_TEST_SEED."""
    seed = int(os.environ.get("DRUMLINE_TEST_SEED") or SystemRandom().randrange(1_000_000))
    print(f"DRUMLINE_TEST_SEED={seed}")  # noqa: T201 - shown when the test fails
    return Random(seed)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the last lines of every process under a test that failed."""
    report = yield
    if report.failed:
        told = [*_last_lines, *(lines for fleet in _running for lines in fleet.logs())]
        report.sections += [(f"last lines of {name}", lines) for name, lines in told]
        report.sections.append(("evidence", f"all of it is in {_keep(report)}"))
    _last_lines.clear()
    _whole_logs.clear()
    return report


def _keep(report: pytest.TestReport) -> Path:
    """Write down what is known of a failure, and return where."""
    EVIDENCE.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "-", report.nodeid.rpartition("::")[2])
    file = EVIDENCE / f"{name}-{time.strftime('%Y%m%dT%H%M%S')}.txt"
    logs = [*_whole_logs, *((name, member.text) for fleet in _running for name, member in fleet.members.items())]
    parts = [("failure", report.longreprtext), ("load average", str(os.getloadavg())), *report.sections, *logs]
    file.write_text("\n".join(f"== {title}\n{text}" for title, text in parts), encoding="utf-8")
    return file.resolve()
