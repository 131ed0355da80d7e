"""Any process may be killed at any moment, in any order."""

import time
from random import Random

import pytest

from tests.faults.conftest import MakeFleet
from tests.faults.fleet import Fleet
from tests.faults.load import Load
from tests.faults.traces import held_by
from tests.faults.verdict import judge

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(240)]

KILL_EVERY = 2.5
DOWN_SECONDS = (0.5, 4.0)
AT_WORK_SECONDS = 3.0
"""How long a worker is waited for that has nothing to do when its turn comes."""


def test_killing_everybody_in_any_order_loses_nothing_and_repeats_nothing_completed(
    make_fleet: MakeFleet, chance: Random
) -> None:
    with make_fleet(poison_after="20") as fleet:  # by bad luck one task may go down with several workers
        order = chance.sample(list(fleet.members), len(fleet.members))
        print(order)  # noqa: T201

        with Load(fleet, chance) as load:
            load.hold(8, seconds=1.0)
            _kill_in_turn(fleet, order, chance)
            fleet.until_at_work()
        verdict = judge(fleet, load, within=60)

        print(verdict)  # noqa: T201
        assert verdict.tasks > 500
        assert verdict.outcomes["crashed"] > 0, "nobody was killed at work"


def _await_work(fleet: Fleet, name: str) -> None:
    """Wait until a worker is in the middle of something, unless it gets nothing because others are down."""
    deadline = time.monotonic() + AT_WORK_SECONDS
    pid = fleet.members[name].pid
    while name.startswith(("near-", "far-")) and not held_by(pid, fleet.traces) and time.monotonic() < deadline:
        time.sleep(0.01)


def _kill_in_turn(fleet: Fleet, order: list[str], chance: Random) -> None:
    """Kill each, and start it again a bit later, when others may be down too."""
    restarts: dict[str, float] = {}
    began = time.monotonic()
    for number, name in enumerate(order, 1):
        _await_work(fleet, name)
        print(f"{time.time():.3f} kill {name}: {fleet.kill(name)}")  # noqa: T201
        restarts[name] = time.monotonic() + chance.uniform(*DOWN_SECONDS)
        while restarts and (number == len(order) or time.monotonic() < began + number * KILL_EVERY):
            for due in [name for name, when in restarts.items() if time.monotonic() >= when]:
                fleet.restart(due)
                print(f"{time.time():.3f} start {due}: {fleet.members[due].pid}")  # noqa: T201
                del restarts[due]
            time.sleep(0.05)
