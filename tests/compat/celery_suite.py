"""Runs Celery's own integration tests against `drumline.compat.celery`, and keeps how they ended.

    python -m tests.compat.celery_suite --write

writes `celery_results.json`, from which `make reference` makes the page that lists them. Most of the time these tests
sleep, so they are run in several parts at once.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from scripts.fetch_programs import CELERY
from scripts.programs import ROOT, find_files
from tests.harness.redis import RedisServer

RESULTS = Path(__file__).parent / "celery_results.json"
LONGEST_TEST = 300
"""Seconds, as Celery has it."""
_FILE = "t/integration/test_canvas.py"
_SLOW_CHORDS = ("test_enabling or nested_chord_header", "test_disabling or link_error_option or errbacks", "test_flag")
"""Chords that wait for what must not happen, for minutes."""
PARTS: Mapping[str, tuple[str, ...]] = {
    "tasks": ("t/integration/test_tasks.py",),
    "chain": (_FILE, "-k", "test_chain or test_link_error"),
    "chord": (_FILE, "-k", f"test_chord and not test_chain and not ({' or '.join(_SLOW_CHORDS)})"),
    "others": (_FILE, "-k", "not test_chain and not test_link_error and not test_chord"),
    **{
        f"slow chord {number}": (_FILE, "-k", f"test_chord and not test_chain and ({names})")
        for number, names in enumerate(_SLOW_CHORDS, 1)
    },
}
"""Every test is in one of them: `-k` matches names of tests as well as of classes."""

Outcomes = dict[str, dict[str, str]]


def run_part(part: str) -> Outcomes:
    """Run one part of the tests, with a Redis of its own, and return how each ended."""
    server = RedisServer()
    try:
        return run_tests(server.url(), *PARTS[part])
    finally:
        server.remove()


def run_tests(redis_url: str, *selected: str) -> Outcomes:
    """Run tests in a process of their own."""
    found = find_files("celery")
    if found is None:
        raise FileNotFoundError("Celery's tests are missing: python3 -m scripts.install_programs celery")
    folder = found.parents[2]
    with tempfile.TemporaryDirectory() as work:
        results = Path(work) / "results.json"
        address = urlsplit(redis_url)
        environment = {
            **os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}", "TEST_BACKEND": redis_url,
            "TEST_BROKER": "drumline://", "REDIS_HOST": str(address.hostname), "REDIS_PORT": str(address.port),
            "DRUMLINE_CELERY_RESULTS": str(results), "PYTEST_ADDOPTS": "",
        }  # fmt: skip
        without = [word for name in ("randomly", "cacheprovider", "xdist", "asyncio") for word in ("-p", f"no:{name}")]
        options = ["-p", "tests.compat.celery_plugin", "-o", "python_classes=test_*", "--timeout", str(LONGEST_TEST)]
        command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(folder), "-q", "--tb=short"]
        done = subprocess.run(
            [*command, *without, *options, *selected], cwd=folder, env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if not results.exists():
            raise RuntimeError(done.stdout + done.stderr)
        outcomes: Outcomes = json.loads(results.read_text(encoding="utf-8"))
        if any(outcome["outcome"] == "failed" for outcome in outcomes.values()):
            sys.stderr.write(done.stdout)
    return outcomes


def main() -> None:
    """Run all tests and write how they ended."""
    with ThreadPoolExecutor(len(PARTS)) as pool:
        outcomes = {name: outcome for part in pool.map(run_part, PARTS) for name, outcome in part.items()}
    failed = [name for name, outcome in outcomes.items() if outcome["outcome"] == "failed"]
    sys.stdout.write("\n".join([*failed, f"{len(outcomes)} tests, {len(failed)} failed\n"]))
    if "--write" in sys.argv and not failed:
        results = {"celery": CELERY, "tests": outcomes}
        RESULTS.write_text(f"{json.dumps(results, indent=1, sort_keys=True)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
