"""Says after how many seeds each mutant is caught: `python -m tests.simulation.mutants.run`."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.simulation.mutants.patches import MUTANTS, Mutant

ROOT: Final = Path(__file__).parents[3]
PRODUCT: Final = ROOT / "src" / "drumline"


def seeds_to_catch(mutant: Mutant, *, most: int, jobs: int = 2) -> int | None:
    """Return how many seeds were needed to catch a mutant; None if so many were not enough."""
    with tempfile.TemporaryDirectory() as folder:
        _plant(mutant, Path(folder, "drumline"))
        command = [sys.executable, "-m", "tests.simulation", "--seeds", f"0-{most - 1}", "--first", "--jobs", str(jobs)]
        env = {**os.environ, "PYTHONPATH": folder, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, cwd=ROOT, env=env, check=False, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    words = done.stdout.strip().rsplit("\n", 1)[-1].split()
    if len(words) < 2 or words[1] != "seeds,":
        raise RuntimeError(f"the simulation of {mutant.name!r} did not run: {done.stderr[-2000:]}")
    return int(words[0])


def _plant(mutant: Mutant, target: Path) -> None:
    """Make a copy of the product with the mutant in it."""
    shutil.copytree(PRODUCT, target, ignore=shutil.ignore_patterns("_ui", "_docs", "__pycache__"))
    file = target / mutant.path
    text = file.read_text()
    if text.count(mutant.before) != 1:
        raise ValueError(f"{mutant.name!r} does not fit {mutant.path}: {text.count(mutant.before)} places")
    file.write_text(text.replace(mutant.before, mutant.after))


def main() -> int:
    """Catch every mutant; the status is 1 if one gets away."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=500, help="seeds for each mutant")
    parser.add_argument("--only", default="", help="only mutants whose name has this in it")
    options = parser.parse_args()
    escaped = 0
    for mutant in MUTANTS:
        if options.only in mutant.name:
            count = seeds_to_catch(mutant, most=options.most)
            escaped += count is None
            sys.stdout.write(f"{mutant.name}: {'not caught' if count is None else f'caught by {count} seeds'}\n")
            sys.stdout.flush()
    return 1 if escaped else 0


if __name__ == "__main__":
    sys.exit(main())
