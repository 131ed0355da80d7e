"""Workers are killed, stopped and frozen: what they held runs elsewhere, and only when it has to."""

import re
import signal
import time
from collections.abc import Iterator
from random import Random

import pytest

from tests.faults.conftest import MakeFleet
from tests.faults.fleet import Fleet, until
from tests.faults.load import Load
from tests.faults.traces import held_by, runs_of
from tests.faults.verdict import UNENDED, judge

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(300)]

ELSEWHERE_SECONDS = 20.0
HELD = 28
"""Tasks that run for long: so many that none of four workers, which take eight each, can be without some."""


@pytest.fixture(scope="module")
def fleet(make_fleet: MakeFleet) -> Iterator[Fleet]:
    """A fleet that each of these tests leaves as it was."""
    with make_fleet(schedulers=1) as fleet:
        yield fleet


def test_tasks_of_killed_workers_start_elsewhere_within_20_seconds(fleet: Fleet, chance: Random) -> None:
    with Load(fleet, chance, per_second=50) as load:
        keys = load.hold(HELD, seconds=6.0)
        dead = {fleet.kill("near-1"), fleet.kill("far-1")}
        killed_at = time.time()
        held = {key for pid in dead for key in held_by(pid, fleet.traces) & keys}
        until(lambda: held <= _elsewhere(fleet, dead).keys(), 3 * ELSEWHERE_SECONDS)
        took = max((_elsewhere(fleet, dead)[key] for key in held), default=killed_at) - killed_at
        fleet.restart("near-1")
        fleet.restart("far-1")
        fleet.until_at_work()
    verdict = judge(fleet, load, within=30)

    print(f"{len(held)} started elsewhere after {took:.1f} s; {verdict}")  # noqa: T201
    assert held
    assert took <= ELSEWHERE_SECONDS
    assert verdict.outcomes["crashed"] >= len(held)


def _elsewhere(fleet: Fleet, dead: set[int]) -> dict[str, float]:
    """Return when each task first began in a process that lives."""
    runs = {key: [run.began for run in found if run.pid not in dead] for key, found in runs_of(fleet.traces).items()}
    return {key: began[0] for key, began in runs.items() if began}


def test_workers_that_are_asked_to_stop_finish_what_they_hold(fleet: Fleet, chance: Random) -> None:
    with Load(fleet, chance) as load:
        for name in ("near-1", "far-1"):
            load.hold(HELD, seconds=3.0)
            assert fleet.terminate(name) == 0
            fleet.restart(name)
        fleet.until_at_work()
    verdict = judge(fleet, load, within=30)

    print(verdict)  # noqa: T201
    assert verdict.doubles == 0
    assert verdict.outcomes["crashed"] == 0


def test_frozen_workers_are_fenced_and_come_back_as_others(fleet: Fleet, chance: Random) -> None:
    frozen = ("near-1", "far-1")
    pids = {name: fleet.members[name].pid for name in frozen}
    before = fleet.workers()
    keys = Load(fleet, chance).hold(HELD, seconds=6.0)

    for name in frozen:
        fleet.signal(name, signal.SIGSTOP)
    held = {name: held_by(pid, fleet.traces) & keys for name, pid in pids.items()}
    # What one of them held may be handed to the other, whose claim is still waiting at an API server.
    until(lambda: not fleet.tasks(*UNENDED), 4 * ELSEWHERE_SECONDS)
    ended = fleet.tasks()
    for name in frozen:
        fleet.signal(name, signal.SIGCONT)
    woken_at = time.time()
    until(lambda: all(fleet.workers().get(pid, before[pid]) != before[pid] for pid in pids.values()), 30)
    ids = {task["idempotency_key"]: task["id"] for task in ended.values() if task["idempotency_key"] in keys}
    until(lambda: all(_given_up(fleet, name) >= {ids[key] for key in held[name]} for name in frozen), 30)

    histories = [[attempt["outcome"] for attempt in history] for history in fleet.attempts(list(ids.values())).values()]
    assert any(held.values())
    assert fleet.tasks() == ended, "a late report changed a task"
    assert sum("crashed" in history for history in histories) >= sum(map(len, held.values()))
    assert all(history == ["crashed"] * (len(history) - 1) + ["completed"] for history in histories)
    with Load(fleet, chance) as load:
        until(lambda: _at_work_since(fleet, woken_at, load) >= set(pids.values()), 30)
    judge(fleet, load, within=30)


def _given_up(fleet: Fleet, name: str) -> set[str]:
    """Return the tasks that a worker reported too late, or stopped because it heard first that they were lost.

    Which of the two is chance: the answer that tells the worker of its loss may wait in its socket when it wakes up.
    """
    return set(re.findall(r"(?:report\.fenced|attempt\.lost): task (\S+)", fleet.members[name].text))


def _at_work_since(fleet: Fleet, moment: float, load: Load) -> set[int]:
    """Return the processes that have begun a task of the load after a moment."""
    runs = [run for key, found in runs_of(fleet.traces).items() if key.startswith(load.name) for run in found]
    return {run.pid for run in runs if run.began > moment}
