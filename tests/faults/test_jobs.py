"""Jobs on real processes: every shape completes, in order, whoever is killed."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
import urllib3

from tests.black_box.server import Server
from tests.faults.conftest import MakeFleet
from tests.faults.fleet import APP, Fleet, until
from tests.faults.graphs import Running, chain, diamond, fan, judge, submit, tangle
from tests.faults.traces import held_by

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

FAN = 5000
CHAIN = 1000
TANGLE = 2000
BRANCH_SECONDS = 3.0
"""Longer than one worker may look for work later than the other."""
PATIENCE = 240.0
"""Seconds for thousands of tasks; how fast they are is measured elsewhere."""
REAPED_SECONDS = 25.0
"""Until the tasks of a killed worker run elsewhere, with some to spare."""


class Alone(Server):
    """`drumline dev` in one process on SQLite, with the tasks that leave traces."""

    kills = 1
    workers = ("the only one",)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "data", "--concurrency", "16", app=APP, poison_after="20")
        self.traces = folder / "traces"
        self.traces.touch()

    def is_at_work(self, _name: str) -> bool:
        """Tell whether tasks run."""
        return bool(held_by(self.pid, self.traces))

    def kill_worker(self, _name: str) -> int:
        """End the only process there is, as a power cut would, and start it again; return which it was."""
        pid = self.pid
        self.kill()
        self.start()
        return pid


class Many:
    """A fleet on PostgreSQL and Redis, with the tasks that leave traces."""

    kills = 3
    workers = ("near-1", "near-2", "far-1", "far-2")

    def __init__(self, fleet: Fleet) -> None:
        self.traces = fleet.traces
        self.ask = fleet.ask
        self._fleet = fleet

    def is_at_work(self, name: str) -> bool:
        """Tell whether a worker runs tasks."""
        return bool(held_by(self._fleet.members[name].pid, self.traces))

    def kill_worker(self, name: str) -> int:
        """End one of the workers and start it again; return which process it was."""
        pid = self._fleet.kill(name)
        self._fleet.restart(name)
        return pid


House = Alone | Many


@pytest.fixture(scope="module", params=["embedded", pytest.param("distributed", marks=pytest.mark.services)])
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    if request.param == "embedded":
        with Alone(tmp_path_factory.mktemp("alone")) as alone:
            yield alone
        return
    make_fleet: MakeFleet = request.getfixturevalue("make_fleet")
    with make_fleet(apis=1, schedulers=2, near=2, far=2, poison_after="20") as fleet:
        yield Many(fleet)


def attempts_of(house: House, job: Running, keys: list[str]) -> dict[str, list[Any]]:
    """Return the attempts of some tasks by id."""
    tasks = [job.tasks[key] for key in keys]
    with ThreadPoolExecutor(8) as callers:
        answers = callers.map(lambda task: house.ask("GET", f"/api/v1/tasks/{task}/attempts")[1]["items"], tasks)
        return dict(zip(tasks, answers, strict=True))


def test_two_branches_run_side_by_side_and_meet(house: House) -> None:
    job = submit(
        house, diamond(), house.traces, name="diamond", seconds=lambda key: BRANCH_SECONDS if key in "bc" else 0
    )

    until(job.has_ended, 30, job.look)

    judge(job, house.traces, histories=attempts_of(house, job, list(job.needs)))
    nodes = {node["key"]: node for node in job.graph()["nodes"]}
    assert nodes["b"]["started_at"] < nodes["c"]["finished_at"]
    assert nodes["c"]["started_at"] < nodes["b"]["finished_at"]


def test_thousands_fan_out_and_in(house: House) -> None:
    job = submit(house, fan(FAN), house.traces, name="fan")

    until(job.has_ended, PATIENCE, job.look)

    judge(job, house.traces, histories=attempts_of(house, job, ["first", "m0", f"m{FAN - 1}", "last"]))


def test_a_long_chain_keeps_its_order(house: House) -> None:
    job = submit(house, chain(CHAIN), house.traces, name="chain")

    until(job.has_ended, PATIENCE, job.look)

    judge(job, house.traces, histories=attempts_of(house, job, [f"s{CHAIN - 1}"]))


def test_a_tangle_completes_while_those_who_run_it_are_killed(house: House, chance: Random) -> None:
    needs = tangle(TANGLE, chance)
    job = submit(
        house, needs, house.traces, name="tangle",
        seconds=lambda _: chance.uniform(0, 0.1), stumbling=chance.sample(list(needs), 20),
    )  # fmt: skip

    _kill_at_work(house, job, chance)
    until(lambda: _has_ended(job), 90 + REAPED_SECONDS * house.kills, job.look)

    histories = attempts_of(house, job, list(needs))
    judge(job, house.traces, histories=histories)
    outcomes = [attempt["outcome"] for history in histories.values() for attempt in history]
    assert outcomes.count("crashed") > 0, "nobody was killed at work"


def _kill_at_work(house: House, job: Running, chance: Random) -> None:
    """Kill workers one after the other, until there were enough and one of them was in the middle of something."""
    killed: list[int] = []
    while len(killed) < house.kills or not any(held_by(pid, house.traces) for pid in killed):
        time.sleep(chance.uniform(0.5, 1.5))
        assert not _has_ended(job), "it ended before anybody was killed at work"
        busy = [name for name in house.workers if house.is_at_work(name)]
        killed.append(house.kill_worker(chance.choice(busy or house.workers)))


def _has_ended(job: Running) -> bool:
    with suppress(urllib3.exceptions.HTTPError):
        return job.has_ended()
    return False
