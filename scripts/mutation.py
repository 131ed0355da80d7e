"""The mutation score of `src/drumline/core`: `python -m scripts.mutation [cron.py ids.py …]`, or `make mutation`.

mutmut changes each function in small ways, one at a time, and `scripts.mutation_runner` runs the tests of `tests/core`
and `tests/fuzz` that reach it. A change that no test notices has survived: it is either a missing test or a change that
makes no difference. It works on a copy under `build/mutation`, which is kept, so that a run that was interrupted goes
on where it ended. What survived is tried again in each run, with the tests of then; what was noticed is not, unless
the function has changed. Remove the folder to try everything.

The counts are added to `evidence/mutation.json`: for each file how many changes were noticed (`killed`, those that made
a test run without end included) and how many were not (`survived`, those that no test reaches included). Files in which
nothing was tried are left out: mutmut changes functions only. The survivors are printed; `mutmut show NAME` in
`build/mutation` shows one.
"""

import json
import shutil
import signal
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
LEFT_OUT: Final = ("test_clock_changes.py", "test_fuzzing.py", "test_regexes.py", "test_task_fields.py")
"""Tests that take long with every function wrapped, or that read folders which are not copied."""
KILLED: Final = frozenset({1, -signal.SIGXCPU, -signal.SIGALRM})
"""Exit codes of changes that a test noticed, or that made one run without end."""
CHANGED: Final = "_mutmut_"
"""In the names of the functions that mutmut writes, and so in every file that it has changed."""
SKIPPED: Final = 34
"""The exit code of changes that a comment in the code excludes; those that were not tried yet have none."""


def main(names: list[str]) -> int:
    """Try the changes of files of the core, or of all of them, and write the scores."""
    files = [CORE / name for name in names or sorted(path.name for path in (ROOT / CORE).glob("*.py"))]
    _copy(files)
    _forget_survivors(files)
    began = time.monotonic()
    command = [sys.executable, "-m", "scripts.mutation_runner", *_tests()]
    code = subprocess.run(command, cwd=WORK, check=False).returncode  # noqa: S603 - our own words
    record(files, time.monotonic() - began, named=bool(names))
    return code


def record(files: list[Path], seconds: float, *, named: bool) -> None:
    """Add the scores of files to those that are known, and print them with the survivors."""
    files = [file for file in files if _is_finished(file)]
    if not files:
        print("no file was tried to the end, so nothing is recorded")
        return
    before = load("mutation.json", Mutations)
    scores = {score.package: score for score in (before.scores if before else ())}
    for file in files:
        score, survivors = _score(file)
        if score.killed + score.survived:
            scores[score.package] = score
        print(f"{score.killed:>5} noticed {score.survived:>5} not, {score.package}", *survivors, sep="\n      ")
    ordered = tuple(scores[package] for package in sorted(scores))
    names = f' FILES="{" ".join(file.name for file in files)}"' if named else ""
    known = {package for package in (before.unchanged if before else ()) if package not in scores}
    unchanged = known | {f"core/{file.name}" for file in files if _has_no_changes(file)}
    made_by = run_by(f"make mutation{names}", seconds)
    save("mutation.json", Mutations(**made_by, scores=ordered, unchanged=tuple(sorted(unchanged))))


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
    for file in files:  # mutmut takes a file that a run for others has only copied for one that it has changed already
        copy = WORK / "mutants" / file
        if copy.exists() and CHANGED not in copy.read_text(encoding="utf-8"):
            copy.unlink()
    settings = {
        "source_paths": ["src/drumline"],
        "only_mutate": [str(file) for file in files],
        "also_copy": ["docs", "README.md", "tests", "scripts"],
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    with (WORK / "pyproject.toml").open("a", encoding="utf-8") as written:
        written.write("\n".join(["", "[tool.mutmut]", *lines, ""]))


def _forget_survivors(files: list[Path]) -> None:
    """Let changes that survived an earlier run be tried again."""
    for file in files:
        meta = _meta(file)
        if meta.exists():
            known = json.loads(meta.read_text(encoding="utf-8"))
            codes = known["exit_code_by_key"]
            known["exit_code_by_key"] = {name: code if code in KILLED else None for name, code in codes.items()}
            meta.write_text(json.dumps(known), encoding="utf-8")


def _tests() -> list[str]:
    tests = [*(ROOT / "tests/core").glob("test_*.py"), *(ROOT / "tests/fuzz").glob("test_*.py")]
    return [str(test.relative_to(ROOT)) for test in sorted(tests) if test.name not in LEFT_OUT]


def _is_finished(file: Path) -> bool:
    """Tell whether every change of a file was tried."""
    return _meta(file).exists() and None not in _codes(file).values()


def _has_no_changes(file: Path) -> bool:
    """Tell whether mutmut has looked through a file and found nothing to change."""
    return _meta(file).exists() and not _codes(file)


def _codes(file: Path) -> dict[str, int | None]:
    """Return what became of the changes of a file."""
    codes: dict[str, int | None] = json.loads(_meta(file).read_text(encoding="utf-8"))["exit_code_by_key"]
    return codes


def _meta(file: Path) -> Path:
    """Return the file in which mutmut records what became of the changes of a file."""
    return WORK / "mutants" / file.with_name(f"{file.name}.meta")


def _score(file: Path) -> tuple[MutationScore, list[str]]:
    """Return what became of the changes of one file, and the names of those that no test noticed."""
    tried = {name: code for name, code in _codes(file).items() if code != SKIPPED}
    survivors = sorted(name for name, code in tried.items() if code not in KILLED)
    killed = len(tried) - len(survivors)
    return MutationScore(package=f"core/{file.name}", killed=killed, survived=len(survivors)), survivors


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
