"""Moves, drains, shares and waits between shards hold in every interleaving, and every protection is needed."""

import pytest

from tests.model.shards import Check, checks, explored

SMALL = [check for check in checks() if not check.is_large]


def _id(check: Check) -> str:
    return f"{check.rules.__class__.__module__.rpartition('.')[2]}: {check.name}"


@pytest.mark.parametrize("check", [check for check in SMALL if check.complaint is None], ids=_id)
def test_the_protocol_holds_in_every_interleaving(check: Check) -> None:
    verdict = explored(check.rules)

    assert verdict.broken is None, " > ".join(verdict.story)
    assert verdict.states > 500


@pytest.mark.parametrize("check", [check for check in SMALL if check.complaint is not None], ids=_id)
def test_each_protection_is_needed(check: Check) -> None:
    verdict = explored(check.rules)

    assert verdict.broken is not None, "the checker found nothing wrong, so it proves nothing"
    assert check.complaint is not None
    assert check.complaint in verdict.broken, verdict
