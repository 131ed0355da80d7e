"""Graphs of tasks to run, and what must hold of each whatever was killed while it ran.

Three accounts are compared: the graph as it was asked for, what the store recorded, and what the tasks themselves left.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any, Protocol

from tests.faults.traces import Run, runs_of

Body = dict[str, Any]
Needs = dict[str, list[str]]
ROUNDING = 0.005
"""Times are written in milliseconds, by two programs."""
TOLD = 20
INTERRUPTED = frozenset({"crashed", "released"})


class House(Protocol):
    """Something that answers over HTTP: one server, or a whole fleet."""

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]: ...


def diamond() -> Needs:
    return {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}


def fan(width: int) -> Needs:
    middle = [f"m{number}" for number in range(width)]
    return {"first": [], **{key: ["first"] for key in middle}, "last": middle}


def chain(length: int) -> Needs:
    return {f"s{number}": [f"s{number - 1}"] if number else [] for number in range(length)}


def tangle(size: int, chance: Random) -> Needs:
    """Layers of random width, in which each task needs a few of the layers before, most often of the last."""
    needs: Needs = {}
    layers: list[list[str]] = []
    while len(needs) < size:
        width = min(chance.choice([1, 2, 5, 20, 60]), size - len(needs))
        layer = [f"t{len(needs) + number}" for number in range(width)]
        for key in layer:
            above = (
                {chance.choice(chance.choice(layers[-3:])) for _ in range(chance.randint(0, 4))} if layers else set()
            )
            needs[key] = sorted(above)
        layers.append(layer)
    return needs


@dataclass(frozen=True)
class Running:
    """A job that was submitted."""

    house: House
    id: str
    name: str
    needs: Needs
    tasks: Mapping[str, str]
    """Ids by key."""

    @property
    def path(self) -> str:
        return f"/api/v1/jobs/{self.id}"

    def look(self) -> Body:
        status, body = self.house.ask("GET", self.path)
        assert status == 200, body
        return dict(body)

    def graph(self) -> Body:
        status, body = self.house.ask("GET", f"{self.path}/graph")
        assert status == 200, body
        return dict(body)

    def trace_of(self, key: str) -> str:
        return f"{self.name}-{key}"

    def has_ended(self) -> bool:
        return self.look()["status"] in {"COMPLETED", "FAILED", "CANCELLED"}


def submit(
    house: House,
    needs: Needs,
    traces: Path,
    *,
    name: str,
    seconds: Callable[[str], float] = lambda _key: 0.0,
    stumbling: Iterable[str] = (),
) -> Running:
    """Submit a graph of tasks that leave traces; those that stumble fail the first time."""
    fails = frozenset(stumbling)
    tasks = {
        key: {
            "name": "traced.stumble" if key in fails else "traced.wait",
            "needs": parents,
            "payload": {"file": str(traces), "key": f"{name}-{key}", "seconds": seconds(key)},
            "backoff": {"base": 0.1},
        }
        for key, parents in needs.items()
    }
    status, body = house.ask("POST", "/api/v1/jobs", {"name": name, "tasks": tasks, "idempotency_key": name})
    assert status in {200, 201}, body
    assert list(body["tasks"]) == list(needs)
    return Running(house, body["id"], name, needs, body["tasks"])


def judge(job: Running, traces: Path, *, histories: Mapping[str, list[Body]]) -> None:
    """See that every task of a job completed, after all that it needs was recorded as complete, and once.

    `histories` are the attempts of tasks by id, of those whose attempts are worth a look.
    """
    body, graph = job.look(), job.graph()
    assert body["status"] == "COMPLETED", _explained(body, graph)
    count = len(job.needs)
    ends = {"completed": count, "failed": 0, "cancelled": 0, "skipped": 0}
    assert body["counts"] == {"total": count, "running": 0, **ends}
    nodes = {node["key"]: node for node in graph["nodes"]}
    edges = {key: sorted(needs) for key, needs in job.needs.items()}
    assert {key: sorted(node["needs"]) for key, node in nodes.items()} == edges
    runs = runs_of(traces)
    wrong = [
        f"{key}: {fault}"
        for key in job.needs
        for fault in _faults(job, nodes[key], nodes, runs[job.trace_of(key)], histories.get(job.tasks[key]))
    ]
    assert not wrong, "\n".join(wrong[:TOLD])


def _faults(
    job: Running, node: Body, nodes: Mapping[str, Body], runs: list[Run], history: list[Body] | None
) -> Iterator[str]:
    """Say everything about one task that cannot be."""
    if not runs:
        yield "it never ran"
        return
    released = max((nodes[parent]["finished_at"] for parent in job.needs[node["key"]]), default="")
    if node["started_at"] < released:
        yield f"it is recorded as started at {node['started_at']}, and its last parent as complete at {released}"
    if released and runs[0].began < _seconds(released) - ROUNDING:
        yield f"it began at {runs[0].began}, and its last parent was complete at {_seconds(released)}"
    if runs[-1].began > _seconds(node["finished_at"]) + ROUNDING:
        yield "it ran again after it was completed"
    if history is not None:
        yield from _faults_of(history, runs, released)


def _faults_of(history: list[Body], runs: list[Run], released: str) -> Iterator[str]:
    outcomes = [attempt["outcome"] for attempt in history]
    if outcomes[-1:] != ["completed"] or set(outcomes[:-1]) - INTERRUPTED - {"retried"}:
        yield f"its attempts ended as {outcomes}"
    if history[0]["started_at"] < released:
        yield f"it was first handed out at {history[0]['started_at']}, and its last parent was complete at {released}"
    if len(runs) > len(history):
        yield f"it ran {len(runs)} times in {len(history)} attempts"


def _explained(body: Body, graph: Body) -> str:
    unended = [node for node in graph["nodes"] if node["finished_at"] is None]
    return f"{body}\n" + "\n".join(map(str, unended[:TOLD]))


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
