"""Makes the page that lists how Celery's own tests ended against `drumline.compat.celery`."""

import json
from pathlib import Path

RESULTS = Path(__file__).resolve().parent.parent / "tests" / "compat" / "celery_results.json"

INTRODUCTION = """\
# Celery's own tests

<!-- Made by `make reference` from tests/compat/celery_results.json, which `python -m tests.compat.celery_suite --write` writes. -->

The integration tests for tasks and canvas from the source distribution of Celery {version} (`t/integration/test_tasks.py` and `test_canvas.py`), run unchanged against
[`drumline.compat.celery`](../how-to/celery.md), with SQLite as the store. They are fetched by `make services`, and are part of `make test`, which compares each with this page.
The fixtures of Celery's plugin for pytest are replaced (`tests/compat/celery_plugin.py`): one app, and a worker with room for four tasks in the process of the tests. Tests that Celery
expects to fail with some brokers, and that pass here, count as passed.

**{passed} pass, {skipped} are skipped; {total} in all.**
"""


def celery_page() -> str:
    """Return the page."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    outcomes: dict[str, dict[str, str]] = results["tests"]
    kinds = {kind: [name for name in outcomes if outcomes[name]["outcome"] == kind] for kind in _KINDS}
    introduction = INTRODUCTION.format(
        version=results["celery"], total=len(outcomes), **{kind: len(names) for kind, names in kinds.items()}
    )
    return introduction + _skipped(outcomes, kinds["skipped"]) + _plain("Passed", kinds["passed"])


_KINDS = ("passed", "skipped")


def _skipped(outcomes: dict[str, dict[str, str]], names: list[str]) -> str:
    reasons: dict[str, list[str]] = {}
    for name in names:
        reasons.setdefault(outcomes[name]["reason"], []).append(name)
    parts = ["\n## Skipped, and why\n\n| tests | reason |\n|---|---|\n"]
    for reason, tests in sorted(reasons.items(), key=lambda pair: -len(pair[1])):
        by_us = reason.startswith("Drumline: ")
        said = reason.removeprefix("Drumline: ") if by_us else f"skipped by Celery itself: {reason}"
        parts.append(f"| {', '.join(f'`{_short(test)}`' for test in tests)} | {said} |\n")
    return "".join(parts)


def _plain(title: str, names: list[str]) -> str:
    by_class: dict[str, list[str]] = {}
    for name in names:
        file, kind, test = name.split("::")
        by_class.setdefault(f"{file} `{kind}`", []).append(test)
    lines = "".join(f"- {place}: {', '.join(f'`{test}`' for test in tests)}\n" for place, tests in by_class.items())
    return f"\n## {title}\n\n{lines}" if names else ""


def _short(name: str) -> str:
    return "::".join(name.split("::")[1:])
