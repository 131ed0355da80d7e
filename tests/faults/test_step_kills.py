"""Processes that die between the effect of a step and its record, or around a restart: each is there once.

DRUMLINE_TEST_KILLS=1000 python -m pytest tests/faults/test_step_kills.py     takes some ten minutes
"""

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
import urllib3

from tests.black_box.server import Server
from tests.faults.conftest import MakeFleet
from tests.faults.fleet import until
from tests.faults.forks import forked
from tests.harness.programs import free_port

KILLS = int(os.environ.get("DRUMLINE_TEST_KILLS") or 40)
STEPS = 4
"""Steps or rounds of a task, each of which kills its process once."""
AT_ONCE, RACED = 0.0, 0.03
"""Seconds from effect to kill: none is always before the record; up to some, a kill may come before, in or after it."""
FORMS = ("deadly.async", "deadly.thread") * 4 + ("deadly.process",)
"""Of which child processes are few: each is a new interpreter."""
KEY = "sk_deadly"
APP = Path(__file__).parent / "apps" / "deadly.py"
PATIENCE = 120 + 2.0 * KILLS
"""Seconds until all have ended: tasks of a killed process are given to another after 15 seconds."""

pytestmark = [pytest.mark.faults, pytest.mark.timeout(PATIENCE * 2)]

Ask = Callable[[str, str, object], tuple[int, Any]]


