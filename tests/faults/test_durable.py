"""Durable tasks in a whole installation: effects are repeated only where a kill explains it, and no signal is lost.

DRUMLINE_TEST_SIGNALS=10000 python -m pytest tests/faults/test_durable.py -k signal     takes a quarter of an hour
DRUMLINE_TEST_STEP_CUTS=1000 python -m pytest tests/faults/test_durable.py -k effect    takes some minutes
DRUMLINE_TEST_LATE_RECORDS=1000 python -m pytest tests/faults/test_durable.py -k late   takes two minutes
"""

import os
import signal
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.faults.conftest import MakeFleet
from tests.faults.fleet import Fleet, until

SIGNALS = int(os.environ.get("DRUMLINE_TEST_SIGNALS") or 300)
CUTS = int(os.environ.get("DRUMLINE_TEST_STEP_CUTS") or 40)
"""Effects that a kill has to cut off from their records."""
LATE = int(os.environ.get("DRUMLINE_TEST_LATE_RECORDS") or 100)
EACH = 10
"""Signals that a task collects, and steps that it takes."""
SENDERS = 6
AGAIN = frozenset({429, 503})
"""Answers after which a sender tries again: the machine may have more to do than this test."""
TASKS_A_KILL = 60
"""Of those under way when a worker is killed, most have acted and not recorded it."""
PATIENCE = 240.0
"""Seconds for whatever has to come, on a machine that has more to do."""

