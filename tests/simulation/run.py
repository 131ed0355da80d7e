"""Runs many seeds: `python -m tests.simulation --seeds 0-9999 --jobs 2`.

Each seed is simulated in a process of its own, forked from one that has imported everything. So no seed sees what
another left behind, a run is the same whichever ran before it, and nothing has to be cleaned up.
"""

import argparse
import gc
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from tests.simulation import determinism, plan
from tests.simulation.shrinking import shrink
from tests.simulation.totals import Totals

if TYPE_CHECKING:
    from tests.simulation.simulate import Run, Verdict

FOUND: Final = Path(__file__).with_name("found")


class Looks(NamedTuple):
    """What is done with a trace besides the checks."""

    trace: Path | None = None
    """The folder that it is written to."""
    is_verbose: bool = False
    is_linearizable: bool = False


NO_LOOKS: Final = Looks()
SECONDS_PER_SEED: Final = 60
"""Of the processor: a seed that needs more runs in circles."""


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line says; the status is 1 if a seed failed."""
    options = _parser().parse_args(arguments)
    if os.environ.get("PYTHONHASHSEED") != "0":
        again = [sys.executable, "-m", "tests.simulation", *(sys.argv[1:] if arguments is None else arguments)]
        return subprocess.run(again, env={**os.environ, "PYTHONHASHSEED": "0"}, check=False).returncode
    prepare(is_warm=not options.cold)
    if options.plan is not None:
        return _show([plan.load(options.plan)], options)
    first, _, rest = options.seeds.partition("-")
    last, _, step = rest.partition(":")
    seeds = range(int(first), int(last or first) + 1, int(step or 1))
    from tests.simulation.workload import plan_of  # noqa: PLC0415 - after `prepare`

    return _show((plan_of(seed) for seed in seeds), options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument(
        "--seeds", default="0-99", help="a seed, or the first and the last one (0-99), perhaps with a step (3-99:7)"
    )
    parser.add_argument("--plan", type=Path, help="a stored plan instead of seeds")
    parser.add_argument("--jobs", type=int, default=2, help="seeds that run at once")
    parser.add_argument("--trace", type=Path, help="a folder for the trace of each seed")
    parser.add_argument("--hashes", action="store_true", help="print the hash of each trace")
    parser.add_argument("--first", action="store_true", help="stop at the first seed that fails")
    parser.add_argument("--shrink", action="store_true", help="shrink and store what fails")
    parser.add_argument("--found", type=Path, default=FOUND, help="the folder for what was shrunk")
    parser.add_argument("--repeat", type=int, default=0, help="run so many seeds a second time, and compare the traces")
    parser.add_argument("--linearizable", action="store_true", help="have Porcupine judge each trace too (needs Go)")
    parser.add_argument("--validate", type=int, default=0, help="compare so many traces with the lease specification")
    parser.add_argument(
        "--cold", action="store_true", help="run no seed beforehand: for a product that may not end one"
    )
    parser.add_argument("--record", action="store_true", help="add the run to evidence/")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the traces")
    return parser


def prepare(*, is_warm: bool = True) -> None:
    """Take time and chance from the machine, and import everything, once for all seeds."""
    determinism.install()
    from tests.simulation import prepared  # noqa: PLC0415 - after `install`

    gc.disable()
    if is_warm:
        prepared.warm_up()
    gc.collect()
    gc.freeze()


def _show(plans: Iterable[plan.Plan], options: argparse.Namespace) -> int:
    """Run plans, print what fails and how long it took."""
    with tempfile.TemporaryDirectory(prefix="drumline-traces-") as folder:
        return _show_in(Path(folder), plans, options)


def _show_in(folder: Path, plans: Iterable[plan.Plan], options: argparse.Namespace) -> int:
    totals = Totals()
    trace = options.trace or (folder if options.validate else None)
    looks = Looks(trace=trace, is_verbose=options.verbose, is_linearizable=options.linearizable)
    for done, verdict in run_plans(plans, jobs=options.jobs, looks=looks):
        totals.add(verdict, is_kept=len(totals.hashes) < options.repeat)
        _keep_trace(totals, verdict.seed, trace, options)
        if options.hashes:
            _print(f"seed {verdict.seed}: {verdict.hash}")
        if verdict.problems:
            _print("\n  ".join((_title(done, verdict), *verdict.problems[:5])))
            if options.shrink:
                _store(done, verdict, options.found)
            if options.first:
                break
    unequal = _repeat(totals, options.jobs)
    if unequal:
        _print(f"seeds {unequal} gave other traces when they were repeated")
    is_allowed = validated(totals.traces)
    _print(totals.text())
    if options.record:
        totals.record(options.seeds, unequal, is_linearizable=options.linearizable)
    return 1 if totals.findings or unequal or not is_allowed else 0


def _keep_trace(totals: Totals, seed: int, folder: Path | None, options: argparse.Namespace) -> None:
    """Note a trace to be compared, or remove one that nobody wants."""
    if folder is not None and totals.count <= options.validate:
        totals.traces.append(folder / f"seed-{seed}.jsonl")
    elif folder is not None and options.trace is None:
        (folder / f"seed-{seed}.jsonl").unlink(missing_ok=True)


def validated(traces: Sequence[Path]) -> bool:
    """Have TLC compare traces with the specification of leases; tell whether it allows them all."""
    from scripts.programs import missing  # noqa: PLC0415 - only here

    if not traces:
        return True
    if why := missing("tlc"):
        _print(f"no trace was compared with the specification of leases: {why}")
        return True
    # In a process of its own: in this one time and chance are not the machine's.
    command = [sys.executable, "-m", "tests.evidence.validate", *map(str, traces)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    counts = [line.rpartition(": ")[2] for line in lines if line.endswith(" not allowed")]
    tasks = sum(int(count.split()[0]) for count in counts)
    if done.returncode:
        _print("\n".join(line for line in lines if not line.endswith(" 0 not allowed")) + done.stderr[-2000:])
    verdict = "does not allow" if done.returncode else "allows"
    _print(f"the specification of leases {verdict} {tasks} tasks of {len(traces)} traces")
    return not done.returncode


def _title(done: plan.Plan, verdict: "Verdict") -> str:
    return f"seed {verdict.seed} failed ({done.size} events, trace {verdict.hash[:12]}):"


def _repeat(totals: Totals, jobs: int) -> list[int]:
    """Run the first seeds again; return those that have not given the same trace."""
    from tests.simulation.workload import plan_of  # noqa: PLC0415 - after `prepare`

    again = run_plans((plan_of(seed) for seed in totals.hashes), jobs=jobs)
    return [verdict.seed for _, verdict in again if verdict.hash != totals.hashes[verdict.seed]]


def _store(failing: plan.Plan, verdict: "Verdict", folder: Path) -> None:
    def problems_of(smaller: plan.Plan) -> tuple[str, ...]:
        ((_, found),) = run_plans([smaller])
        return found.problems

    small, problems = shrink(failing, verdict.problems, problems_of)
    path = folder / f"seed-{failing.seed}.json"
    plan.save(small, path)
    _print(f"  shrunk to {small.size} events in {path}: {problems[0]}")


def run_plans(
    plans: Iterable[plan.Plan], *, jobs: int = 1, looks: Looks = NO_LOOKS
) -> Iterator[tuple[plan.Plan, "Verdict"]]:
    """Simulate plans, so many at once, each in a process of its own; yield each with its verdict as it ends."""
    waiting = iter(plans)
    running: dict[int, tuple[plan.Plan, int]] = {}
    while True:
        while len(running) < jobs and (each := next(waiting, None)) is not None:
            pid, pipe = _fork(lambda each=each: _judge(each, looks))  # type: ignore[misc]
            running[pipe] = (each, pid)
        if not running:
            return
        ready, _, _ = select.select(list(running), [], [])
        for pipe in ready:
            done, pid = running.pop(pipe)
            yield done, _verdict_of(done, pid, pipe)


def _judge(each: plan.Plan, looks: Looks) -> bytes:
    from tests.evidence.trace import write  # noqa: PLC0415 - after `prepare`
    from tests.simulation.simulate import simulate  # noqa: PLC0415 - likewise

    run: Run = simulate(each)
    if looks.trace is not None:
        looks.trace.mkdir(parents=True, exist_ok=True)
        write(looks.trace / f"seed-{each.seed}.jsonl", run.trace)
    if looks.is_linearizable:
        run.verdict = _asked(run)
    if looks.is_verbose:
        for line in run.trace:
            _print(msgspec.json.encode(line).decode())
    return msgspec.json.encode(run.verdict)


def _asked(run: "Run") -> "Verdict":
    """Return the verdict on a run with what Porcupine says of its trace."""
    from tests.evidence import linearizable  # noqa: PLC0415 - only here
    from tests.evidence.trace import write  # noqa: PLC0415 - after `prepare`

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.jsonl")
        write(path, run.trace)
        told = linearizable.judge(path)
    problems = [f"the history of {each.partition} is not linearizable" for each in told.illegal]
    return msgspec.structs.replace(run.verdict, problems=(*run.verdict.problems, *problems))


def _verdict_of(done: plan.Plan, pid: int, pipe: int) -> "Verdict":
    from tests.simulation.simulate import Verdict  # noqa: PLC0415 - after `prepare`

    with os.fdopen(pipe, "rb") as reading:
        text = reading.read()
    _, status = os.waitpid(pid, 0)
    if not text:
        problems = (f"the simulation itself ended with status {status}",)
        return Verdict(seed=done.seed, hash="", problems=problems)
    return msgspec.json.decode(text, type=Verdict)


def _fork(work: Callable[[], bytes]) -> tuple[int, int]:
    """Run something in a child process; return its id, and the pipe on which its answer comes."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    status = 1
    try:
        import resource  # noqa: PLC0415 - only here

        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_PER_SEED, SECONDS_PER_SEED))
        answer = work()
        with os.fdopen(writing, "wb") as file:
            file.write(answer)
        sys.stdout.flush()
        status = 0
    except BaseException:  # noqa: BLE001 - the child must never return into the parent's code
        import traceback  # noqa: PLC0415 - only here

        traceback.print_exc()
    finally:
        # Without cleaning up: what belongs to killed processes must not run.
        os._exit(status)


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
