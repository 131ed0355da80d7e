"""The TLA+ specifications hold within small bounds, and each protection in them is needed."""

import pytest

from scripts.programs import missing
from tests.evidence import tlc

pytestmark = pytest.mark.skipif(missing("tlc") is not None, reason=str(missing("tlc")))

DISTINCT = {"Lease": 1_500, "FanIn": 300, "Fire": 750, "Outbox": 400, "SlotMove": 2_800}
"""How many distinct states there are at least: fewer would mean that some action can no longer happen."""


@pytest.mark.parametrize("name", tlc.NAMES)
def test_the_specification_holds_in_every_state(name: str) -> None:
    verdict = tlc.check(name)

    assert verdict.passed, verdict.output
    assert verdict.distinct >= DISTINCT[name]


@pytest.mark.parametrize("name", tlc.NAMES)
def test_every_protection_is_needed(name: str) -> None:
    listed = tlc.mutants(name)

    assert len(listed) >= 3
    assert tlc.check(name, tlc.MUTANTS).found == listed


def test_a_missing_protection_is_shown_with_the_steps_that_lead_to_the_fault() -> None:
    verdict = tlc.check_without("Lease", "nonce")

    assert not verdict.passed
    assert "Invariant Safe is violated" in verdict.output
    assert "Failover" in verdict.output
