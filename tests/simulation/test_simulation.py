"""A fixed share of the simulation: it passes, it repeats exactly, and it finds what is planted."""

import argparse
import asyncio
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from drumline.testing.clock import SimulatedClock
from drumline.testing.loop import SimulatedLoop, SimulatedProcess
from scripts.programs import missing
from tests.evidence.results import Mutants
from tests.evidence.trace import Ending, read, write
from tests.simulation.loop import LeanLoop
from tests.simulation.mutants.patches import MUTANTS
from tests.simulation.mutants.run import PRODUCT, ROOT, Caught, catch, chosen_mutants, merged, planted, simulate
from tests.simulation.plan import load
from tests.simulation.run import validated

SEEDS = "0-49"


def simulated(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tests.simulation", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.timeout(240)  # some 8 s of processor time, on a machine that may do ten other things
def test_a_share_of_the_seeds_passes_and_repeats_exactly_also_in_a_process_that_has_run_none_before() -> None:
    first = simulated("--seeds", SEEDS, "--hashes", "--validate", "6")
    second = simulated("--seeds", "3-5", "--hashes", "--jobs", "1", "--cold")

    assert first.returncode == 0, first.stdout + first.stderr
    if missing("tlc") is None:
        assert "the specification of leases allows" in first.stdout
    hashes = {line for line in second.stdout.splitlines() if line.startswith("seed ")}
    assert len(hashes) == 3
    assert hashes <= set(first.stdout.splitlines())


@pytest.mark.skipif(missing("tlc") is not None, reason=str(missing("tlc")))
def test_a_trace_that_the_specification_does_not_allow_fails_the_run(tmp_path: Path) -> None:
    simulated("--seeds", "0", "--trace", str(tmp_path))
    (path,) = tmp_path.iterdir()
    is_allowed = validated([path])
    lines = [
        replace(line, attempts=(*line.attempts, "completed")) if isinstance(line, Ending) else line
        for line in read(path)
    ]
    write(path, lines)

    assert (is_allowed, validated([path])) == (True, False)


def test_a_fault_planted_in_the_product_is_found() -> None:
    (mutant,) = (each for each in MUTANTS if each.name == "write no dead letters")

    assert catch(mutant, most=20) is not None


def test_every_mutant_fits_the_product() -> None:
    misfits = [each.name for each in MUTANTS if (PRODUCT / each.path).read_text().count(each.before) != 1]

    assert misfits == []
    assert len({each.name for each in MUTANTS}) == len(MUTANTS)


def mutants_at(commit: str, most: int) -> Mutants:
    return Mutants(command="make mutants", commit=commit, date="2026-01-31", seconds=1, seeds_at_most=most, mutants=())


def test_a_run_of_a_few_mutants_keeps_the_verdicts_of_earlier_runs_on_the_others() -> None:
    first, second, *others = (mutant.name for mutant in MUTANTS)
    before = merged(None, {first: Caught(3, "lost"), second: None}, mutants_at("old", 9))
    now = merged(before, {second: Caught(5, "twice")}, mutants_at("new", 9))

    assert [(each.name, each.seeds, each.commit) for each in now.mutants] == [(first, 3, "old"), (second, 5, "new")]
    assert now.not_run == tuple(others)


def test_a_run_of_a_few_mutants_says_of_no_other_how_many_seeds_it_was_given() -> None:
    first, second, *_ = (mutant.name for mutant in MUTANTS)
    before = merged(None, {first: Caught(3, "lost"), second: None}, mutants_at("old", 9))
    now = merged(before, {second: None}, mutants_at("new", 500))

    assert [(each.name, each.given) for each in now.mutants] == [(first, 9), (second, 500)]
    assert now.seeds_at_most == 500


def test_the_parts_of_a_run_of_mutants_are_all_of_it() -> None:
    chosen = [
        mutant.name
        for part in ("1/3", "2/3", "3/3")
        for mutant in chosen_mutants(argparse.Namespace(part=part, only="", new=False), None)
    ]

    assert sorted(chosen) == sorted(mutant.name for mutant in MUTANTS)


@pytest.mark.timeout(600)  # some hundred seeds, one after the other
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


def test_a_clock_that_drifts_keeps_what_it_has_gained_and_never_goes_back() -> None:
    loop, process = SimulatedLoop(start=10.0), SimulatedProcess("ada")
    clock = SimulatedClock(loop, process)

    def after(seconds: float) -> float:
        loop.advance(seconds)
        return clock.monotonic()

    with closing(loop):
        process.drift(0.2, loop.time())
        told = [clock.monotonic(), after(5.0)]
        process.drift(0.0, loop.time())
        told += [clock.monotonic(), after(1.0)]

    assert told == pytest.approx([10.0, 16.0, 16.0, 17.0])


@pytest.mark.parametrize("kind", [SimulatedLoop, LeanLoop])
def test_a_killed_process_runs_nothing_any_more(kind: type[SimulatedLoop]) -> None:
    loop = kind()
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
