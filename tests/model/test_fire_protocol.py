"""Each fire time gives one run in every interleaving, and every protection is needed for that."""

import pytest

from tests.model.explore import Verdict, explore
from tests.model.fire_protocol import Protocol, World, steps


def check(rules: Protocol) -> Verdict:
    return explore(
        World(),
        lambda world: steps(world, rules),
        broken=lambda world: world.broken,
        ended=lambda world: world.next_fire > rules.latest,
        cut=lambda _: False,
    )


@pytest.mark.parametrize("rules", [Protocol(), Protocol(latest=2, faults=2)], ids=["as built", "two faults"])
def test_every_fire_time_gives_one_run_unless_nobody_was_there(rules: Protocol) -> None:
    verdict = check(rules)

    assert verdict.broken is None, " > ".join(verdict.story)
    assert verdict.states > 10_000


def test_the_key_alone_keeps_a_fire_time_from_firing_twice() -> None:
    verdict = check(Protocol(locks=False, latest=2))

    assert verdict.broken is None, " > ".join(verdict.story)


@pytest.mark.parametrize(
    ("without", "complaint"),
    [
        (Protocol(locks=False, has_key=False), "two runs"),
        (Protocol(is_one_transaction=False, has_key=False), "two runs"),
        (Protocol(is_one_transaction=False, run_comes_first=False), "left out"),
        (Protocol(counts_from="clock"), "left out"),
        (Protocol(remembers=False), "left out"),
        (Protocol(doubts=False), "left out"),
        (Protocol(word_comes_last=False), "made up for"),
    ],
    ids=[
        "neither lock nor key", "run, then next fire time", "next fire time, then run", "next found from the clock",
        "judged by the clock alone", "an old word believed at once", "word left before the work",
    ],
)  # fmt: skip
def test_each_protection_is_needed(without: Protocol, complaint: str) -> None:
    verdict = check(without)

    assert verdict.broken is not None, "the checker found nothing wrong, so it proves nothing"
    assert complaint in verdict.broken, verdict
