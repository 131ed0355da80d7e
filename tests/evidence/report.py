"""Writes docs/evidence.md from the results in `evidence/`, or with --check says whether it is out of date.

    python -m tests.evidence.report [--check]

What has no result is named as not run: the page never says more than the files.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median

from tests.evidence.results import (
    FOLDER,
    LOST,
    ROOT,
    Bugs,
    Chaos,
    Finding,
    Fuzz,
    Mutants,
    Mutations,
    Run,
    Simulation,
    Simulations,
    Specs,
    forget_lost_commits,
    has_history,
    load,
)

PAGE = ROOT / "docs" / "evidence.md"
TOLD = 40
"""Explanations of one run that the page lists; its file has them all."""

NONE = "-"
"""In a cell that has nothing to say."""
GONE = "a commit that is not in the history any more"

INTRODUCTION = """\
# Evidence

<!-- Made by `make evidence` from the results in evidence/: run the commands again to change it. -->

Drumline promises that nothing acknowledged is lost. This page says how that was tested beyond ordinary tests, with
which result, and which command repeats each figure on your machine. It is generated from the files in `evidence/`, and
a test compares them. What has not been run is said to be so.

## What is judged, and by what

A run of the simulated or of the real system leaves a trace: what clients asked and were answered, what the tasks
themselves wrote when they ran, what was done to the system, and what the store says in the end. The judges share no
code but the format of the trace (`tests/evidence/trace.py`).
"""
JUDGES = (
    (
        "checker",
        (
            "nothing acknowledged is missing; no execution is repeated without a fault that explains it; none begins "
            "after completion; one key has one task; attempts match executions; limits hold; a fire time gives one run"
        ),
        "`.venv/bin/python -m tests.evidence.checker TRACE`",
    ),
    (
        "Porcupine",
        (
            "the history of each task and of each idempotency key is linearizable: some order of all operations, each "
            "within its time, follows the transitions of a task"
        ),
        "`.venv/bin/python -m tests.evidence.linearizable TRACE`",
    ),
)
SPECIFICATIONS = (
    "specifications",
    "the history of each task is allowed by the TLA+ specification of leases ([all of them](#specifications))",
    "`.venv/bin/python -m tests.evidence.validate TRACE`",
)
JUDGES_TESTED = """\
They are themselves tested with violations planted in traces: `tests/evidence/test_checker.py`,
`tests/evidence/test_linearizable.py` and `tests/evidence/test_validate.py`. A read may come from the read model, which
may be stale: Porcupine is told by how much at most (`--stale`)."""
NOT_RUN = "**Not run yet**: nothing is shown by it so far. The plan: "
SIMULATION = (
    "The real engine, scheduler, workers (also remote ones), notifier, relay, router of shards and API code run on an "
    "event loop with a virtual clock ([how](explanation/simulation.md)). A seed decides every delay, loss, crash and "
    "clock step, so a seed that fails repeats exactly."
)
MUTANTS = (
    "Evidence is worth what it would have found. Each mutant is a small fault put into product code; the simulator "
    "runs until a judge finds it. Few seeds mean that such a fault would not stay hidden for long."
)
SPECS = (
    "TLA+ specifications of the protocols, of which the model checker TLC visits every state within bounds. Traces of "
    "the simulator and of chaos are compared with that of leases, as their tables say: one that it does not allow "
    "means that the code does something else than what was checked."
)
CHAOS = (
    "The deployed processes run on real services, while they are killed, stopped, cut off and restarted. A witness "
    "outside records what was acknowledged and what ran; the same judges decide."
)
FUZZ = "Parsers are given arbitrary inputs: each must answer, or refuse with its own error."
MUTATIONS = (
    "A mutation score says which share of small changes of a file the tests of `tests/core` and `tests/fuzz` notice, "
    "with few inputs each and in a second of processor time. What other tests would notice is not counted. "
    "A change that was noticed once is not tried again while its function stays as it is."
)
SPEC_COLUMNS = ("specification", "bounds", "states", "distinct", "result", "breaks without a protection")
FALSIFY = """\
## How to falsify this page

In a clone of the repository, with Python 3.11 or newer; `make` installs the rest. `python` in the commands above is
`.venv/bin/python`. On two cores that have nothing else to do, this takes an hour:

