"""Writes short traces for the tests of judges: one call for each line, a second apart."""

from pathlib import Path
from typing import Any

from tests.evidence import trace
from tests.evidence.trace import Ending, Execution, Fault, Line, Operation, Phase


class History:
    """A trace in the making; each line is a second after the one before."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._ops = 0

    @property
    def now(self) -> float:
        """The time of the next line."""
        return float(len(self.lines))

    def begin(self, what: str, *, client: str = "c1", **fields: Any) -> int:
        """Begin an operation; return its number."""
        self._ops += 1
        self._step(self._ops, what, Phase.INVOKE, client, fields)
        return self._ops

    def end(self, op: int, what: str, phase: Phase = Phase.OK, *, client: str = "c1", **fields: Any) -> None:
        """End an operation."""
        self._step(op, what, phase, client, fields)

    def do(self, what: str, phase: Phase = Phase.OK, *, client: str = "c1", **fields: Any) -> None:
        """Begin an operation and end it, with nothing between."""
        known = {name: value for name, value in fields.items() if name != "state"}
        if what.startswith("submit"):
            known.pop("task", None)
        self.end(self.begin(what, client=client, **known), what, phase, client=client, **fields)

    def read(self, task: str, *states: str) -> None:
        """Read a task, once for each status that is seen."""
        for state in states:
            self.do("read", task=task, state=state)

    def run(
        self, task: str, *moments: str, worker: str = "w1", attempt: int = 1, limit: str | None = None, epoch: int = 0
    ) -> None:
        """Note moments of an execution."""
        for moment in moments:
            self.lines.append(
                Execution(
                    at=self.now, task=task, moment=moment, worker=worker, attempt=attempt, limit=limit, epoch=epoch
                )
            )

    def fault(self, kind: str, target: str, until: float | None = None) -> None:
        """Note a fault."""
        self.lines.append(Fault(at=self.now, kind=kind, target=target, until=until))

    def final(self, task: str, state: str, *attempts: str, **fields: Any) -> None:
        """Say how a task is found in the end."""
        self.lines.append(Ending(at=self.now, task=task, state=state, attempts=attempts, **fields))

    def write(self, path: Path) -> Path:
        """Write the trace to a file."""
        trace.write(path, self.lines)
        return path

    def _step(self, op: int, what: str, phase: Phase, client: str, fields: dict[str, Any]) -> None:
        self.lines.append(Operation(at=self.now, op=op, client=client, what=what, phase=phase, **fields))
