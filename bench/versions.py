"""Two versions of Drumline, or of Python, by turns: what a task without steps costs in processor time and in calls.

    python -m bench.versions COMMIT [--postgres] [--rounds 10] [--tasks 10000]
    python -m bench.versions --python .venv-3.13/bin/python

Compares the source of this tree with that of a commit, with the packages of this environment; or this environment with
another one in which Drumline is installed, with the source of this tree. Each round is a process of its own, in the
order A B B A; ratios are of neighbours, so that what disturbs the machine disturbs both. Prints the median of the
ratios with the quarter and three-quarter points, and for function calls the least of each version.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.scale.meter import median
from bench.services import postgres, redis

ROOT: Final = Path(__file__).parent.parent
PROBE: Final = Path(__file__).parent / "version_probe.py"
CALL_ROUNDS: Final = 3

Found = dict[str, dict[str, float]]


class Side(NamedTuple):
    """One of the two that are compared."""

    python: str
    source: Path


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    compared = parser.add_mutually_exclusive_group(required=True)
    compared.add_argument("commit", nargs="?")
    compared.add_argument("--python", help="the interpreter of an environment to compare with this one")
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL and Redis")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--tasks", type=int, default=10_000)
    options = parser.parse_args()
    with ExitStack() as stack:
        sides = _sides(stack, options.commit, options.python)
        places: dict[str, dict[str, str]] = {name: {} for name in sides}
        if options.postgres:
            places = _places(stack)
        taken: dict[str, list[Found]] = {name: [] for name in sides}
        calls: dict[str, list[Found]] = {name: [] for name in sides}
        for number in range(options.rounds):
            for name in sorted(sides, reverse=bool(number % 2)):
                taken[name].append(_probe(sides[name], places[name], str(options.tasks)))
                print(f"{name}: {_sums(taken[name][-1])}", flush=True)
        for _ in range(CALL_ROUNDS):
            for name, side in sides.items():
                calls[name].append(_probe(side, places[name], str(options.tasks // 5), "--calls"))
    _report(taken, calls)


def _sides(stack: ExitStack, commit: str | None, python: str | None) -> dict[str, Side]:
    """Return what is compared: the source of a commit with that of this tree, or this environment with another."""
    now = Side(sys.executable, ROOT / "src")
    if commit is None:
        return {"before": now, "now": Side(python or sys.executable, now.source)}
    old = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="drumline-version-")))
    _extract(commit, old)
    return {"before": Side(now.python, old / "src"), "now": now}


def _extract(commit: str, folder: Path) -> None:
    archive = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)


def _places(stack: ExitStack) -> dict[str, dict[str, str]]:
    """Give each version a database and a Redis of its own."""
    server = stack.enter_context(postgres())
    places = {}
    for name in ("before", "now"):
        broker = stack.enter_context(redis())
        server.recreate(name)
        places[name] = {
            "PROBE_STORE": server.url(name), "PROBE_QUEUE": broker.url, "PROBE_PIDS": f"{server.pid} {broker.pid}",
        }  # fmt: skip
    return places


def _probe(side: Side, places: dict[str, str], *words: str) -> Found:
    environ = {**os.environ, **places, "PYTHONPATH": str(side.source), "DRUMLINE_LOG_LEVEL": "error"}
    command = [side.python, "-P", str(PROBE), *words]  # -P: `bench` has modules with the names of others
    done = subprocess.run(command, env=environ, check=True, stdout=subprocess.PIPE, text=True)
    found: Found = json.loads(done.stdout.splitlines()[-1])
    return found


def _sums(found: Found) -> dict[str, float]:
    return {act: round(sum(costs.values()), 1) for act, costs in found.items()}


def _report(taken: dict[str, list[Found]], calls: dict[str, list[Found]]) -> None:
    result: dict[str, Any] = {}
    for act in taken["now"][0]:
        pairs = list(zip(taken["before"], taken["now"], strict=True))
        by_part = {
            part: sorted(now[act][part] / before[act][part] for before, now in pairs if before[act][part])
            for part in taken["now"][0][act]
        }
        all_ = sorted(sum(now[act].values()) / sum(before[act].values()) for before, now in pairs)
        result[act] = {
            "microseconds": {
                name: round(median([sum(each[act].values()) for each in found]), 1) for name, found in taken.items()
            },
            "ratio": _spread(all_),
            **{part: _spread(ratios) for part, ratios in by_part.items() if ratios},
            "calls": {name: round(min(each[act]["calls"] for each in found), 1) for name, found in calls.items()},
        }
        said = result[act]["ratio"]
        print(f"{act}: {said[1]} x ({said[0]} to {said[2]}), calls {result[act]['calls']}")
    print(json.dumps(result))


def _spread(ratios: list[float]) -> list[float]:
    """Return the quarter point, the median and the three-quarter point."""
    quarter = len(ratios) // 4
    return [round(each, 3) for each in (ratios[quarter], median(ratios), ratios[-1 - quarter])]


if __name__ == "__main__":
    main()