class Installation:
    """Something that answers over HTTP while its processes die, and the folder in which tasks leave their lines."""

    def __init__(self, folder: Path, ask: Ask) -> None:
        self._folder = folder
        self._ask = ask

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Return an answer, asking again while the server dies."""
        deadline = time.monotonic() + PATIENCE
        while True:
            with suppress(urllib3.exceptions.HTTPError):
                status, answer = self._ask(method, path, body)
                if status in {200, 201}:
                    return answer
            assert time.monotonic() < deadline, f"{path} cannot be had"
            time.sleep(0.02)

    def run(self, names: Mapping[str, str], delays: Mapping[str, list[float]]) -> dict[str, str]:
        """Submit tasks of these names, and return their ids once all have completed."""
        tasks: dict[str, str] = {}
        for key, name in names.items():
            payload = {"folder": str(self._folder), "name": key, "delays": delays[key]}
            body = {"name": name, "payload": payload, "idempotency_key": key}
            tasks[key] = self.ask("POST", "/api/v1/tasks", body)["id"]
        until(lambda: self._completed() >= len(tasks), PATIENCE, lambda: f"{self._completed()} of {len(tasks)}")
        return tasks

    def lines(self, name: str) -> list[tuple[str, int]]:
        """Return what tasks left in a file: keys and processes, in order."""
        pairs = (line.split() for line in (self._folder / name).read_text().splitlines())
        return [(key, int(pid)) for key, pid in pairs]

    @property
    def ended(self) -> int:
        """How many processes were killed."""
        return sum(len(file.read_text().splitlines()) for file in self._folder.glob("ended-*"))

    def _completed(self) -> int:
        return len(self.ask("GET", "/api/v1/tasks?limit=1000&status=COMPLETED")["items"])


@contextmanager
def distributed(folder: Path, make_fleet: MakeFleet) -> Iterator[Installation]:
    """Run workers on the store and remote ones that die, on PostgreSQL and Redis."""
    room = {"poison_after": "1000", "concurrency": 1}
    with make_fleet(apis=1, schedulers=1, near=1, far=1, app=APP, **room) as fleet, ExitStack() as stack:
        for member in (fleet.members["near-1"], fleet.members["far-1"]):
            fleet.terminate(member.name)  # its place is taken by those that die
            ended = folder / f"ended-{member.name}"
            stack.enter_context(
                forked(member.command, count=2, environment=member.environment, log=member.log, ended=ended)
            )
        yield Installation(folder, fleet.ask)


@contextmanager
def embedded(folder: Path) -> Iterator[Installation]:
    """Run a whole server on SQLite that dies with its worker."""
    port = free_port()
    server = Server(folder / "data", app=APP, poison_after="1000", api_key=KEY)
    server.url, server.key = f"http://127.0.0.1:{port}", KEY
    command = ("dev", str(APP), "--port", str(port), "--data", str(server.data), "--concurrency", "1")
    with forked(command, count=1, environment=server.environment, log=server.log, ended=folder / "ended-dev"):
        yield Installation(folder, server.ask)


@pytest.fixture(params=["embedded", pytest.param("distributed", marks=pytest.mark.services)])
def installation(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Installation]:
    if request.param == "embedded":
        with embedded(tmp_path) as each:
            yield each
        return
    with distributed(tmp_path, request.getfixturevalue("make_fleet")) as each:
        yield each


def test_a_step_whose_process_dies_between_effect_and_record_is_recorded_once(
    installation: Installation, chance: Random
) -> None:
    delays = _delays(chance)
    names = {name: FORMS[number % len(FORMS)] for number, name in enumerate(delays)}
    tasks = installation.run(names, delays)
    results = {name: installation.ask("GET", f"/api/v1/tasks/{task}/steps")["items"] for name, task in tasks.items()}

    killed = [pid for _, pid in installation.lines("killed")]
    repeated = _judge(installation, results, Counter(killed))
    exact = sum(delay == AT_ONCE for each in delays.values() for delay in each)
    in_children = list(names.values()).count("deadly.process") * STEPS
    print(f"{len(killed)} kills ({installation.ended} of whole processes), {repeated} effects repeated")  # noqa: T201
    assert len(killed) == len(set(killed)) == len(delays) * STEPS
    assert installation.ended == len(killed) - in_children, "a worker died of a child process, or for another reason"
    assert exact <= repeated <= len(killed)


def test_a_round_whose_process_dies_before_in_or_after_its_restart_is_restarted_once(
    installation: Installation, chance: Random
) -> None:
    delays = _delays(chance)
    tasks = installation.run(dict.fromkeys(delays, "deadly.rounds"), delays)

    effects = Counter(key for key, _ in installation.lines("effects"))
    assert effects == Counter(f"{name}.{number}" for name in delays for number in range(STEPS + 1))
    for task in tasks.values():
        attempts = installation.ask("GET", f"/api/v1/tasks/{task}/attempts")["items"]
        steps = installation.ask("GET", f"/api/v1/tasks/{task}/steps")
        assert [attempt["outcome"] for attempt in attempts].count("restarted") == STEPS
        assert [each["records"] for each in steps["rounds"]] == [1] * STEPS
        assert installation.ask("GET", f"/api/v1/tasks/{task}")["result"] == STEPS + 1
    print(f"{installation.ended} kills, {len(tasks) * STEPS} rounds")  # noqa: T201
    assert installation.ended == len(installation.lines("killed")) == len(delays) * STEPS


def _judge(installation: Installation, results: Mapping[str, list[dict[str, Any]]], killed: Counter[int]) -> int:
    """See that each step has one record, that of its last effect, and count the other effects: each has a kill."""
    effects: defaultdict[str, list[int]] = defaultdict(list)
    for key, pid in installation.lines("effects"):
        effects[key].append(pid)
    for name, steps in results.items():
        assert [step["key"] for step in steps] == [str(number) for number in range(STEPS)], name
        for step in steps:
            assert step["result"] == effects[f"{name}.{step['key']}"][-1], f"{name}: an effect came after its record"
    repeated = Counter(pid for pids in effects.values() for pid in pids[:-1])
    assert repeated <= killed, "an effect was repeated though its process was not killed"
    return repeated.total()


def _delays(chance: Random) -> dict[str, list[float]]:
    """Return how long after its effect each step's process dies: of every other task at once, of the others later."""
    return {
        f"task-{number}": [AT_ONCE if number % 2 else chance.uniform(0.001, RACED) for _ in range(STEPS)]
        for number in range(-(-KILLS // STEPS))
    }
