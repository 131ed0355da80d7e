"""Nothing in the outbox is skipped or told out of order, in any interleaving, and every protection is needed."""

import pytest

from tests.model.explore import Verdict, explore
from tests.model.outbox_protocol import Rules, World, is_over, steps


def check(rules: Rules) -> Verdict:
    return explore(
        World(),
        lambda world: steps(world, rules),
        broken=lambda world: world.broken,
        ended=is_over,
        cut=lambda _world: False,
    )


@pytest.mark.parametrize(
    "rules", [Rules(), Rules(sequencers=1, relays=2, faults=1)], ids=["two sequencers", "two relays on one cursor"]
)
def test_nothing_is_skipped_or_told_out_of_order(rules: Rules) -> None:
    verdict = check(rules)

    assert verdict.broken is None, " > ".join(verdict.story)
    assert verdict.states > 10_000


@pytest.mark.parametrize(
    ("without", "complaint"),
    [
        (Rules(positions=False), "before a1|stuck"),
        (Rules(numbers_after_lock=False), "before a1"),
        (Rules(in_order=False), "before a1"),
        (Rules(sequencer_locks=False, gives_once=False), "two positions"),
        (Rules(gives_once=False), "two positions"),
        (Rules(moves_after_sending=False), "before a1|stuck"),
        (Rules(keeps_unread=False), "before a1|stuck"),
    ],
    ids=[
        "id > last", "numbers drawn before the lock", "positions against the numbers", "sequencers side by side",
        "positions given twice", "cursor moved before sending", "unread rows dropped",
    ],
)  # fmt: skip
def test_each_protection_is_needed(without: Rules, complaint: str) -> None:
    verdict = check(without)

    assert verdict.broken is not None, "the checker found nothing wrong, so it proves nothing"
    assert any(part in verdict.broken for part in complaint.split("|")), verdict
