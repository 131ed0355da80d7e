"""What the tasks of the app left in their file."""

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple


class Run(NamedTuple):
    """An execution that really began."""

    pid: int
    began: float


def runs_of(traces: Path) -> dict[str, list[Run]]:
    """Return the executions that really began, by key, in their order."""
    runs: defaultdict[str, list[Run]] = defaultdict(list)
    for line in traces.read_text().splitlines():
        key, pid, moment, when = line.split()
        if moment == "begin":
            runs[key].append(Run(int(pid), float(when)))
    return runs


def held_by(pid: int, traces: Path) -> set[str]:
    """Return what a process has begun and neither ended nor failed."""
    lines = [line.split() for line in traces.read_text().splitlines()]
    ours = [(key, moment) for key, process, moment, _ in lines if process == str(pid)]
    return {key for key, moment in ours if moment == "begin"} - {key for key, moment in ours if moment != "begin"}
