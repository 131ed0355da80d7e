"""The mutation score of `src/drumline/core`: `python -m scripts.mutation [cron.py ids.py …]`, or `make mutation`.

mutmut changes each function in small ways, one at a time, and runs the tests that reach it. A change that no test
notices has survived: it is either a missing test or a change that makes no difference. It works on a copy under
`build/mutation`, which is kept, so that a run that was interrupted goes on where it ended.

The counts are added to `evidence/mutation.json`: for each file how many changes were noticed (`killed`, those that made
a test run without end included) and how many were not (`survived`, those that no test reaches included). Files in which
nothing was tried are left out: mutmut changes functions only. The survivors are printed; `mutmut show NAME` in
`build/mutation` shows one.
"""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from tests.evidence.results import Mutations, MutationScore, load, run_by, save

ROOT: Final = Path(__file__).parent.parent
WORK: Final = ROOT / "build" / "mutation"
CORE: Final = Path("src/drumline/core")
COPIED: Final = ("src/drumline", "tests", "scripts", "docs", "README.md", "pyproject.toml")
LEFT_OUT: Final = ("test_clock_changes.py", "test_regexes.py", "test_task_fields.py")
"""Tests that take long with every function wrapped, or that read folders which are not copied."""
FIRST: Final = (
    "lease.py", "state.py", "outcome.py", "retry.py", "cron.py", "duration.py", "ids.py", "slots.py", "shard_map.py",
    "rate.py", "limits.py", "fair_shares.py",
)  # fmt: skip
"""What is changed where no file is named: small, and most depends on it."""
_QUIET: Final = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
"""mutmut has imported Drumline before pytest finds its plugin there."""
KILLED: Final = frozenset({1, 3, 24, -24, 36, 37, 152, 255})
"""Exit codes of changes that a test noticed, or that made one run without end."""
NOT_RUN: Final = frozenset({None, 2, 34})
"""Exit codes of changes that were not tried: not yet, interrupted, or skipped by a comment."""


def main(names: list[str]) -> int:
    """Run mutmut for files of the core and write the scores."""
    files = [CORE / name for name in names or FIRST]
    _copy(files)
    began = time.monotonic()
    command = [str(Path(sys.executable).parent / "mutmut"), "run", "--max-children", "2"]
    code = subprocess.run(command, cwd=WORK, check=False).returncode  # noqa: S603 - our own words
    record(files, time.monotonic() - began)
    return code


def record(files: list[Path], seconds: float) -> None:
    """Add the scores of files to those that are known, and print them with the survivors."""
    before = load("mutation.json", Mutations)
    scores = {score.package: score for score in (before.scores if before else ())}
    for file in files:
        score, survivors = _score(file)
        if score.killed + score.survived:
            scores[score.package] = score
        print(f"{score.killed:>5} noticed {score.survived:>5} not, {score.package}", *survivors, sep="\n      ")
    ordered = tuple(scores[package] for package in sorted(scores))
    names = " ".join(file.name for file in files)
    save("mutation.json", Mutations(**run_by(f'make mutation FILES="{names}"', seconds), scores=ordered))


def _copy(files: list[Path]) -> None:
    """Copy what mutmut needs, with its settings; results of files that are the same as before are kept."""
    for name in COPIED:
        source, target = ROOT / name, WORK / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "_ui", "_docs"))
        else:
            shutil.copy2(source, target)
    for file in files:  # mutmut takes a file that an earlier run has only copied for one that it has changed already
        if not (WORK / "mutants" / file.with_name(f"{file.name}.meta")).exists():
            (WORK / "mutants" / file).unlink(missing_ok=True)
    settings = {
        "source_paths": ["src/drumline"],
        "only_mutate": [str(file) for file in files],
        "pytest_add_cli_args_test_selection": _tests_of(files),
        "pytest_add_cli_args": [
            *("-p", "no:randomly", "-p", "no:cacheprovider", "-p", "scripts.mutation_plugin"),
            *_QUIET,
        ],
        "also_copy": ["docs", "README.md", "tests", "scripts"],
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    with (WORK / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("\n".join(["", "[tool.mutmut]", *lines, ""]))


def _tests_of(files: list[Path]) -> list[str]:
    """Return the tests of the core that are named after one of the files or import it, and the fuzz tests that do."""
    imports = [f"drumline.core.{file.stem} import" for file in files]
    own = {f"test_{file.name}" for file in files}
    tests = [*(ROOT / "tests/core").glob("test_*.py"), *(ROOT / "tests/fuzz").glob("test_*.py")]
    wanted = [test for test in sorted(tests) if test.name not in LEFT_OUT]
    return [
        str(test.relative_to(ROOT))
        for test in wanted
        if test.name in own or any(text in test.read_text("utf-8") for text in imports)
    ]


def _score(file: Path) -> tuple[MutationScore, list[str]]:
    """Return what became of the changes of one file, and the names of those that no test noticed."""
    meta = WORK / "mutants" / file.with_name(f"{file.name}.meta")
    codes = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"] if meta.exists() else {}
    tried = {name: code for name, code in codes.items() if code not in NOT_RUN}
    survivors = sorted(name for name, code in tried.items() if code not in KILLED)
    killed = len(tried) - len(survivors)
    return MutationScore(package=f"core/{file.name}", killed=killed, survived=len(survivors)), survivors


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
