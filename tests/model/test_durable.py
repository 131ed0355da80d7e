"""The protocol of durable tasks holds in every interleaving, and each protection is needed."""

from collections.abc import Callable

import pytest

from tests.model import far_signals
from tests.model.durable_correlation import Protocol, World, broken, steps
from tests.model.durable_statements import Facts, explore
from tests.model.explore import Verdict
from tests.model.explore import explore as explore_states
from tests.model.far_signals import FarProtocol, FarTask, FarWorld


def lost(facts: Facts) -> bool:
    return {"signal", "wait"} <= facts and "due" not in facts


def child_lost(facts: Facts) -> bool:
    return {"ended", "wait"} <= facts and "due" not in facts


def late(facts: Facts) -> bool:
    return {"bad", "record"} <= facts


def outdated(facts: Facts) -> bool:
    return {"bad", "taken", "old"} <= facts


def never(_facts: Facts) -> bool:
    return False


SIGNAL = "snap; lock task; snap; put signal; see wait; if wait due; commit"
PARK = "snap; lock task; snap; see signal; unless signal wait; commit"
CHILD = "snap; lock parent; lock kid; snap; put ended; see wait; if wait due; commit"
PARK_FOR_CHILD = "snap; lock parent; snap; see ended; unless ended wait; commit"
RECORD = "snap; lock live; now reaped; unless reaped record; late reaped bad; commit"
REAP = "lock live; put reaped; commit"
RESTART = "lock live; put claimed; commit; lock live; put gone; put payload; commit"
CLAIM = "snap; see payload; lock live; now gone; late payload bad; unless gone taken; unless payload old; commit"
"""A claim that began before the restart: it passes over the live row, which is gone."""
BY_KEY = "lock key; snap; put signal; see wait; lock task; if wait due; commit"
PARK_BY_KEY = "lock key; lock task; snap; see signal; unless signal wait; commit"


@pytest.mark.parametrize(
    ("programs", "wrong"),
    [
        ((SIGNAL, PARK), lost),
        ((RECORD, REAP), late),
        ((BY_KEY, PARK_BY_KEY), lost),
        ((CHILD, PARK_FOR_CHILD, "lock parent; lock plive; put cancelled; commit"), child_lost),
        (("lock A; lock B; put x; commit", "lock A; lock B; put y; commit"), never),
        ((RESTART, CLAIM), outdated),
    ],
    ids=[
        "park and signal",
        "record and reap",
        "correlation",
        "child, park and cancel",
        "one order of ids",
        "restart and claim",
    ],
)
def test_statements_that_lock_and_then_look_hold(programs: tuple[str, ...], wrong: Callable[[Facts], bool]) -> None:
    found = explore(programs, wrong)

    assert (found.deadlocks, found.wrong) == (0, 0)
    assert found.states > 5


@pytest.mark.parametrize(
    ("programs", "wrong"),
    [
        ((SIGNAL, PARK.replace("lock task; snap", "lock task")), lost),
        ((SIGNAL.replace("lock task; snap", "lock task"), PARK), lost),
        (("snap; see reaped; unless reaped record; late reaped bad; commit", REAP), late),
        (("snap; put signal; see wait; locksaw wait task; if wait due; commit", PARK), lost),
        ((BY_KEY, PARK_BY_KEY.replace("lock key; lock task", "lock task; lock key")), lost),
        (
            (
                CHILD.replace("lock parent; lock kid", "lock kid; lock parent"),
                "lock parent; lock kid; put cancelled; commit",
            ),
            child_lost,
        ),
        (
            (
                "snap; see plive; locksaw plive parent; put ended; snap; see wait; if wait due; commit",
                "put plive; commit; " + PARK_FOR_CHILD,
            ),
            child_lost,
        ),
        (("lock A; lock B; put x; commit", "lock B; lock A; put y; commit"), never),
        ((RESTART.replace("put gone; ", ""), CLAIM), outdated),
    ],
    ids=[
        "M35 park locks and looks in one statement", "M36 signal locks and looks in one statement",
        "M37 record matches the lease without a lock", "M38 correlation with the task's lock only",
        "M39 park locks the task before the key", "M40 a child's end locks its own row first",
        "M41 a child's end locks the parent's live row", "M42 parents first, then selves",
        "M47 a restart changes the live row in place",
    ],
)  # fmt: skip
def test_each_order_of_statements_is_needed(programs: tuple[str, ...], wrong: Callable[[Facts], bool]) -> None:
    found = explore(programs, wrong)

    assert found.deadlocks + found.wrong > 0, "the checker found nothing wrong, so it proves nothing"


def correlated(rules: Protocol) -> Verdict:
    """Visit all that can happen to signals by correlation."""
    return explore_states(
        World(signals=("unsent",) * rules.signals, faults=rules.faults),
        lambda world: steps(world, rules),
        broken=broken,
        ended=lambda world: not set(world.signals) & {"unsent", "late"},
        cut=lambda _: False,
    )


@pytest.mark.parametrize("rules", [Protocol(), Protocol(signals=2, faults=3)], ids=["one signal", "two signals"])
def test_a_signal_by_correlation_is_taken_by_whoever_waits(rules: Protocol) -> None:
    verdict = correlated(rules)

    assert verdict.broken is None, " > ".join(verdict.story)
    assert verdict.states > 20


@pytest.mark.parametrize(
    "without",
    [Protocol(wakes="one"), Protocol(wakes="gives"), Protocol(locks=False, faults=0)],
    ids=["M43 one who waits is woken", "M44 given to one who waits", "M45 looked for without the key's lock"],
)
def test_each_protection_of_correlation_is_needed(without: Protocol) -> None:
    verdict = correlated(without)

    assert verdict.broken is not None, "the checker found nothing wrong, so it proves nothing"
    assert "lost" in verdict.broken, verdict


def far(rules: FarProtocol, tasks: int) -> Verdict:
    return explore_states(
        FarWorld(tasks=(FarTask(),) * tasks),
        lambda world: far_signals.steps(world, rules),
        broken=far_signals.broken,
        ended=far_signals.ended,
        cut=far_signals.cut,
    )


@pytest.mark.parametrize("tasks", [1, 2])
def test_a_signal_of_another_database_is_taken_once_or_kept(tasks: int) -> None:
    found = far(FarProtocol(), tasks)

    assert found.broken is None, found
    assert found.states > 1000


@pytest.mark.parametrize("protection", FarProtocol._fields)
def test_each_protection_of_signals_between_databases_is_needed(protection: str) -> None:
    rules = FarProtocol()._replace(**{protection: False})

    assert any(far(rules, tasks).broken for tasks in (1, 2)), protection
