"""Release, cancel and ripple hold in every interleaving, and every protection in them is needed."""

import pytest

from tests.model import fan_in, ripples
from tests.model.explore import Verdict, explore


def check_fan_in(rules: fan_in.Rules) -> Verdict:
    return explore(
        fan_in.World(),
        lambda world: fan_in.steps(world, rules),
        broken=lambda world: world.broken,
        ended=fan_in.has_ended,
        cut=lambda _: False,
    )


def check_ripples(rules: ripples.Rules) -> Verdict:
    return explore(
        ripples.World(),
        lambda world: ripples.steps(world, rules),
        broken=lambda world: world.broken,
        ended=ripples.has_ended,
        cut=lambda _: False,
    )


@pytest.mark.parametrize("cancels", [False, True])
def test_a_child_is_released_once_after_both_parents_and_never_after_a_cancel(*, cancels: bool) -> None:
    verdict = check_fan_in(fan_in.Rules(cancels=cancels))

    assert verdict.broken is None, " > ".join(verdict.story)
    assert verdict.states > 50


@pytest.mark.parametrize(
    ("without", "complaint"),
    [
        (fan_in.Rules(locks_job=False, release="look", cancels=False), "stuck"),
        (fan_in.Rules(locks_job=False, release="read then write", cancels=False), "stuck"),
        (fan_in.Rules(only_blocked=False), "cancelled child"),
    ],
    ids=["looking for parents that have not ended", "a count that was read before", "released whatever it is"],
)
def test_each_protection_of_the_release_is_needed(without: fan_in.Rules, complaint: str) -> None:
    verdict = check_fan_in(without)

    assert verdict.broken is not None, "the checker found nothing wrong, so it proves nothing"
    assert complaint in verdict.broken, verdict


def test_a_waiting_job_is_told_of_every_end_and_begins_in_time() -> None:
    verdict = check_ripples(ripples.Rules())

    assert verdict.broken is None, " > ".join(verdict.story)
    assert verdict.states > 500


@pytest.mark.parametrize(
    ("without", "complaint"),
    [
        (ripples.Rules(notes_end=False), "stuck"),
        (ripples.Rules(marks_told=False), "before the others"),
        (ripples.Rules(looks_again=False), "before the others"),
    ],
    ids=["told only after the commit", "told twice", "told of an end that is over"],
)
def test_each_protection_of_the_ripple_is_needed(without: ripples.Rules, complaint: str) -> None:
    verdict = check_ripples(without)

    assert verdict.broken is not None, "the checker found nothing wrong, so it proves nothing"
    assert complaint in verdict.broken, verdict
