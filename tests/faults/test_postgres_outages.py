"""PostgreSQL crashes, stops and freezes under load: everything waits for it, and nothing is lost or done twice."""

import time
from random import Random

import pytest

from tests.faults.conftest import MakeFleet
from tests.faults.fleet import Fleet
from tests.faults.load import Load
from tests.faults.verdict import judge

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(300)]

OUTAGE_SECONDS = 20.0
"""More than a session's TTL."""
HELD = 8


def test_outages_of_the_database_lose_nothing_reap_nobody_and_need_nobody(
    make_fleet: MakeFleet, chance: Random
) -> None:
    with make_fleet(schedulers=2, near=2, far=1) as fleet:
        with Load(fleet, chance) as load:
            _crash(fleet, chance)
            _crash(fleet, chance)
            load.hold(HELD, seconds=OUTAGE_SECONDS + 3)
            _stop_for_long(fleet)
            time.sleep(2)
            load.hold(HELD, seconds=OUTAGE_SECONDS + 3)
            _freeze_for_long(fleet)
            time.sleep(2)
        verdict = judge(fleet, load, within=60)

        print(verdict)  # noqa: T201
        assert verdict.tasks > 300
        assert verdict.doubles == 0
        assert verdict.outcomes["crashed"] == 0, "an outage is nobody's death"


def _crash(fleet: Fleet, chance: Random) -> None:
    time.sleep(chance.uniform(2.0, 4.0))
    fleet.postgres.crash()
    time.sleep(chance.choice([0.0, 1.0]))
    fleet.postgres.start()


def _stop_for_long(fleet: Fleet) -> None:
    """Stop the database; an API server and a scheduler that are started meanwhile have to wait for it."""
    fleet.postgres.stop()
    for name in ("api-2", "scheduler-2"):
        fleet.kill(name)
        fleet.restart(name)
    time.sleep(OUTAGE_SECONDS)
    fleet.postgres.start()
    fleet.until_at_work()


def _freeze_for_long(fleet: Fleet) -> None:
    fleet.postgres.freeze()
    time.sleep(OUTAGE_SECONDS)
    fleet.postgres.thaw()
