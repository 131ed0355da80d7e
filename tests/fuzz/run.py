"""Runs the fuzz tests for a fixed time: `python -m tests.fuzz.run --minutes 5`, or `make fuzz MINUTES=5`.

Every test gets the same share of the time, in a process of its own. Where atheris is installed, coverage guides which
inputs are tried next; else Hypothesis draws them at random. What was found is printed, and the counts are written to
`evidence/fuzz.json`. A test that failed prints the input: it becomes an `@example` of that test.
"""

import argparse
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from tests.evidence.results import run_by
from tests.fuzz.atheris_run import fuzz_tests

REPORT: Final = Path("evidence/fuzz.json")
LEAST_SECONDS: Final = 2
_DONE: Final = re.compile(r"Done (\d+) (?:runs )?in|(?:stat::number_of_executed_units:\s+)(\d+)")


def main() -> int:
    """Run every fuzz test, or those that are named; return how many failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="in all")
    parser.add_argument("tests", nargs="*", help="names, or parts of names; all without")
    given = parser.parse_args()
    names = [name for name in fuzz_tests() if not given.tests or any(part in name for part in given.tests)]
    seconds = max(round(given.minutes * 60 / max(len(names), 1)), LEAST_SECONDS)
    is_guided = importlib.util.find_spec("atheris") is not None
    results = {}
    for name in names:
        results[name] = result = run(name, seconds, is_guided=is_guided)
        sys.stdout.write(f"{'failed' if result['failed'] else 'held  '} {result['executions']:>9,} {name}\n")
        sys.stdout.flush()
    REPORT.parent.mkdir(exist_ok=True)
    asked = " ".join(
        [f"make fuzz MINUTES={given.minutes:g}", *([f'ARGS="{" ".join(given.tests)}"'] if given.tests else [])]
    )
    told = run_by(asked, 0.0)
    report = {
        "guided": is_guided,
        "seconds_each": seconds,
        "tests": results,
        "command": told["command"],
        "commit": told["commit"],
        "date": told["date"],
    }
    REPORT.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return sum(result["failed"] for result in results.values())


def run(name: str, seconds: int, *, is_guided: bool) -> dict[str, Any]:
    """Fuzz one test for a time; return the number of executions and whether one failed."""
    module = "tests.fuzz.atheris_run" if is_guided else "tests.fuzz.drawn_run"
    command = [sys.executable, "-m", module, name, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    counts = [int(one or other) for one, other in _DONE.findall(done.stderr)]
    return _result(max(counts, default=0), done)


def _result(executions: int, done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    if done.returncode:
        sys.stderr.write(f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}\n")
    return {"executions": executions, "failed": done.returncode != 0}


if __name__ == "__main__":
    sys.exit(main())
