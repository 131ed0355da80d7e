"""What runs of the evidence leave in `evidence/`: the figures, with the command that repeats them.

| file | struct | written by |
|---|---|---|
| `simulate.json` | `Simulations` | runs of the simulator; each run adds itself with `add_simulation` |
| `mutants.json` | `Mutants` | the run over all mutants of product code |
| `specs.json` | `Specs` | `python -m tests.evidence.record_specs`: the model checker TLC |
| `chaos/NAME.json` | `Chaos` | `python -m tests.chaos … --publish`: one run of faults on real processes |
| `fuzz.json` | `Fuzz` | `make fuzz`: the run over all parsers |
| `mutation.json` | `Mutations` | mutation scores of packages |
| `bugs.json` | `Bugs` | by hand: what was found by any of these, and fixed |

A program makes its struct with `**run_by("make simulate SEEDS=10000", seconds)` and its own fields, and calls `save`;
`make evidence` then writes docs/evidence.md.
"""

import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final, TypedDict, TypeVar

import msgspec
from msgspec import Struct

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "evidence"
LOST: Final = "not in the history"
"""In place of a commit that nobody can check out, because the history was rewritten after the run."""


class Run(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every run has."""

    command: str
    """What repeats it."""
    commit: str
    """What was run; with a `+` behind it, if files were changed and not committed; `LOST` if it is gone."""
    date: str
    """The day on which it ended, as 2026-01-31."""
    seconds: float


class Finding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a judge found, and what repeats it: a seed, or the file of a trace."""

    where: str
    what: str


class Simulation(Run, frozen=True, kw_only=True):
    """Seeds of the simulated system that were run in a row."""

    first_seed: int
    seeds: int
    operations: int
    executions: int
    faults: int
    judged_by: dict[str, int] = {}
    """How many traces each judge has judged: `checker`, `linearizable`, names of specifications."""
    repeated: int = 0
    """Seeds that were run again to compare the hashes of their traces …"""
    repeated_equal: int = 0
    """… and those whose hashes were equal."""
    processor_seconds: float = 0.0
    """What all seeds took of the processor, however many others used it."""
    findings: tuple[Finding, ...] = ()


class Simulations(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All runs of the simulator whose results were kept."""

    runs: tuple[Simulation, ...] = ()


class Mutant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fault that was put into product code."""

    name: str
    file: str
    what: str
    """What the judge said first."""
    found_by: str | None = None
    """The judge that found it, and nothing if none did."""
    seeds: int | None = None
    """The seeds that it took."""
    given: int | None = None
    """The seeds that it was given at most; None in a verdict of an earlier run that did not note it."""
    commit: str = ""
    """At which it was run, if not at that of all."""


class Mutants(Run, frozen=True, kw_only=True):
    """The mutants of product code, and how soon each was found."""

    seeds_at_most: int
    """The seeds that the last run gave to each mutant that it tried; the verdicts say what each was given."""
    mutants: tuple[Mutant, ...]
    not_run: tuple[str, ...] = ()
    """Mutants of the list that the run has not come to, or whose seeds it has not run to the end."""


class Spec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A specification that was checked in all its states."""

    name: str
    file: str
    bounds: str
    """The sizes to which it was checked, in words."""
    states: int
    distinct: int
    seconds: float
    protections: int = 0
    """Protections of the protocol that were switched off, one at a time …"""
    protections_found: int = 0
    """… and those whose absence broke a promise, as it should."""
    is_violated: bool = False


class Specs(Run, frozen=True, kw_only=True):
    """The specifications."""

    specs: tuple[Spec, ...]


class Chaos(Run, frozen=True, kw_only=True):
    """A run of the deployed processes under faults."""

    stores: str
    """What they ran on: versions of PostgreSQL, Redis, Kafka."""
    faults: dict[str, int]
    """How often each kind of fault was made."""
    fault_log: str | None = None
    """The file with every fault, relative to the repository."""
    acknowledged: int
    completed: int
    executions: int
    lost: int
    explained: tuple[str, ...] = ()
    """Each execution that was repeated, with the fault that explains it."""
    judged_by: tuple[str, ...] = ()
    verdicts: dict[str, str] = {}
    """What each judge said, in a few words."""
    upgraded_from: str | None = None
    """The commit in which it began, to be upgraded process by process while it ran."""
    replaced: int = 0
    """Processes that were replaced by one of the other version or of the same, in order."""
    slowest: float | None = None
    """The longest time in seconds from the begin of an execution that came to nothing to the next one of its task."""
    findings: tuple[Finding, ...] = ()
    remark: str = ""
    """What a reader has to know about it; by hand."""


class Fuzzed(Struct, frozen=True, kw_only=True):
    """One fuzz test: how many inputs it was given, and whether one broke it."""

    executions: int
    failed: bool


class Fuzz(Struct, frozen=True, kw_only=True):
    """The fuzz tests, as tests/fuzz/run.py leaves them."""

    guided: bool
    """Whether coverage chose the inputs (atheris) or chance did (Hypothesis)."""
    seconds_each: float
    tests: dict[str, Fuzzed]
    command: str = "make fuzz"
    commit: str | None = None
    date: str | None = None


class MutationScore(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many small changes of a package its tests notice."""

    package: str
    killed: int
    survived: int


class Mutations(Run, frozen=True, kw_only=True):
    """The mutation scores."""

    scores: tuple[MutationScore, ...]
    unchanged: tuple[str, ...] = ()
    """Packages that were looked through and have nothing that mutmut changes, such as protocols and plain structs."""


class Bug(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fault of the product that one of these has found."""

    what: str
    found_by: str
    fixed_in: str | None = None
    """The commit, and nothing while it is open."""
    test: str | None = None


class Bugs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that was found so."""

    bugs: tuple[Bug, ...] = ()


Result = Simulations | Mutants | Specs | Chaos | Fuzz | Mutations | Bugs
AnyResult = TypeVar("AnyResult", bound=Result)


class RunBy(TypedDict):
    """The fields of `Run`, to be given on."""

    command: str
    commit: str
    date: str
    seconds: float


def run_by(command: str, seconds: float) -> RunBy:
    """Return what every run has, for one that ends now."""
    return {
        "command": command,
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(seconds, 1),
    }


def commit() -> str:
    """Return the commit of the sources, with a `+` if they were changed since; the results themselves do not count."""
    head = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!evidence", ":!docs/evidence.md")
    return f"{head}+" if changed else head


def forget_lost_commits(folder: Path = FOLDER) -> int:
    """Write `LOST` in place of commits of runs that are not in the history of the sources; return how many."""
    count = 0

    def forget(commit: str) -> str:
        nonlocal count
        count += not is_in_history(commit)
        return commit if is_in_history(commit) else LOST

    for path in sorted(folder.rglob("*.json")):
        found = json.loads(path.read_text("utf-8"))
        kept = _with_commits(found, forget)
        if kept != found:
            path.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return count


def commits(folder: Path = FOLDER) -> set[str]:
    """Return all commits that results name, those of repairs included."""
    found: set[str] = set()

    def note(commit: str) -> str:
        found.add(commit)
        return commit

    for path in folder.rglob("*.json"):
        _with_commits(json.loads(path.read_text("utf-8")), note, ("commit", "upgraded_from", "fixed_in"))
    return found - {LOST}


@cache
def is_in_history(commit: str) -> bool:
    """Tell whether a commit is one that the sources come from."""
    command = ["git", "merge-base", "--is-ancestor", commit.rstrip("+"), "HEAD"]
    return commit == LOST or subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


def has_history() -> bool:
    """Tell whether the sources are in a repository with its whole history."""
    command = ["git", "rev-parse", "--is-shallow-repository"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return told.stdout.strip() == "false"


def _with_commits(
    value: Any, change: Callable[[str], str], names: tuple[str, ...] = ("commit", "upgraded_from")
) -> Any:
    """Return what a file says with other commits."""
    if isinstance(value, list):
        return [_with_commits(each, change, names) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: change(each) if key in names and isinstance(each, str) and each else _with_commits(each, change, names)
        for key, each in value.items()
    }


def save(name: str, result: Result, folder: Path = FOLDER) -> Path:
    """Write a result; `name` is that of its file, as `mutants.json` or `chaos/2026-01-31.json`."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
    return path


def load(name: str, kind: type[AnyResult], folder: Path = FOLDER) -> AnyResult | None:
    """Read a result; None if there is none yet. A file that does not fit its struct is refused."""
    path = folder / name
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except msgspec.DecodeError as error:
        raise ValueError(f"{path}: {error}") from error


def add_simulation(run: Simulation, folder: Path = FOLDER) -> Path:
    """Add a run of the simulator to those before it."""
    before = load("simulate.json", Simulations, folder) or Simulations()
    return save("simulate.json", Simulations(runs=(*before.runs, run)), folder)


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
