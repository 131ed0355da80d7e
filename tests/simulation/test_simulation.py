"""A fixed share of the simulation: it passes, it repeats exactly, and it finds what is planted."""

import asyncio
import os
import subprocess
import sys
from contextlib import closing

import pytest

from drumline.testing.loop import SimulatedLoop, SimulatedProcess
from tests.simulation.mutants.patches import MUTANTS
from tests.simulation.mutants.run import ROOT, seeds_to_catch

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

    assert seeds_to_catch(mutant, most=20) is not None


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
