"""Jobs on real processes: every shape completes, in order, whoever is killed."""

import time
from collections.abc import Iterator
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
KILLS = 3
REAPED_SECONDS = 25.0
"""Until the tasks of a killed worker run elsewhere, with some to spare."""


class Alone(Server):
    """`drumline dev` in one process on SQLite, with the tasks that leave traces."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "data", "--concurrency", "16", app=APP)
        self.traces = folder / "traces"
        self.traces.touch()


House = Alone | Fleet


@pytest.fixture(scope="module", params=["embedded", pytest.param("distributed", marks=pytest.mark.services)])
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    if request.param == "embedded":
        with Alone(tmp_path_factory.mktemp("alone")) as alone:
            yield alone
        return
    make_fleet: MakeFleet = request.getfixturevalue("make_fleet")
    with make_fleet(apis=1, schedulers=1, near=1, far=1) as fleet:
        yield fleet


def attempts_of(house: House, job: Running, keys: list[str]) -> dict[str, list[Any]]:
    """Return the attempts of some tasks by id."""
    return {job.tasks[key]: house.ask("GET", f"/api/v1/tasks/{job.tasks[key]}/attempts")[1]["items"] for key in keys}


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


def test_a_tangle_completes_while_workers_are_killed(make_fleet: MakeFleet, chance: Random) -> None:
    needs = tangle(TANGLE, chance)
    with make_fleet(apis=2, schedulers=2, near=2, far=2, poison_after="20") as fleet:
        job = submit(
            fleet, needs, fleet.traces, name="tangle",
            seconds=lambda _: chance.uniform(0, 0.1), stumbling=chance.sample(list(needs), 20),
        )  # fmt: skip

        for _ in range(KILLS):
            time.sleep(chance.uniform(0.3, 1.5))
            name = chance.choice(["near-1", "near-2", "far-1", "far-2"])
            fleet.kill(name)
            fleet.restart(name)
        until(lambda: _has_ended(job), 90 + REAPED_SECONDS * KILLS, job.look)

        histories = fleet.attempts(list(job.tasks.values()))
        judge(job, fleet.traces, histories=histories)
        outcomes = [attempt["outcome"] for history in histories.values() for attempt in history]
        assert outcomes.count("crashed") > 0, "nobody was killed at work"


def test_a_tangle_completes_although_the_only_process_is_killed(tmp_path: Path, chance: Random) -> None:
    needs = tangle(TANGLE // 2, chance)
    with Alone(tmp_path) as alone:
        job = submit(alone, needs, alone.traces, name="tangle", seconds=lambda _: chance.uniform(0, 0.1))

        for _ in range(2):
            time.sleep(chance.uniform(0.5, 1.5))
            alone.kill()
            alone.start()
        until(lambda: _has_ended(job), 90 + 2 * REAPED_SECONDS, job.look)

        judge(job, alone.traces, histories=attempts_of(alone, job, list(needs)))


def _has_ended(job: Running) -> bool:
    with suppress(urllib3.exceptions.HTTPError):
        return job.has_ended()
    return False
