"""`python -m tests.chaos --minutes 60 --seed 1 --folder DIR [--resume] [--publish]`."""

import argparse
import sys
import time
from pathlib import Path

from tests.chaos.faults import WEIGHTS
from tests.chaos.report import publish
from tests.chaos.run import Options, Run, say
from tests.chaos.state import load_state, new_state


def main() -> int:
    """Run, and return 0 if every promise held."""
    given = _arguments()
    folder: Path = given.folder.resolve()
    if given.resume:
        state = load_state(folder)
        state.resumes += 1
    else:
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / "state.json").exists():
            raise SystemExit(f"there is a run in {folder} already: resume it, or choose another folder")
        state = new_state(given.minutes, given.seed, _further(given))
    options = Options(folder, given.rate, given.every, not given.no_kafka, tuple(given.only))
    report = Run(state, options).go()
    say((folder / "report.md").read_text())
    if given.publish:
        name = f"{time.strftime('%Y-%m-%d')}-seed-{state.seed}"
        say(f"published in {publish(folder, name)}")
    return 0 if report["verdict"] == "good" else 1


def _further(given: argparse.Namespace) -> str:
    """Return the arguments without which the run could not be repeated, as they are written."""
    words = [f"--rate {given.rate:g}", f"--every {given.every:g}"]
    words += ["--no-kafka"] if given.no_kafka else []
    words += ["--only", *given.only] if given.only else []
    return " ".join(words)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="Run an installation under faults.")
    parser.add_argument("--minutes", type=float, default=60.0, help="time under faults")
    parser.add_argument("--seed", type=int, default=1, help="which faults and requests by chance")
    parser.add_argument("--folder", type=Path, required=True, help="where records, logs and the report are left")
    parser.add_argument("--resume", action="store_true", help="continue a run that was killed")
    parser.add_argument("--publish", action="store_true", help="copy the report to evidence/chaos")
    parser.add_argument("--rate", type=float, default=30.0, help="requests per second, at most")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between faults, on average")
    parser.add_argument("--no-kafka", action="store_true", help="without Kafka")
    parser.add_argument("--only", nargs="*", default=[], choices=list(WEIGHTS), help="only these kinds of faults")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
