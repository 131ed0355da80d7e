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
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tests.simulation import determinism, plan

if TYPE_CHECKING:
    from tests.simulation.simulate import Run, Verdict

FOUND: Final = Path(__file__).with_name("found")
SECONDS_PER_SEED: Final = 60.0
SHRINK_RUNS: Final = 400


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line says; the status is 1 if a seed failed."""
    options = _parser().parse_args(arguments)
    if os.environ.get("PYTHONHASHSEED") != "0":
        again = [sys.executable, "-m", "tests.simulation", *(sys.argv[1:] if arguments is None else arguments)]
        return subprocess.run(again, env={**os.environ, "PYTHONHASHSEED": "0"}, check=False).returncode
    prepare()
    if options.plan is not None:
        return _show([plan.load(options.plan)], options)
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    from tests.simulation.workload import plan_of  # noqa: PLC0415 - after `prepare`

    return _show((plan_of(seed) for seed in seeds), options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", default="0-99", help="a seed, or the first and the last one")
    parser.add_argument("--plan", type=Path, help="a stored plan instead of seeds")
    parser.add_argument("--jobs", type=int, default=2, help="seeds that run at once")
    parser.add_argument("--trace", type=Path, help="a folder for the trace of each seed")
    parser.add_argument("--hashes", action="store_true", help="print the hash of each trace")
    parser.add_argument("--first", action="store_true", help="stop at the first seed that fails")
    parser.add_argument("--shrink", action="store_true", help="shrink and store what fails")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the traces")
    return parser


def prepare() -> None:
    """Take time and chance from the machine, and import everything, once for all seeds."""
    determinism.install()
    from drumline.testing.database import DatabaseServer  # noqa: PLC0415 - after `install`
    from tests.simulation import simulate  # noqa: F401, PLC0415 - likewise

    DatabaseServer()
    gc.collect()
    gc.freeze()
    gc.disable()


def _show(plans: Iterable[plan.Plan], options: argparse.Namespace) -> int:
    """Run plans, print what fails and how long it took."""
    began = determinism.real_monotonic()
    count = failed = 0
    virtual = 0.0
    for done, verdict in run_plans(plans, jobs=options.jobs, trace=options.trace, verbose=options.verbose):
        count += 1
        virtual += verdict.virtual_seconds
        if options.hashes:
            _print(f"seed {verdict.seed}: {verdict.hash}")
        if verdict.problems:
            failed += 1
            _print(f"seed {verdict.seed} failed ({done.size} events, trace {verdict.hash[:12]}):")
            for problem in verdict.problems[:5]:
                _print(f"  {problem}")
            if options.shrink:
                _store(done, verdict)
            if options.first:
                break
    took = determinism.real_monotonic() - began
    _print(
        f"{count} seeds, {failed} failed, {took:.1f} s, {count / max(took, 0.001):.1f} seeds a second,"
        f" {virtual / 3600:.1f} hours of virtual time"
    )
    return 1 if failed else 0


def _store(failing: plan.Plan, verdict: "Verdict") -> None:
    small, problems = shrink(failing, verdict.problems)
    path = FOUND / f"seed-{failing.seed}.json"
    plan.save(small, path)
    _print(f"  shrunk to {small.size} events in {path}: {problems[0]}")


def run_plans(
    plans: Iterable[plan.Plan], *, jobs: int = 1, trace: Path | None = None, verbose: bool = False
) -> Iterator[tuple[plan.Plan, "Verdict"]]:
    """Simulate plans, so many at once, each in a process of its own; yield each with its verdict as it ends."""
    waiting = iter(plans)
    running: dict[int, tuple[plan.Plan, int]] = {}
    while True:
        while len(running) < jobs and (each := next(waiting, None)) is not None:
            pid, pipe = _fork(lambda each=each: _judge(each, trace, verbose=verbose))  # type: ignore[misc]
            running[pipe] = (each, pid)
        if not running:
            return
        ready, _, _ = select.select(list(running), [], [])
        for pipe in ready:
            done, pid = running.pop(pipe)
            yield done, _verdict_of(done, pid, pipe)


def _judge(each: plan.Plan, trace: Path | None, *, verbose: bool) -> bytes:
    from tests.evidence.trace import write  # noqa: PLC0415 - after `prepare`
    from tests.simulation.simulate import simulate  # noqa: PLC0415 - likewise

    run: Run = simulate(each)
    if trace is not None:
        trace.mkdir(parents=True, exist_ok=True)
        write(trace / f"seed-{each.seed}.jsonl", run.trace)
    if verbose:
        for line in run.trace:
            _print(msgspec.json.encode(line).decode())
    return msgspec.json.encode(run.verdict)


def _verdict_of(done: plan.Plan, pid: int, pipe: int) -> "Verdict":
    from tests.simulation.simulate import Verdict  # noqa: PLC0415 - after `prepare`

    with os.fdopen(pipe, "rb") as reading:
        text = reading.read()
    _, status = os.waitpid(pid, 0)
    if not text:
        return Verdict(done.seed, "", (f"the simulation itself ended with status {status}",), 0, 0.0)
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
        import signal  # noqa: PLC0415 - only here

        signal.alarm(round(SECONDS_PER_SEED))
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


def shrink(failing: plan.Plan, problems: tuple[str, ...]) -> tuple[plan.Plan, tuple[str, ...]]:
    """Leave out operations and faults for as long as the rest still fails, in ever smaller pieces."""
    runs = 0
    piece = max(failing.size // 2, 1)
    while piece and runs < SHRINK_RUNS:
        is_smaller = False
        start = 0
        while start < failing.size and runs < SHRINK_RUNS:
            runs += 1
            smaller = _without(failing, start, piece)
            ((_, verdict),) = run_plans([smaller])
            if verdict.problems:
                failing, problems, is_smaller = smaller, verdict.problems, True
            else:
                start += piece
        if not is_smaller or piece > failing.size:
            piece //= 2
    return failing, problems


def _without(whole: plan.Plan, start: int, count: int) -> plan.Plan:
    """Return a plan without a stretch of its events, faults first."""
    events: list[Any] = [*whole.faults, *whole.steps]
    kept = events[:start] + events[start + count :]
    faults = tuple(each for each in kept if isinstance(each, plan.FaultStep))
    steps = tuple(each for each in kept if isinstance(each, plan.Step))
    return msgspec.structs.replace(whole, faults=faults, steps=steps)


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
