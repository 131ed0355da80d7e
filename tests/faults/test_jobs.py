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

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

FAN = 5000
CHAIN = 1000
TANGLE = 2000
REAPED_SECONDS = 25.0
"""Until the tasks of a killed worker run elsewhere, with some to spare."""


class Alone(Server):
    """`drumline dev` in one process on SQLite, with the tasks that leave traces."""

    kills = 1

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "data", "--concurrency", "16", app=APP, poison_after="20")
        self.traces = folder / "traces"
        self.traces.touch()

    def kill_somebody(self, _chance: Random) -> None:
        """End the only process there is, as a power cut would, and start it again."""
        self.kill()
        self.start()


class Many:
    """A fleet on PostgreSQL and Redis, with the tasks that leave traces."""

    kills = 3

    def __init__(self, fleet: Fleet) -> None:
        self.traces = fleet.traces
        self.ask = fleet.ask
        self._fleet = fleet

    def kill_somebody(self, chance: Random) -> None:
        """End one of the workers and start it again."""
        name = chance.choice(["near-1", "near-2", "far-1", "far-2"])
        self._fleet.kill(name)
        self._fleet.restart(name)


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
    job = submit(house, diamond(), house.traces, name="diamond", seconds=lambda key: 0.6 if key == "c" else 0.2)

    until(job.has_ended, 30, job.look)

    judge(job, house.traces, histories=attempts_of(house, job, list(job.needs)))
    nodes = {node["key"]: node for node in job.graph()["nodes"]}
    assert nodes["b"]["started_at"] < nodes["c"]["finished_at"]
    assert nodes["c"]["started_at"] < nodes["b"]["finished_at"]


def test_thousands_fan_out_and_in(house: House) -> None:
    job = submit(house, fan(FAN), house.traces, name="fan")

    until(job.has_ended, 120, job.look)

    judge(job, house.traces, histories=attempts_of(house, job, ["first", "m0", f"m{FAN - 1}", "last"]))


def test_a_long_chain_keeps_its_order(house: House) -> None:
    job = submit(house, chain(CHAIN), house.traces, name="chain")

    until(job.has_ended, 120, job.look)

    judge(job, house.traces, histories=attempts_of(house, job, [f"s{CHAIN - 1}"]))


def test_a_tangle_completes_while_those_who_run_it_are_killed(house: House, chance: Random) -> None:
    needs = tangle(TANGLE, chance)
    job = submit(
        house, needs, house.traces, name="tangle",
        seconds=lambda _: chance.uniform(0, 0.1), stumbling=chance.sample(list(needs), 20),
    )  # fmt: skip

    for _ in range(house.kills):
        time.sleep(chance.uniform(0.5, 1.5))
        house.kill_somebody(chance)
    until(lambda: _has_ended(job), 90 + REAPED_SECONDS * house.kills, job.look)

    histories = attempts_of(house, job, list(needs))
    judge(job, house.traces, histories=histories)
    outcomes = [attempt["outcome"] for history in histories.values() for attempt in history]
    assert outcomes.count("crashed") > 0, "nobody was killed at work"


def _has_ended(job: Running) -> bool:
    with suppress(urllib3.exceptions.HTTPError):
        return job.has_ended()
    return False
