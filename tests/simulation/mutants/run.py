"""Says after how many seeds each mutant is caught: `python -m tests.simulation.mutants.run` (`make mutants`)."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from msgspec.structs import replace

from tests.evidence import results
from tests.simulation.mutants.mutant import Mutant
from tests.simulation.mutants.patches import MUTANTS

ROOT: Final = Path(__file__).parents[3]
PRODUCT: Final = ROOT / "src" / "drumline"
MOST_SEEDS: Final = 500


class Caught(NamedTuple):
    """How a mutant was caught."""

    seeds: int
    problem: str
    """The first thing that was found wrong."""


def catch(mutant: Mutant, *, most: int, jobs: int = 1) -> Caught | None:
    """Run seeds until one catches a mutant; None if so many were not enough."""
    with planted(mutant) as product:
        done = simulate(product, "--seeds", mutant.seeds(most), "--first", "--jobs", str(jobs))
    if done.returncode == 0:
        return None
    lines = done.stdout.strip().split("\n")
    words = lines[-1].split()
    if len(words) < 2 or words[1] != "seeds,":
        raise RuntimeError(f"the simulation of {mutant.name!r} did not run: {done.stderr[-2000:]}")
    problem = next(text.strip() for before, text in pairwise(lines) if " failed (" in before)
    return Caught(int(words[0]), problem)


@contextmanager
def planted(mutant: Mutant) -> Iterator[Path]:
    """Give a folder with a copy of the product that has the mutant in it."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "drumline")
        shutil.copytree(PRODUCT, target, ignore=shutil.ignore_patterns("_ui", "_docs", "__pycache__"))
        file = target / mutant.path
        text = file.read_text()
        if text.count(mutant.before) != 1:
            raise ValueError(f"{mutant.name!r} does not fit {mutant.path}: {text.count(mutant.before)} places")
        file.write_text(text.replace(mutant.before, mutant.after))
        yield Path(folder)


def simulate(product: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the simulation with the product of a folder."""
    env = {**os.environ, "PYTHONPATH": str(product), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "tests.simulation", "--cold", *arguments]
    return subprocess.run(command, cwd=ROOT, env=env, check=False, capture_output=True, text=True)


def main() -> int:
    """Catch every mutant; the status is 1 if one gets away."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=MOST_SEEDS, help="seeds for each mutant")
    parser.add_argument("--only", default="", help="only mutants whose name has this in it")
    parser.add_argument("--part", default="1/1", help="only one part of them, as 2/6: the second of six")
    parser.add_argument("--new", action="store_true", help="only mutants of which no earlier run has a verdict")
    parser.add_argument("--at-once", type=int, default=2, help="mutants that are tried at once")
    parser.add_argument("--record", action="store_true", help="write evidence/mutants.json")
    options = parser.parse_args()
    began = time.monotonic()
    found: dict[str, Caught | None] = {}
    before = results.load("mutants.json", results.Mutants) if options.new or options.record else None
    chosen = chosen_mutants(options, before)
    with ThreadPoolExecutor(options.at_once) as threads:
        running = {threads.submit(catch, mutant, most=options.most): mutant for mutant in chosen}
        for done in as_completed(running):
            mutant, caught = running[done], done.result()
            found[mutant.name] = caught
            _print(f"{mutant.name:55}{'not caught' if caught is None else caught.seeds!s:>11}  {_told(caught)[:90]}")
            if options.record:  # after each: whoever is interrupted has what is known by then
                _record(before, found, options, time.monotonic() - began)
    seeds = [caught.seeds for caught in found.values() if caught is not None]
    middle = f", the median after {median(seeds):g} seeds, the last after {max(seeds)}" if seeds else ""
    _print(f"{len(seeds)} of {len(found)} mutants caught{middle}")
    return 1 if len(seeds) < len(found) else 0


def chosen_mutants(options: argparse.Namespace, before: results.Mutants | None) -> list[Mutant]:
    """Return the mutants that the command line asks for."""
    known = {each.name for each in before.mutants} if before is not None and options.new else set()
    part, _, parts = options.part.partition("/")
    mine = MUTANTS[int(part) - 1 :: int(parts)]
    return [mutant for mutant in mine if options.only in mutant.name and mutant.name not in known]


def _record(
    before: results.Mutants | None, found: dict[str, Caught | None], options: argparse.Namespace, seconds: float
) -> None:
    """Write what is known now; `before` is what was known when the run began."""
    run = results.run_by(_command(options), seconds)
    if before is not None and before.commit == run["commit"]:  # another part of the same run
        run["seconds"] = round(run["seconds"] + before.seconds, 1)
    made = results.Mutants(**run, seeds_at_most=options.most, mutants=())
    results.save("mutants.json", merged(before, found, made))


def _command(options: argparse.Namespace) -> str:
    """Return the command that repeats the run, with all that narrows it."""
    words = [f"--most {options.most}"] if options.most != MOST_SEEDS else []
    words += [f"--only '{options.only}'"] if options.only else []
    words += [f"--part {options.part}"] if options.part != "1/1" else []
    words += ["--new"] if options.new else []
    return f'make mutants ARGS="{" ".join(words)}"' if words else "make mutants"


def merged(before: results.Mutants | None, found: dict[str, Caught | None], run: results.Mutants) -> results.Mutants:
    """Return a run with what it has found, and with the verdicts of earlier runs on the other mutants.

    Each verdict says at which commit it was made, and how many seeds it was given: a run says so of those only that it
    has tried. An earlier verdict on a mutant that is not on the list any more is left out.
    """
    known = {} if before is None else {each.name: _as_of(each, before.commit) for each in before.mutants}
    for mutant in MUTANTS:
        if mutant.name in found:
            caught = found[mutant.name]
            known[mutant.name] = results.Mutant(
                name=mutant.name,
                file=mutant.path,
                what=_told(caught),
                found_by=None if caught is None else "checker",
                seeds=None if caught is None else caught.seeds,
                given=run.seeds_at_most,
                commit=run.commit,
            )
    return replace(
        run,
        not_run=tuple(mutant.name for mutant in MUTANTS if mutant.name not in known),
        mutants=tuple(known[mutant.name] for mutant in MUTANTS if mutant.name in known),
    )


def _as_of(verdict: results.Mutant, commit: str) -> results.Mutant:
    """Return a verdict of an earlier run with the commit of it."""
    return verdict if verdict.commit else replace(verdict, commit=commit)


def _told(caught: Caught | None) -> str:
    """Return what was found, without ids that mean nothing to a reader."""
    if caught is None:
        return ""
    return re.sub(r" ?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}| \(s\d[\w.]*\)", "", caught.problem)


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
