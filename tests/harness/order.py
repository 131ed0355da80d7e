"""Which test files run beside each other, and which begin first.

A process takes the next file of the list whenever it has finished one. Files that take long begin first, so that no
process works on one of them at the end while the others have nothing to do.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from xdist.remote import Producer
from xdist.scheduler.loadfile import LoadFileScheduling

LANES: Final = ("tests/ui/",)
"""Folders whose files one process runs, one after the other: a browser keeps two cores busy by itself."""
USUAL_SECONDS: Final = 120

Turn = tuple[bool, bool, float]
"""What files are put in order by: those of lanes, then those that kill processes, then those that may take longest."""


class LaneScheduling(LoadFileScheduling):  # type: ignore[misc] # xdist has no types
    """Gives a process the next file, or all files of a lane."""

    def _split_scope(self, nodeid: str) -> str:
        return lane_of(nodeid.split("::", 1)[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """Share tests by lanes where they are shared by files."""
    return LaneScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Put files in their order; the order by chance that tests and equal files have stays."""
    yield
    turns: dict[Path, Turn] = {}
    for item in items:
        turns[item.path] = min(turns.get(item.path, (True, True, 0.0)), _turn(item))
    items.sort(key=lambda item: turns[item.path])


def lane_of(path: str) -> str:
    """Return what is run by one process, one test after the other: a file, or the files of a lane."""
    return next((lane for lane in LANES if path.startswith(lane)), path)


def turn_of(path: str, *, kills: bool, seconds: float) -> Turn:
    """Return the turn of a test, given its file, whether it kills processes, and how long it may take."""
    return (lane_of(path) == path, not kills, -seconds)


def _turn(item: pytest.Item) -> Turn:
    timeout = item.get_closest_marker("timeout")
    return turn_of(
        item.nodeid.split("::", 1)[0],
        kills=item.get_closest_marker("faults") is not None,
        seconds=USUAL_SECONDS if timeout is None else timeout.args[0],
    )
