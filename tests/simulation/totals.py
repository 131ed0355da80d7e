"""Adds up the verdicts of many seeds, for people and for evidence/."""

from pathlib import Path
from typing import TYPE_CHECKING

from tests.evidence.results import Finding, Simulation, add_simulation, run_by
from tests.simulation import determinism

if TYPE_CHECKING:
    from tests.simulation.simulate import Verdict


class Totals:
    """What the seeds of a run came to."""

    def __init__(self) -> None:
        self.count = 0
        self.operations = 0
        self.executions = 0
        self.faults = 0
        self.virtual = 0.0
        self.processor = 0.0
        self.findings: list[Finding] = []
        self.failed = 0
        self.hashes: dict[int, str] = {}
        """The hashes of the first traces, to be compared."""
        self.traces: list[Path] = []
        """The first traces, to be compared with a specification."""
        self._began = determinism.real_monotonic()

    def add(self, verdict: "Verdict", *, is_kept: bool) -> None:
        """Add a verdict."""
        self.count += 1
        self.operations += verdict.operations
        self.executions += verdict.executions
        self.faults += verdict.faults
        self.virtual += verdict.virtual_seconds
        self.processor += verdict.processor_seconds
        self.failed += bool(verdict.problems)
        self.findings += [Finding(where=f"seed {verdict.seed}", what=problem) for problem in verdict.problems[:3]]
        if is_kept:
            self.hashes[verdict.seed] = verdict.hash

    def text(self) -> str:
        """Return a line for people. Its first words are read by `mutants/run.py`."""
        took = determinism.real_monotonic() - self._began
        return (
            f"{self.count} seeds, {self.failed} failed, {took:.1f} s,"
            f" {self.count / max(took, 0.001):.1f} seeds a second, {self.virtual / 3600:.1f} hours of virtual time,"
            f" {self.processor / max(self.count, 1):.3f} s of processor time a seed"
        )

    def record(self, seeds: str, unequal: list[int], *, is_linearizable: bool) -> None:
        """Add the run to evidence/."""
        arguments = ["--linearizable"] * is_linearizable + [f"--validate {len(self.traces)}"] * bool(self.traces)
        arguments += [f"--repeat {len(self.hashes)}"] * bool(self.hashes)
        given = f' ARGS="{" ".join(arguments)}"' if arguments else ""
        judged = {"the simulation's checks": self.count, "checker": self.count}
        judged |= {"lease specification": len(self.traces)} if self.traces else {}
        add_simulation(
            Simulation(
                **run_by(f"make simulate SEEDS={seeds}{given}", determinism.real_monotonic() - self._began),
                first_seed=int(seeds.partition("-")[0]),
                seeds=self.count,
                operations=self.operations,
                executions=self.executions,
                faults=self.faults,
                judged_by=judged | ({"Porcupine": self.count} if is_linearizable else {}),
                repeated=len(self.hashes),
                repeated_equal=len(self.hashes) - len(unequal),
                processor_seconds=round(self.processor, 1),
                findings=tuple(self.findings),
            )
        )
