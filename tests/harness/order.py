"""The order of test files: those that take long are not among the last, where all but one process would wait for them.

Processes take the next file of the list whenever they have finished one, so the list alone decides when a file begins.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

import pytest
from xdist.remote import Producer
from xdist.scheduler.loadfile import LoadFileScheduling

LANES: Final = ("tests/ui/",)
"""Folders whose files do not run beside each other: a browser keeps two cores busy by itself."""
LONG_SECONDS: Final = 300
"""Files with tests that may take so long begin early, as do those that kill processes."""
USUAL_SECONDS: Final = 120


class LaneScheduling(LoadFileScheduling):
    """Gives a process the next file, or all files of a lane."""

    def _split_scope(self, nodeid: str) -> str:
        return lane_of(nodeid.split("::", 1)[0])


def lane_of(path: str) -> str:
    """Return what is run by one process, one test after the other: a file, or the files of a lane."""
    return next((lane for lane in LANES if path.startswith(lane)), path)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """Share tests by lanes where they are shared by files."""
    return LaneScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin early with what takes long; all else stays in the order by chance that it has."""
    files = [list(file) for _, file in groupby(items, key=lambda item: item.path)]
    places = arranged([len(file) for file in files], [max(map(_seconds, file)) for file in files])
    items[:] = [item for place in places for item in files[place]]


def arranged(sizes: Sequence[int], seconds: Sequence[float]) -> list[int]:
    """Return the places of files in their new order, given how many tests each has and how long one may take.

    What takes long is mixed with the first half of the other tests, so that not all of it runs at the same time; what
    may take longest comes first.
    """
    slow = sorted((place for place, each in enumerate(seconds) if each >= LONG_SECONDS), key=lambda at: -seconds[at])
    quick = [place for place, each in enumerate(seconds) if each < LONG_SECONDS]
    early = sum(sizes[place] for place in quick) / 2
    order: list[int] = []
    passed = 0
    for number, place in enumerate(slow):
        while quick and passed < early * number / len(slow):
            order.append(quick.pop(0))
            passed += sizes[order[-1]]
        order.append(place)
    return order + quick


def _seconds(item: pytest.Item) -> float:
    timeout = item.get_closest_marker("timeout")
    seconds = USUAL_SECONDS if timeout is None else timeout.args[0]
    return max(seconds, LONG_SECONDS) if item.get_closest_marker("faults") else seconds
