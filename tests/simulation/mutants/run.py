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
        done = simulate(product, "--seeds", f"0-{most - 1}", "--first", "--jobs", str(jobs))
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
    command = [sys.executable, "-m", "tests.simulation", *arguments]
    return subprocess.run(command, cwd=ROOT, env=env, check=False, capture_output=True, text=True)


def main() -> int:
    """Catch every mutant; the status is 1 if one gets away."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=MOST_SEEDS, help="seeds for each mutant")
    parser.add_argument("--only", default="", help="only mutants whose name has this in it")
    parser.add_argument("--at-once", type=int, default=2, help="mutants that are tried at once")
    parser.add_argument("--record", action="store_true", help="write evidence/mutants.json")
    options = parser.parse_args()
    began = time.monotonic()
    found: dict[str, Caught | None] = {}
    chosen = [mutant for mutant in MUTANTS if options.only in mutant.name]
    with ThreadPoolExecutor(options.at_once) as threads:
        running = {threads.submit(catch, mutant, most=options.most): mutant for mutant in chosen}
        for done in as_completed(running):
            mutant, caught = running[done], done.result()
            found[mutant.name] = caught
            _print(f"{mutant.name:55}{'not caught' if caught is None else caught.seeds!s:>11}  {_told(caught)[:90]}")
            if options.record:  # after each: whoever is interrupted has what is known by then
                _record(found, options.most, time.monotonic() - began)
    seeds = [caught.seeds for caught in found.values() if caught is not None]
    middle = f", the median after {median(seeds):g} seeds, the last after {max(seeds)}" if seeds else ""
    _print(f"{len(seeds)} of {len(found)} mutants caught{middle}")
    return 1 if len(seeds) < len(found) else 0


def _record(found: dict[str, Caught | None], most: int, seconds: float) -> None:
    results.save(
        "mutants.json",
        results.Mutants(
            **results.run_by("make mutants", seconds),
            seeds_at_most=most,
            not_run=tuple(mutant.name for mutant in MUTANTS if mutant.name not in found),
            mutants=tuple(
                results.Mutant(
                    name=mutant.name,
                    file=mutant.path,
                    what=_told(caught),
                    found_by=None if caught is None else "checker",
                    seeds=None if caught is None else caught.seeds,
                )
                for mutant in MUTANTS
                if mutant.name in found
                for caught in (found[mutant.name],)
            ),
        ),
    )


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
