"""The page of evidence says what the results say, and names what was not run."""

import re
from pathlib import Path

import msgspec
import pytest

from tests.evidence import report, results
from tests.evidence.results import (
    Bug,
    Bugs,
    Chaos,
    Finding,
    Fuzz,
    Fuzzed,
    Mutant,
    Mutants,
    Mutations,
    MutationScore,
    RunBy,
    Simulation,
    Simulations,
    Spec,
    Specs,
)
from tests.harness.programs import path_of

RUN: RunBy = {"command": "make it", "commit": "0123456789abcdef", "date": "2026-01-31", "seconds": 90}
SECTIONS = 6
"""Kinds of evidence that may not have been run."""


def simulation(first: int, *findings: Finding) -> Simulation:
    counts = {"operations": 4_000, "executions": 3_000, "faults": 200}
    return Simulation(
        **RUN, **counts, first_seed=first, seeds=1_500, judged_by={"checker": 1_500}, repeated=9, findings=findings
    )


def test_the_page_is_what_the_results_give() -> None:
    assert report.PAGE.read_text(encoding="utf-8") == report.page(), "run `make evidence`"


def test_without_results_everything_is_said_not_to_be_run(tmp_path: Path) -> None:
    page = report.page(tmp_path)

    assert page.count("**Not run yet**") == SECTIONS
    assert "TLA+ specifications |" not in page


def test_runs_of_the_simulator_are_added_up(tmp_path: Path) -> None:
    results.add_simulation(simulation(0), tmp_path)
    results.add_simulation(simulation(1_500), tmp_path)

    page = report.page(tmp_path)

    assert "**3,000 runs of 3,000 seeds**" in page
    assert "8,000 operations of clients, 6,000 executions and 400 faults. No judge found anything." in page
    assert "| 1,500 from 1500 |" in page
    assert "| checker 1,500 | 0 of 9 | 0 | 90 s | `make it` at `0123456789ab`, 2026-01-31 |" in page
    assert page.count("**Not run yet**") == SECTIONS - 1


def test_seeds_that_were_run_more_than_once_are_counted_once(tmp_path: Path) -> None:
    for first in (0, 1_000, 1_000, 9_000):
        results.add_simulation(simulation(first), tmp_path)

    assert "**6,000 runs of 4,000 seeds**" in report.page(tmp_path)


def test_findings_are_listed_with_what_repeats_them(tmp_path: Path) -> None:
    results.add_simulation(simulation(0, Finding(where="seed 7", what="t was lost")), tmp_path)

    page = report.page(tmp_path)

    assert "**1 findings**" in page
    assert "- `seed 7`: t was lost" in page


def test_a_mutant_that_no_judge_found_is_said_in_bold(tmp_path: Path) -> None:
    found = [
        Mutant(name=f"m{seeds}", file="a.py", what="x", found_by="checker", seeds=seeds, given=2000)
        for seeds in (3, 40, 1200)
    ]
    missed = Mutant(name="late", file="b.py", what="forgets | a wake-up", given=2000)
    results.save("mutants.json", Mutants(**RUN, seeds_at_most=2000, mutants=(*found, missed)), tmp_path)

    page = report.page(tmp_path)

    assert "**3 of 4 mutants found**, the median after 40 seeds; each was given at most 2,000." in page
    assert "| late | `b.py` | forgets \\| a wake-up | **not found** | - |" in page


def test_a_mutant_does_not_count_as_given_what_another_run_was_given(tmp_path: Path) -> None:
    told = Mutant(name="told", file="a.py", what="x", found_by="checker", seeds=3, given=20)
    untold = msgspec.structs.replace(told, name="untold", given=None)
    results.save("mutants.json", Mutants(**RUN, seeds_at_most=2000, mutants=(told, untold)), tmp_path)

    page = report.page(tmp_path)

    assert "; each was given at most 20, and of 1 it is not recorded how many they were given." in page


def test_a_specification_has_its_states_and_the_protections_that_it_needs(tmp_path: Path) -> None:
    holds = Spec(
        name="Lease", file="specs/Lease.tla", bounds="small", states=90_000, distinct=10_000, seconds=4,
        protections=7, protections_found=6,
    )  # fmt: skip
    broken = msgspec.structs.replace(holds, name="Fire", is_violated=True)
    results.save("specs.json", Specs(**RUN, specs=(holds, broken)), tmp_path)

    page = report.page(tmp_path)

    assert "| `specs/Lease.tla` | small | 90,000 | 10,000 | holds | 6 of 7 |" in page
    assert "| **violated** | 6 of 7 |" in page
    assert "[all of them](#specifications)" in page


