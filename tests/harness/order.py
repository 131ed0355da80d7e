"""The order of tests: those that take long are not among the last, where all but one process would wait for them."""

import os
from collections.abc import Sequence
from itertools import groupby
from typing import Final

import pytest

LONG_SECONDS: Final = 300
"""Modules whose tests may take so long begin early, as do those that kill processes."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin early with what takes long; all else stays in the order by chance that it has."""
    blocks = [list(block) for _, block in groupby(items, key=lambda item: item.path)]
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    long = [any(map(_takes_long, block)) for block in blocks]
    places = arranged([len(block) for block in blocks], long, processes)
    items[:] = [item for place in places for item in blocks[place]]


def arranged(sizes: Sequence[int], long: Sequence[bool], processes: int) -> list[int]:
    """Return the places of blocks in their new order, given how many tests each has and whether they take long.

    Each process begins with an equal run of the list: each gets its share of what takes long, mixed with two thirds of
    its other blocks. A block stays together, since its tests share what they set up.
    """
    slow = [place for place, is_long in enumerate(long) if is_long]
    quick = [place for place, is_long in enumerate(long) if not is_long]
    order: list[int] = []
    for process in range(processes):
        mine = slow[process::processes]
        upto = sum(sizes) * (process + 1) // processes - sum(sizes[place] for place in [*order, *mine])
        others: list[int] = []
        while quick and (process == processes - 1 or sum(sizes[place] for place in others) < upto):
            others.append(quick.pop(0))
        early = len(others) * 2 // 3
        for number, place in enumerate(mine):
            order += [place, *others[early * number // len(mine) : early * (number + 1) // len(mine)]]
        order += others[early if mine else 0 :]
    return order


def _takes_long(item: pytest.Item) -> bool:
    timeout = item.get_closest_marker("timeout")
    return item.get_closest_marker("faults") is not None or (timeout is not None and timeout.args[0] >= LONG_SECONDS)
