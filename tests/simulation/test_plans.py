"""Plans that a check once refused though the product was right: kept, so that no check refuses them again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.mutants.run import ROOT

PLANS = sorted((Path(__file__).parent / "plans").glob("*.json"))


@pytest.mark.parametrize("plan", PLANS, ids=[path.stem for path in PLANS])
def test_a_plan_that_was_refused_by_mistake_passes(plan: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation", "--plan", str(plan), "--cold"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout + done.stderr
