"""Asks Porcupine whether the histories of a trace are linearizable.

    python -m tests.evidence.linearizable TRACE [--slack SECONDS] [--stale SECONDS] [--expires]

The judge is the Go program in `porcupine/`; it is built once for each version of its sources. Submissions under one key
are one history, everything about one task is another. What the model says, in words:

- a key has one task, from the first submission that took effect on;
- the statuses that clients read follow the transitions of a task, and COMPLETED is never left;
- COMPLETED comes after the end of an execution that held the lease, and no execution begins in a task that has ended,
  unless a fault explains that its worker did not know;
- a cancellation that was acknowledged ends a waiting task, and a running one is not queued again after it;
- while an execution goes on, its lease is lost only if the trace has a fault that may have hidden its worker.

A trace may say more of a submission in `detail`: `expires` (it may be cancelled by the clock) and `unrecorded` (the
task writes no executions). Of an operation on many tasks `job` or `tasks` say which; without them it may concern all.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from scripts.fetch_programs import MODULES, PORCUPINE
from scripts.programs import ROOT, find_program, missing

BUILT = ROOT / "build" / "evidence"
VERDICTS = {0: "linearizable", 1: "illegal", 3: "undecided"}
"""The exit statuses of the program that come with an answer."""


class JudgeMissing(Exception):
    """The judge cannot be built on this machine; the text says what to install."""


class Violation(Struct, frozen=True):
    """A history that no order of its operations explains.

    It is cut after the shortest beginning that is illegal, and reads that do not matter are left out.
    """

    partition: str
    history: list[dict[str, Any]] | None = None


class Verdict(Struct, frozen=True):
    """What Porcupine says of a trace."""

    verdict: str
    """`linearizable`, `illegal`, or `undecided` where a history took too long."""
    partitions: int
    operations: int
    ignored: dict[str, int]
    """Operations that the model does not know, by what they are."""
    illegal: list[Violation]
    undecided: list[str]


def program() -> Path:
    """Return the judge, built if its sources have changed."""
    sources = sorted(path for path in PORCUPINE.iterdir() if path.suffix in {".go", ".mod", ".sum"})
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    built = BUILT / f"linearizable-{digest}"
    if not built.exists():
        _build(built)
    return built


def _build(target: Path) -> None:
    """Build from the modules in the cache, without the network; several processes may do it at once."""
    if absent := missing("porcupine"):
        raise JudgeMissing(absent)
    target.parent.mkdir(parents=True, exist_ok=True)
    settings = {"GOMODCACHE": str(MODULES), "GOFLAGS": "-mod=readonly", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        made = Path(work) / target.name
        command = [find_program("go") or "go", "build", "-buildvcs=false", "-o", str(made), "."]
        environment = {**os.environ, **settings, "CGO_ENABLED": "0"}
        done = subprocess.run(command, cwd=PORCUPINE, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"the judge of linearizability was not built: {done.stderr.strip()}")
        made.rename(target)


def judge(trace: Path, *, slack: float = 0, stale: float = 0, expires: bool = False) -> Verdict:
    """Judge a trace.

    `slack` is by how much the clocks of executions may differ, `stale` how old a read may be; `expires` is for traces
    that do not say which tasks may be cancelled by the clock.
    """
    command = [str(program()), "-slack", str(slack), "-stale", str(stale), *(["-expires"] if expires else [])]
    with trace.open("rb") as lines:
        done = subprocess.run(command, stdin=lines, capture_output=True, check=False)
    if done.returncode not in VERDICTS:
        raise ValueError(f"{trace}: {done.stderr.decode().strip()}")
    return msgspec.json.decode(done.stdout, type=Verdict)


def main() -> int:
    """Print the verdict on a trace; the exit status is 0 if all of it is linearizable."""
    parser = argparse.ArgumentParser(description="Ask Porcupine whether a trace is linearizable.")
    parser.add_argument("trace", type=Path)
    parser.add_argument("--slack", type=float, default=0, help="seconds by which clocks of executions may differ")
    parser.add_argument("--stale", type=float, default=0, help="seconds by which a read may be old")
    parser.add_argument("--expires", action="store_true", help="each task may be cancelled by the clock")
    given = parser.parse_args()
    verdict = judge(given.trace, slack=given.slack, stale=given.stale, expires=given.expires)
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(verdict)) + b"\n")
    return 0 if verdict.verdict == "linearizable" else 1


if __name__ == "__main__":
    sys.exit(main())