| command | takes | falsified by |
|---|---|---|
| `make simulate SEEDS=100000-100999` | 2 min | a seed that fails |
| `make specs` | 5 min | a violated specification, or a protection without which nothing breaks |
| `make fuzz MINUTES=5` | 6 min | a test that failed |
| `make mutation FILES="retry.py rate.py slots.py"` | 5 min | a lower score than above |
| `make chaos MINUTES=30 SEED=2` | 35 min | the verdict `bad`: something lost, or a repeated execution without a fault |
| `.venv/bin/python -m tests.evidence.checker build/chaos-2/trace.jsonl` | 1 s | a finding |
| `.venv/bin/python -m tests.evidence.linearizable build/chaos-2/trace.jsonl --slack 0.005` | 1 s | an illegal history |
| `.venv/bin/python -m tests.evidence.validate build/chaos-2/trace.jsonl` | 1 min | a task that is not allowed |

- Run any command of this page again, with other seeds or for longer: a finding that is not listed here falsifies it.
- Put a fault of your own into `src/`, and run those commands: one that no judge finds is a hole in the evidence.
- Delete or change a line of a trace, and ask the judges: each must notice what it is there for."""


def main() -> int:
    """Write the page, or compare it."""
    if "--check" not in sys.argv:
        if has_history():
            forget_lost_commits()
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page():
        return 0
    sys.stderr.write("out of date: docs/evidence.md; run `make evidence`\n")
    return 1


def page(folder: Path = FOLDER) -> str:
    """Return the page that the results of a folder give."""
    specs = load("specs.json", Specs, folder)
    sections = (
        _judges(specs),
        _simulations(load("simulate.json", Simulations, folder)),
        _mutants(load("mutants.json", Mutants, folder)),
        _specs(specs),
        _chaos_runs(folder),
        _fuzz(load("fuzz.json", Fuzz, folder)),
        _mutations(load("mutation.json", Mutations, folder)),
        _bugs(load("bugs.json", Bugs, folder)),
        (FALSIFY,),
    )
    return INTRODUCTION + "".join(f"\n{block}\n" for section in sections for block in section)


def _judges(specs: Specs | None) -> Iterator[str]:
    yield _table(("judge", "what it decides", "command"), (*JUDGES, SPECIFICATIONS) if specs else JUDGES)
    yield JUDGES_TESTED


def _simulations(results: Simulations | None) -> Iterator[str]:
    yield "## Simulation"
    if results is None or not results.runs:
        yield NOT_RUN + SIMULATION
        return
    yield SIMULATION
    runs = results.runs
    found = [finding for run in runs for finding in run.findings]
    yield (
        f"**{_number(sum(run.seeds for run in runs))} runs of {_number(_distinct(runs))} seeds**, with "
        f"{_number(sum(run.operations for run in runs))} operations of clients, "
        f"{_number(sum(run.executions for run in runs))} executions and "
        f"{_number(sum(run.faults for run in runs))} faults. "
        + (f"**{len(found)} findings**, listed below." if found else "No judge found anything.")
    )
    columns = ("seeds", "operations", "executions", "faults", "traces judged", "repeated with equal hash", "findings")
    yield _table((*columns, "time", "command, commit, date"), map(_simulation, runs))
    yield from _list_findings(found)


def _distinct(runs: Iterable[Simulation]) -> int:
    """Return how many different seeds were run, however often each was."""
    return len({seed for run in runs for seed in range(run.first_seed, run.first_seed + run.seeds)})


def _simulation(run: Simulation) -> Sequence[str]:
    judged = ", ".join(f"{judge} {_number(count)}" for judge, count in sorted(run.judged_by.items())) or "none"
    repeated = f"{_number(run.repeated_equal)} of {_number(run.repeated)}" if run.repeated else "not tried"
    seeds = f"{_number(run.seeds)} from {run.first_seed}"
    counts = (_number(run.operations), _number(run.executions), _number(run.faults))
    taken = f", {run.processor_seconds / run.seeds:.2f} s of processor time a seed" if run.processor_seconds else ""
    return (seeds, *counts, judged, repeated, str(len(run.findings)), _time(run.seconds) + taken, _origin(run))


def _mutants(results: Mutants | None) -> Iterator[str]:
    yield "## Mutants of product code"
    if results is None:
        yield NOT_RUN + MUTANTS
        return
    yield MUTANTS
    found = [mutant.seeds for mutant in results.mutants if mutant.found_by is not None and mutant.seeds is not None]
    count = sum(mutant.found_by is not None for mutant in results.mutants)
    middle = _number(int(median(found))) if found else NONE
    yield (
        f"**{count} of {len(results.mutants)} mutants found**, the median after {middle} seeds; {_given(results)}. "
        f"{_origin(results)}, {_time(results.seconds)}."
    )
    earlier = Counter(mutant.commit for mutant in results.mutants if mutant.commit not in {"", results.commit})
    if earlier:
        told = ", ".join(f"{_number(count)} {_at(commit)}" for commit, count in earlier.items())
        yield f"Verdicts of earlier runs are among them: {told}."
    if results.not_run:
        yield f"**Not run to the end**, so nothing is shown about them: {'; '.join(results.not_run)}."
    yield _table(
        ("mutant", "file", "what was found", "found by", "after seeds"),
        (
            (
                mutant.name,
                f"`{mutant.file}`",
                mutant.what,
                mutant.found_by or "**not found**",
                NONE if mutant.seeds is None else _number(mutant.seeds),
            )
            for mutant in results.mutants
        ),
    )


def _given(results: Mutants) -> str:
    """Say how many seeds the mutants were given, as far as the verdicts tell."""
    given = sorted({mutant.given for mutant in results.mutants if mutant.given is not None})
    unknown = sum(mutant.given is None for mutant in results.mutants)
    words = [f"each was given at most {' or '.join(map(_number, given))}"] if given else []
    if unknown:
        words.append(f"of {_number(unknown)} it is not recorded how many they were given")
    return ", and ".join(words) or "none was tried"


def _specs(results: Specs | None) -> Iterator[str]:
    yield "## Specifications"
    if results is None:
        yield NOT_RUN + SPECS
        return
    yield SPECS
    yield f"{_origin(results)}, {_time(results.seconds)}."
    yield _table(
        SPEC_COLUMNS,
        (
            (
                f"`{spec.file}`",
                spec.bounds,
                _number(spec.states),
                _number(spec.distinct),
                "**violated**" if spec.is_violated else "holds",
                f"{spec.protections_found} of {spec.protections}",
            )
            for spec in results.specs
        ),
    )


def _chaos_runs(folder: Path) -> Iterator[str]:
    yield "## Chaos"
    names = sorted(path.name for path in (folder / "chaos").glob("*.json"))
    runs = [(name, run) for name in names if (run := load(f"chaos/{name}", Chaos, folder)) is not None]
    if not runs:
        yield NOT_RUN + CHAOS
        return
    yield CHAOS
    yield (
        f"**{_time(sum(run.seconds for _, run in runs))} in all**, with "
        f"{_number(sum(sum(run.faults.values()) for _, run in runs))} faults and "
        f"{_number(sum(run.acknowledged for _, run in runs))} acknowledged tasks, of which "
        f"{_number(sum(run.lost for _, run in runs))} were lost."
    )
    for name, run in runs:
        yield from _chaos(name.removesuffix(".json"), run)


def _chaos(name: str, run: Chaos) -> Iterator[str]:
    yield f"### Run {name}"
    kinds = ", ".join(f"{kind} {_number(count)}" for kind, count in sorted(run.faults.items())) or "none"
    log = f"`{run.fault_log}`" if run.fault_log else "not kept"
    count = sum(run.faults.values())
    yield _table(
        ("what", "figure"),
        (
            ("ran on", run.stores),
            ("time", _time(run.seconds)),
            ("faults", f"{_number(count)}, {_number(round(count / max(run.seconds, 1) * 3600))} an hour: {kinds}"),
            ("log of faults", log),
            ("tasks acknowledged", _number(run.acknowledged)),
            ("tasks completed", _number(run.completed)),
            ("tasks lost", _number(run.lost)),
            ("executions", _number(run.executions)),
            ("executions repeated, each explained by a fault", _number(len(run.explained))),
            *_chaos_details(run),
            ("judged by", ", ".join(run.judged_by) or "**no judge**"),
            *run.verdicts.items(),
            ("findings", str(len(run.findings))),
            ("command, commit, date", _origin(run)),
        ),
    )
    if run.remark:
        yield run.remark
    if run.explained:
        yield "Repeated executions:"
        yield "\n".join(f"- {sentence}" for sentence in run.explained[:TOLD])
    if len(run.explained) > TOLD:
        yield f"`evidence/chaos/{name}.json` has {_number(len(run.explained) - TOLD)} more."
    yield from _list_findings(run.findings)


def _chaos_details(run: Chaos) -> Iterator[tuple[str, str]]:
    if run.upgraded_from:
        before = GONE if run.upgraded_from == LOST else f"`{run.upgraded_from[:12]}`"
        yield "upgraded while it ran", f"from {before}, {_number(run.replaced)} processes replaced"
    if run.slowest is not None:
        yield "longest time until a task began again", f"{run.slowest:.0f} s"


def _fuzz(results: Fuzz | None) -> Iterator[str]:
    yield "## Fuzzing"
    if results is None:
        yield NOT_RUN + FUZZ
        return
    yield FUZZ
    origin = f"`{results.command}`"
    origin += f" {_at(results.commit)}" if results.commit else ", at a commit that was not recorded"
    origin += f", {results.date}" if results.date else ""
    tool = "atheris, guided by coverage" if results.guided else "Hypothesis, by chance"
    yield f"{origin}, {_time(results.seconds_each)} for each test; inputs by {tool}."
    yield _table(
        ("test", "inputs", "result"),
        (
            (f"`{name}`", _number(test.executions), "**failed**" if test.failed else "held")
            for name, test in sorted(results.tests.items())
        ),
    )


def _mutations(results: Mutations | None) -> Iterator[str]:
    yield "## Mutation scores"
    if results is None:
        yield NOT_RUN + MUTATIONS
        return
    yield MUTATIONS
    noticed, survived = sum(score.killed for score in results.scores), sum(score.survived for score in results.scores)
    yield f"Last run: {_origin(results)}, {_time(results.seconds)}. {_unmeasured(results)}"
    yield _table(
        ("package", "changes", "noticed", "score"),
        (
            *(_score(f"`{score.package}`", score.killed, score.survived) for score in results.scores),
            _score("all of these", noticed, survived),
        ),
    )


def _score(package: str, noticed: int, survived: int) -> Sequence[str]:
    share = f"{100 * noticed / max(noticed + survived, 1):.1f} %"
    return package, _number(noticed + survived), _number(noticed), share


def _unmeasured(results: Mutations) -> str:
    """Say how much of the core has a score, and name the files that have none."""
    files = {f"core/{path.name}": path.read_text("utf-8") for path in (ROOT / "src/drumline/core").glob("*.py")}
    functions = {name for name, text in files.items() if "def " in text} - {*results.unchanged}
    missing = sorted(functions - {score.package for score in results.scores})
    told = f"Measured: {len(functions) - len(missing)} of the {len(functions)} files of `core/` that it changes."
    return f"{told} Not measured: {', '.join(f'`{name}`' for name in missing)}." if missing else told


def _bugs(results: Bugs | None) -> Iterator[str]:
    yield "## What was found"
    if results is None or not results.bugs:
        yield "No fault of the product is recorded as found by these means."
        return
    yield "Faults of the product that these means have found:"
    yield _table(
        ("fault", "found by", "fixed in", "test"),
        (
            (
                bug.what,
                bug.found_by,
                f"`{bug.fixed_in[:12]}`" if bug.fixed_in else "**open**",
                f"`{bug.test}`" if bug.test else NONE,
            )
            for bug in results.bugs
        ),
    )


def _list_findings(findings: Iterable[Finding]) -> Iterator[str]:
    lines = [f"- `{finding.where}`: {finding.what}" for finding in findings]
    if lines:
        yield "Findings:"
        yield "\n".join(lines)


def _origin(run: Run) -> str:
    return f"`{run.command}` {_at(run.commit)}, {run.date}"


def _at(commit: str) -> str:
    if commit == LOST:
        return f"at {GONE}"
    return f"at `{commit[:12].rstrip('+')}`{' with changes' if commit.endswith('+') else ''}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    return "\n".join([*head, *(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows)])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _number(count: int) -> str:
    return f"{count:,}"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


if __name__ == "__main__":
    sys.exit(main())