pytestmark = [
    pytest.mark.faults,
    pytest.mark.services,
    pytest.mark.timeout(1200 + SIGNALS // 2 + 2 * CUTS + LATE),
]

APP = Path(__file__).parent / "apps" / "durable.py"


def submitted(fleet: Fleet, name: str, payload: dict[str, Any]) -> str:
    status, body = fleet.ask("POST", "/api/v1/tasks", {"name": name, "payload": payload})
    assert status == 201, body
    return str(body["id"])


def steps_of(fleet: Fleet, task: str) -> list[dict[str, Any]]:
    """Return all records of a task."""
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = fleet.get(f"/api/v1/tasks/{task}/steps?limit=1000{cursor}")
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        cursor = f"&cursor={page['next_cursor']}"


def ended(fleet: Fleet, tasks: list[str], within: float) -> dict[str, dict[str, Any]]:
    """Return tasks once all have ended well."""
    until(
        lambda: len(fleet.tasks("COMPLETED").keys() & set(tasks)) == len(tasks), within, lambda: fleet.tasks("FAILED")
    )
    return {task: fleet.get(f"/api/v1/tasks/{task}") for task in tasks}


class Senders:
    """Sends signals through both API servers, some of them twice, at any time."""

    def __init__(self, fleet: Fleet, chance: Random) -> None:
        self._fleet = fleet
        self._chance = chance

    def send(self, number: int, task: str, correlation: str | None) -> None:
        time.sleep(self._chance.uniform(0, 0.1))
        body: dict[str, Any] = {"payload": number, "id": f"signal-{number}"}
        path = f"/api/v1/tasks/{task}/signals/go"
        if correlation is not None:
            body["key"], path = correlation, "/api/v1/signals/go"
        api = self._chance.randrange(2)
        status, told = self._fleet.ask("POST", path, body, api=api)
        is_first = status not in AGAIN  # one that was refused for now may have been kept
        while status in AGAIN:
            time.sleep(0.5)
            status, told = self._fleet.ask("POST", path, body, api=api)
        assert status == 201 or (status == 200 and not is_first), told
        assert told["created"] == (status == 201)
        if self._chance.random() < 0.3:  # its answer was lost: it is sent again, to the other server
            status, told = self._fleet.ask("POST", path, body, api=1 - api)
            if status != 409:  # the task has taken its last one, and ended
                assert (status, told["created"]) == (200, False), told


def test_each_signal_answers_one_wait_and_none_is_lost(make_fleet: MakeFleet, chance: Random) -> None:
    with make_fleet(apis=2, schedulers=1, near=1, far=1, app=APP) as fleet:
        tasks: dict[str, tuple[str | None, list[int]]] = {}
        for first in range(0, SIGNALS, EACH):
            correlation = f"order-{first}" if first // EACH % 2 else None
            payload = {"count": EACH, "seconds": chance.uniform(0.02, 0.4), "correlation": correlation}
            tasks[submitted(fleet, "collect", payload)] = correlation, list(range(first, first + EACH))
        signals = [(number, task, key) for task, (key, numbers) in tasks.items() for number in numbers]
        chance.shuffle(signals)
        senders = Senders(fleet, chance)

        with ThreadPoolExecutor(SENDERS) as pool:
            for sent in [pool.submit(senders.send, *signal) for signal in signals]:
                sent.result()
        views = ended(fleet, list(tasks), within=60 + SIGNALS / 10)

        timeouts = 0
        for task, (_, numbers) in tasks.items():
            assert sorted(views[task]["result"]) == numbers, task
            records = steps_of(fleet, task)
            done = [record["result"] for record in records if record["status"] == "done"]
            assert sorted(done) == numbers, task
            assert len({record["key"] for record in records}) == len(records)
            timeouts += len(records) - len(done)
        print(f"{SIGNALS} signals, {timeouts} waits timed out")  # noqa: T201
        assert timeouts > 0, "no wait has timed out: nothing was raced"


def test_an_effect_is_repeated_only_where_a_kill_explains_it(
    make_fleet: MakeFleet, chance: Random, tmp_path: Path
) -> None:
    effects = tmp_path / "effects"
    effects.touch()
    with make_fleet(apis=2, schedulers=2, near=1, far=1, app=APP, poison_after="1000", concurrency=64) as fleet:
        tasks: list[str] = []
        while repeated_of(effects) < CUTS:
            for _ in range(TASKS_A_KILL):
                payload = {"file": str(effects), "name": f"task-{len(tasks)}", "count": EACH}
                tasks.append(submitted(fleet, "steps", payload))
            kill_between(fleet, chance.choice(("near-1", "far-1")), effects)
        ended(fleet, tasks, within=PATIENCE + CUTS)

        by_step: defaultdict[str, list[int]] = defaultdict(list)
        for key, pid in lines_of(effects):
            by_step[key].append(pid)
        repeated = repeated_of(effects)
        print(f"{len(fleet.killed)} kills, {len(by_step)} steps, {repeated} effects repeated")  # noqa: T201
        assert len(by_step) == len(tasks) * EACH
        for key, pids in by_step.items():
            assert set(pids[:-1]) <= fleet.killed, f"{key} was repeated by a worker that lives"
        for task in tasks:
            assert [step["key"] for step in steps_of(fleet, task)] == [str(number) for number in range(EACH)]
        assert repeated >= CUTS


def test_no_late_record_of_a_worker_that_was_stopped_past_its_lease_is_taken(
    make_fleet: MakeFleet, tmp_path: Path
) -> None:
    effects, returned, gate = tmp_path / "effects", tmp_path / "effects.returned", tmp_path / "gate"
    effects.touch()
    returned.touch()
    room = {"concurrency": LATE, "poison_after": "1000"}
    with make_fleet(apis=1, schedulers=1, near=2, far=0, app=APP, **room) as fleet:
        fleet.signal("near-2", signal.SIGSTOP)
        stopped = fleet.members["near-1"].pid
        tasks = [
            submitted(fleet, "slow_step", {"file": str(effects), "name": f"task-{number}", "gate": str(gate)})
            for number in range(LATE)
        ]
        until(lambda: len(lines_of(effects, stopped)) == LATE, PATIENCE)
        fleet.signal("near-1", signal.SIGSTOP)  # in the middle of every step
        gate.touch()
        fleet.signal("near-2", signal.SIGCONT)
        ended(fleet, tasks, within=PATIENCE + LATE)
        fleet.signal("near-1", signal.SIGCONT)  # now each of its steps ends, and asks to be recorded
        until(lambda: len(lines_of(returned, stopped)) == LATE, PATIENCE)
        fleet.terminate("near-1")

        for task in tasks:
            (step,) = steps_of(fleet, task)
            assert step["result"] == fleet.members["near-2"].pid
        assert len(lines_of(effects, stopped)) == LATE
        # A task that the other worker had been handed when it was stopped begins there once more.
        assert {name for name, _ in lines_of(effects, fleet.members["near-2"].pid)} == {
            f"task-{n}" for n in range(LATE)
        }
        print(f"{LATE} of {LATE} late records refused")  # noqa: T201


def repeated_of(effects: Path) -> int:
    """Return how many effects happened again."""
    keys = [key for key, _ in lines_of(effects)]
    return len(keys) - len(set(keys))


def kill_between(fleet: Fleet, name: str, effects: Path) -> None:
    """Kill a worker that has just acted and not recorded it yet, and start it again."""
    fleet.until_at_work(PATIENCE)
    pid = fleet.members[name].pid
    size = effects.stat().st_size

    def has_acted() -> bool:
        with effects.open("rb") as file:
            file.seek(size)
            return f" {pid}\n".encode() in file.read()

    until(has_acted, PATIENCE)  # an effect takes longer to return than its worker takes to be killed
    fleet.kill(name)
    fleet.restart(name)


def lines_of(file: Path, pid: int | None = None) -> list[tuple[str, int]]:
    """Return what was done by whom, in order; by one process, or by all."""
    pairs = [line.split() for line in file.read_text().splitlines()]
    return [(key, int(by)) for key, by in pairs if pid is None or int(by) == pid]