def test_a_run_of_chaos_lists_its_faults_and_explains_what_was_repeated(tmp_path: Path) -> None:
    explained = tuple(f"t{number} ran twice: kill of w1" for number in range(report.TOLD + 2))
    run = Chaos(
        verdicts={"lease specification": "12 tasks compared"},
        upgraded_from="abcdef0123456789",
        replaced=16,
        remark="It was killed and resumed once.",
        slowest=20.7,
        command="make chaos",
        commit="0123456789abcdef+",
        date="2026-01-31",
        seconds=7200,
        stores="PostgreSQL 17",
        faults={"kill": 300, "stop": 210},
        acknowledged=90_000,
        completed=89_999,
        executions=90_100,
        lost=1,
        explained=explained,
        findings=(Finding(where="trace.jsonl", what="t9 was lost"),),
    )
    results.save("chaos/first.json", run, tmp_path)

    page = report.page(tmp_path)

    assert "**2.0 h in all**, with 510 faults and 90,000 acknowledged tasks, of which 1 were lost." in page
    assert "| faults | 510, 255 an hour: kill 300, stop 210 |" in page
    assert "| judged by | **no judge** |" in page
    assert "It was killed and resumed once." in page
    assert "| lease specification | 12 tasks compared |" in page
    assert "| upgraded while it ran | from `abcdef012345`, 16 processes replaced |" in page
    assert "| longest time until a task began again | 21 s |" in page
    assert "`make chaos` at `0123456789ab` with changes, 2026-01-31" in page
    assert page.count("ran twice") == report.TOLD
    assert "`evidence/chaos/first.json` has 2 more." in page
    assert "- `trace.jsonl`: t9 was lost" in page


def test_fuzz_tests_and_scores_are_listed_and_open_faults_are_said_in_bold(tmp_path: Path) -> None:
    tests = {"cron": Fuzzed(executions=12_345, failed=False), "ids": Fuzzed(executions=2, failed=True)}
    results.save("fuzz.json", Fuzz(guided=True, seconds_each=60, tests=tests), tmp_path)
    score = MutationScore(package="core", killed=90, survived=10)
    results.save("mutation.json", Mutations(**RUN, scores=(score,)), tmp_path)
    results.save("bugs.json", Bugs(bugs=(Bug(what="a key was lost", found_by="simulation"),)), tmp_path)

    page = report.page(tmp_path)

    assert "`make fuzz`, at a commit that was not recorded, 60 s for each test; inputs by atheris" in page
    assert "| `cron` | 12,345 | held |" in page
    assert "| `ids` | 2 | **failed** |" in page
    assert "| `core` | 100 | 90 | 90.0 % |" in page
    assert "| a key was lost | simulation | **open** | - |" in page


def test_files_without_a_mutation_score_are_named_unless_there_is_nothing_to_change(tmp_path: Path) -> None:
    score = MutationScore(package="core/ids.py", killed=90, survived=10)
    scores = Mutations(**RUN, scores=(score,), unchanged=("core/current_attempt.py",))
    results.save("mutation.json", scores, tmp_path)

    (told,) = (line for line in report.page(tmp_path).splitlines() if "Not measured: " in line)

    assert "Measured: 1 of the " in told
    assert "`core/cron.py`" in told
    assert "`core/ids.py`" not in told
    assert "`core/current_attempt.py`" not in told
    assert "`core/lease.py`" not in told, "it has no functions"


def test_a_result_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "simulate.json").write_text('{"runs": [{"seeds": 3}]}')

    with pytest.raises(ValueError, match=r"simulate\.json: .*missing required field"):
        results.load("simulate.json", Simulations, tmp_path)


def test_the_check_fails_when_the_page_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report, "PAGE", tmp_path / "evidence.md")
    monkeypatch.setattr("sys.argv", ["report", "--check"])
    assert report.main() == 1
    assert "run `make evidence`" in capsys.readouterr().err

    monkeypatch.setattr("sys.argv", ["report"])
    assert report.main() == 0
    monkeypatch.setattr("sys.argv", ["report", "--check"])
    assert report.main() == 0


def test_results_name_commits_that_a_reader_can_check_out() -> None:
    path_of("git")
    if not results.has_history():
        pytest.skip("the sources are not in a repository with its history")

    lost = sorted(commit for commit in results.commits() if not results.is_in_history(commit))

    assert lost == [], "run `make evidence`, which takes them out; name the commits of repairs in bugs.json anew"


def test_a_commit_that_is_not_in_the_history_is_taken_out_and_said_to_be_gone(tmp_path: Path) -> None:
    path_of("git")
    if not results.has_history():
        pytest.skip("the sources are not in a repository with its history")
    head = results.commit().rstrip("+")
    runs = (msgspec.structs.replace(simulation(0), commit=f"{head}+"), simulation(1))
    results.save("simulate.json", Simulations(runs=runs), tmp_path)

    counts = results.forget_lost_commits(tmp_path), results.forget_lost_commits(tmp_path)

    page = report.page(tmp_path)
    assert counts == (1, 0)
    assert f"`make it` at `{head[:12]}` with changes, 2026-01-31" in page
    assert "`make it` at a commit that is not in the history any more, 2026-01-31" in page
    assert results.commits(tmp_path) == {f"{head}+"}


def test_a_run_names_its_commit() -> None:
    path_of("git")
    if not (results.ROOT / ".git").exists():
        pytest.skip("the sources are not in a repository")

    run = results.run_by("make it", 1.25)

    assert re.fullmatch(r"[0-9a-f]{40}\+?", run["commit"])
    assert (run["command"], run["seconds"]) == ("make it", 1.2)
