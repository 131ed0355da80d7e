"""A fixed share of the simulation: it passes, it repeats exactly, and it finds what is planted."""

import asyncio
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from drumline.testing.loop import SimulatedLoop, SimulatedProcess
from tests.simulation.mutants.patches import MUTANTS
from tests.simulation.mutants.run import PRODUCT, ROOT, catch, planted, simulate
from tests.simulation.plan import load

SEEDS = "0-5"


def simulated(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tests.simulation", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        check=False,
        capture_output=True,
        text=True,
    )


def test_a_share_of_the_seeds_passes_and_repeats_exactly() -> None:
    first = simulated("--seeds", SEEDS, "--hashes")
    second = simulated("--seeds", "3-5", "--hashes", "--jobs", "1")

    assert first.returncode == 0, first.stdout + first.stderr
    hashes = {line for line in second.stdout.splitlines() if line.startswith("seed ")}
    assert len(hashes) == 3
    assert hashes <= set(first.stdout.splitlines())


def test_a_fault_planted_in_the_product_is_found() -> None:
    (mutant,) = (each for each in MUTANTS if each.name == "write no dead letters")

    assert catch(mutant, most=20) is not None


def test_every_mutant_fits_the_product() -> None:
    misfits = [each.name for each in MUTANTS if (PRODUCT / each.path).read_text().count(each.before) != 1]

    assert misfits == []
    assert len({each.name for each in MUTANTS}) == len(MUTANTS)


def test_a_failing_seed_is_shrunk_to_operations_that_fail_in_the_same_way(tmp_path: Path) -> None:
    (mutant,) = (each for each in MUTANTS if each.name == "do not count crashes")

    with planted(mutant) as product:
        found = simulate(product, "--seeds", "0-60", "--first", "--shrink", "--found", str(tmp_path))
        (stored,) = tmp_path.iterdir()
        again = [simulate(product, "--plan", str(stored)) for _ in range(2)]
    sound = simulated("--plan", str(stored))

    (told,) = (line for line in found.stdout.splitlines() if line.startswith("  shrunk to "))
    problem = told.partition(": ")[2]
    assert load(stored).size <= 30
    assert [problem in run.stdout for run in again] == [True, True], again[0].stdout
    assert again[0].stdout.splitlines()[0] == again[1].stdout.splitlines()[0]
    assert sound.returncode == 0, sound.stdout


def test_a_killed_process_runs_nothing_any_more() -> None:
    loop = SimulatedLoop()
    seen: list[str] = []

    async def work(name: str) -> None:
        try:
            await asyncio.sleep(5)
            seen.append(f"{name} ran")
        finally:
            seen.append(f"{name} cleaned up")

    async def story() -> float:
        ada, bob, eve = SimulatedProcess("ada"), SimulatedProcess("bob"), SimulatedProcess("eve")
        for process in (ada, bob, eve):
            loop.start(process, work(process.name), name=process.name)
        await asyncio.sleep(1)
        loop.kill(ada)
        loop.suspend(bob)
        await asyncio.sleep(9)
        seen.append("bob resumes")
        loop.resume(bob)
        await asyncio.sleep(1)
        return loop.time()

    with closing(loop):
        assert loop.run_until_complete(story()) == pytest.approx(11)

    assert seen == ["eve ran", "eve cleaned up", "bob resumes", "bob ran", "bob cleaned up"]
