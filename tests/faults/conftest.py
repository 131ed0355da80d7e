"""Fleets, their chance, and what their processes said when a test failed."""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from random import Random, SystemRandom
from typing import Any

import pytest

from tests.faults.fleet import Fleet
from tests.harness import postgres, redis

MakeFleet = Callable[..., AbstractContextManager[Fleet]]

_running: list[Fleet] = []
_last_lines: list[tuple[str, str]] = []
"""What the processes of a fleet said that ended with its test."""


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
    _last_lines.clear()
    return report
