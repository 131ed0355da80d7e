"""A fleet is upgraded while it works: migrated under the old version, then replaced process by process."""

import sys
from random import Random

import pytest

from tests.faults.conftest import MakeFleet
from tests.faults.fleet import START_SECONDS, Fleet
from tests.faults.load import Load
from tests.faults.verdict import judge
from tests.harness.version_before import VersionBeforeMissing, version_before

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(240)]


@pytest.fixture(scope="session")
def python_before() -> str:
    """The Python in which the version before the last migration is installed."""
    try:
        return version_before().python
    except VersionBeforeMissing as error:
        pytest.skip(str(error))


class Upgrade:
    """Which version each process of a fleet is of."""

    def __init__(self, fleet: Fleet, before: str) -> None:
        self._fleet = fleet
        self._before = before

    def begin(self) -> None:
        """Have everybody be of the version before."""
        self._fleet.python = self._before
        for member in self._fleet.members.values():
            member.python = self._before

    def migrate(self) -> None:
        """Bring the schema to the new version, while the old ones work on it."""
        fleet = self._fleet
        fleet.python = sys.executable
        member = fleet._enlist("migrate", "migrate", store_url=fleet.postgres.url())
        fleet.restart("migrate")
        assert member.process is not None
        assert member.process.wait(START_SECONDS) == 0, member.text
        del fleet.members["migrate"]

    def replace(self, *names: str) -> None:
        """Stop processes in order, and start them in the new version."""
        for name in names:
            assert self._fleet.terminate(name) == 0, self._fleet.members[name].text
            self._fleet.members[name].python = sys.executable
            self._fleet.restart(name)
        self._fleet.until_at_work()


def test_old_and_new_work_side_by_side_and_nothing_is_lost(
    make_fleet: MakeFleet, python_before: str, chance: Random
) -> None:
    def prepare(fleet: Fleet) -> None:
        Upgrade(fleet, python_before).begin()

    with make_fleet(apis=2, schedulers=2, near=2, far=1, prepare=prepare) as fleet:
        upgrade = Upgrade(fleet, python_before)
        with Load(fleet, chance, per_second=40) as load:
            upgrade.migrate()
            # The worker far away has one server here, not several behind an address: it stays as it is.
            upgrade.replace("near-1", "scheduler-1", "api-2", "far-1")
            load.hold(12, seconds=0.5)  # old and new work together for a while
            upgrade.replace("near-2", "scheduler-2")
        verdict = judge(fleet, load, within=30)

    print(verdict)  # noqa: T201
    assert verdict.doubles == 0
    assert verdict.outcomes["crashed"] == 0
