"""What processes cost, as the kernel counts it, and how numbers are summed up."""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

TICKS: Final = os.sysconf("SC_CLK_TCK")


def tree_of(pid: int) -> list[int]:
    """Return a process and its descendants."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    tree = [pid]
    for member in tree:
        tree.extend(children.get(member, ()))
    return tree


def cpu_seconds(pids: Iterable[int]) -> float:
    """Return the processor time of processes and their descendants, those included that have ended."""
    ticks = 0
    for pid in pids:
        for member in tree_of(pid):
            with suppress(OSError):
                ticks += sum(map(int, Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / TICKS


def private_mb(pid: int) -> float:
    """Return the memory that a process has for itself; what PostgreSQL shares between its own is left out."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return round(int(line.split()[1]) / 1024, 1)
    return 0.0


def median(values: Sequence[float]) -> float:
    """Return the middle of the values."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def percentiles(values: Iterable[float]) -> dict[str, float]:
    """Return what half, 95 and 99 of a hundred values are not above, and the highest."""
    ordered = sorted(values)
    if not ordered:
        return {}
    shares = {"p50": 0.50, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return {name: round(ordered[int(share * (len(ordered) - 1))], 2) for name, share in shares.items()}
