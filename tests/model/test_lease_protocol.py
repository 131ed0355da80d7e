"""The protocol holds in every interleaving, and every protection in it is needed."""

import pytest

from tests.model.explore import Verdict, explore
from tests.model.lease_protocol import ENDED, Protocol, World, steps


def check(rules: Protocol) -> Verdict:
    return explore(
        World(),
        lambda world: steps(world, rules),
        broken=lambda world: world.broken,
        ended=lambda world: world.state in ENDED,
        cut=lambda world: world.epoch >= rules.epochs - 1,
    )


@pytest.mark.parametrize(
    "rules",
    [
        Protocol(),
        Protocol(stores_leased=False),
        Protocol(store_can_choose=False),
        Protocol(failover_loses_claims=True, faults=2, epochs=4),
    ],
    ids=["as built", "nothing is stored leased", "hints only", "a failover may forget claims"],
)
def test_nothing_is_lost_doubled_or_stuck(rules: Protocol) -> None:
    verdict = check(rules)

    assert verdict.broken is None, " > ".join(verdict.story)
    assert verdict.states > 10_000


@pytest.mark.parametrize(
    ("without", "complaint"),
    [
        (Protocol(fence="state"), "stale lease"),
        (Protocol(fence="none"), "stale lease|ended task"),
        (Protocol(fence="epoch", failover_loses_claims=True, faults=4), "stale lease"),
        (Protocol(sweep=False, store_can_choose=False), "stuck"),
        (Protocol(sweep=False, store_can_choose=False, hints_reappear=False), "stuck"),
        (Protocol(acks_after_commit=False), "not stored"),
        (Protocol(releases_ghosts=False), "stuck"),
        (Protocol(store_confirms=False), "queue's word"),
        (Protocol(reaps=False), "stuck"),
    ],
    ids=[
        "fenced by state only", "not fenced", "fenced without a nonce", "no sweep and no fallback",
        "hints never reappear", "acknowledged before the commit", "ghosts kept", "the queue decides", "no reaper",
    ],
)  # fmt: skip
def test_each_protection_is_needed(without: Protocol, complaint: str) -> None:
    verdict = check(without)

    assert verdict.broken is not None, "the checker found nothing wrong, so it proves nothing"
    assert any(part in verdict.broken for part in complaint.split("|")), verdict
