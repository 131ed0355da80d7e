"""Celery's own integration tests, from its source distribution."""

import json
from typing import Any

import pytest

from scripts.programs import missing
from tests.compat.celery_suite import PARTS, RESULTS, run_part

LACKING = missing("celery") or missing("redis")

pytestmark = [
    pytest.mark.services,
    pytest.mark.faults,  # they sleep
    pytest.mark.timeout(1200),
]


@pytest.mark.skipif(LACKING is not None, reason=str(LACKING))
@pytest.mark.parametrize("part", PARTS)
def test_celery_s_own_tests_end_as_the_page_says(part: str) -> None:
    known = expected()

    outcomes = run_part(part)

    assert outcomes
    ended = {name: outcome["outcome"] for name, outcome in outcomes.items()}
    assert ended == {name: known.get(name, {}).get("outcome") for name in ended}


def test_the_page_has_no_test_that_failed() -> None:
    assert {outcome["outcome"] for outcome in expected().values()} == {"passed", "skipped"}


def expected() -> dict[str, Any]:
    """Return how each test ended when the page was written."""
    tests: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))["tests"]
    return tests
