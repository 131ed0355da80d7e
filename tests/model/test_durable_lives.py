"""Whole lives of durable tasks: each promise holds in every interleaving, and each protection is needed."""

import os
from collections.abc import Iterator

import pytest

from tests.model.durable_others import RETRIED, steps
from tests.model.durable_world import Protocol, World, broken, has_ended
from tests.model.explore import Goal, Step, Verdict, explore

FAULTS = int(os.environ.get("DRUMLINE_MODEL_FAULTS", "4"))
"""Faults in one life, one fewer or two more in some. A larger number visits more lives, and takes longer."""


def lives(rules: Protocol) -> Verdict:
    """Visit all that can happen to a durable task."""
    retried: set[World] = set()

    def noted(world: World) -> Iterator[Step[World]]:
        for step in steps(world, rules):
            if step.name == RETRIED:
                retried.add(step.after)
            yield step

    completed = Goal[World](
        "retried by an operator, it can only fail again", lambda world: world.state == "completed", retried.__contains__
    )
    return explore(
        World(signals=("",) * rules.signals, senders=("",) * rules.signals),
        noted,
        broken=broken,
        ended=has_ended,
        cut=lambda _: False,
        goals=(completed,),
    )


WHOLE = {
    "steps, zombies and poison": Protocol(program="steps", poison_after=3, faults=FAULTS + 2),
    "two waits with timeouts": Protocol(
        program="signals", signals=2, timeouts=("w1", "w2"), reschedules=True, faults=FAULTS - 1
    ),
    "two waits without": Protocol(program="signals", signals=2, reschedules=True, operator_retries=True, faults=FAULTS),
    "two waits at once": Protocol(
        program="pair", signals=2, timeouts=("w1", "w2"), reschedules=True, operator_retries=True, faults=FAULTS - 1
    ),
    "a call under a limit, pruned": Protocol(
        program="child", operator_retries=True, has_limit=True, prunes=True, faults=FAULTS
    ),
    "a call": Protocol(program="child", operator_retries=True, faults=FAULTS),
    "a call of a child that restarts": Protocol(program="child", child_restarts=True, faults=FAULTS),
    "a child and a signal": Protocol(
        program="both", signals=1, operator_retries=True, reschedules=True, faults=FAULTS - 1
    ),
    "a child and a signal under a limit": Protocol(
        program="both", signals=1, timeouts=("w1",), has_limit=True, operator_retries=True, faults=FAULTS - 1
    ),
    "a restart between two waits": Protocol(
        program="restart", signals=2, timeouts=("w1", "w2"), operator_retries=True, faults=FAULTS - 1
    ),
    "a restart while a child runs": Protocol(program="leave", operator_retries=True, faults=FAULTS - 1),
}

STEPS = Protocol(program="steps")
SIGNALS = Protocol(program="signals", signals=2)
CHILD = Protocol(program="child")
ANEW = Protocol(program="restart", signals=2, timeouts=("w1", "w2"))
LEAVE = Protocol(program="leave")

MUTANTS: dict[str, tuple[Protocol, str]] = {
    "M1 a record without a fence": (STEPS._replace(record_fence="none"), "R2"),
    "M2 a record fenced by state only": (STEPS._replace(record_fence="state"), "R2"),
    "M3 a record matches the lease without a lock": (STEPS._replace(record_locks=False), "R2"),
    "M4 a repeated record replaces the first": (STEPS._replace(first_stays=False), "R1"),
    "M5 crashes counted over the whole life": (
        STEPS._replace(poison_after=2, faults=4, progress_counts=False), "A3",
    ),
    "M6 a park looks before it locks": (SIGNALS._replace(park_locks=False), "W2"),
    "M7 a signal looks before it locks": (SIGNALS._replace(signal_locks=False), "W2"),
    "M8 a taken signal is deleted": (SIGNALS._replace(keeps_taken=False), "W1"),
    "M9 a signal given to a wait on arrival": (
        SIGNALS._replace(timeouts=("w1",), gives_on_arrival=True), "W1",
    ),
    "M10 a deadline computed anew at each park": (SIGNALS._replace(timeouts=("w1",), keeps_deadlines=False), "W3"),
    "M11 a wake-up matches the epoch of the park": (
        SIGNALS._replace(reschedules=True, wakes_by_epoch=True), "W2",
    ),
    "M12 a park counts as an attempt": (SIGNALS._replace(parks_uncounted=False), "A2"),
    "M13 a park ignores an asked cancel": (SIGNALS._replace(park_sees_cancel=False), "A1"),
    "M14 answer and park fenced by state only": (SIGNALS._replace(wait_fence="state"), "R2"),
    "M15 due at another than the earliest deadline": (
        Protocol(program="both", signals=1, timeouts=("w1",), due_at_earliest=False), "W2",
    ),
    "M16 a child's end looks before it locks the parent": (CHILD._replace(child_locks=False), "W2"),
    "M17 the count of an earlier park is kept": (CHILD._replace(operator_retries=True, recounts=False), "W2"),
    "M18 a child submitted, then linked, with an id by chance": (
        CHILD._replace(call_at_once=False, derives_id=False, cancels=False, fails=False), "C1",
    ),
    "M19 a child submitted, then linked, with a derived id": (CHILD._replace(call_at_once=False), "C2"),
    "M20 a call matches the lease without a lock": (CHILD._replace(call_locks=False), "C2"),
    "M21 a call fenced by state only": (CHILD._replace(call_fence="state"), "C2"),
    "M22 children told after the commit": (CHILD._replace(note_in_transaction=False), "C2"),
    "M23 children told of cancels only": (CHILD._replace(notes_every_end=False), "C2"),
    "M24 an old note is not checked": (CHILD._replace(operator_retries=True, note_is_checked=False), "C2"),
    "M25 a child pruned by its own age": (CHILD._replace(prunes=True, child_stays=False), "C3"),
    "M26 a retry keeps the bad outcome of a child": (
        CHILD._replace(operator_retries=True, retry_forgets=False), "retried by an operator",
    ),
    "M27 what waits keeps its slot": (CHILD._replace(has_limit=True, frees_slot=False), "stuck"),
    "M28 the restart of a child answers its parent": (
        CHILD._replace(child_restarts=True, restart_is_no_end=False), "C3",
    ),
    "M29 a restart ignores an asked cancel": (ANEW._replace(restart_sees_cancel=False), "A1"),
    "M30 a restart drops signals": (ANEW._replace(restart_keeps_signals=False), "W1"),
    "M31 a restart keeps the records": (ANEW._replace(restart_drops_records=False), "R3"),
    "M32 a restart keeps the waits": (ANEW._replace(restart_drops_waits=False), "R3"),
    "M33 a restart leaves the children alone": (LEAVE._replace(restart_notes_children=False), "C2"),
    "M34 a park leaves the lease current": (SIGNALS._replace(park_ends_lease=False), "A4"),
    "M46 a restart keeps the links to children": (LEAVE._replace(restart_drops_links=False), "R3"),
}  # fmt: skip


@pytest.mark.parametrize("rules", WHOLE.values(), ids=WHOLE)
def test_every_promise_holds_in_every_life(rules: Protocol) -> None:
    verdict = lives(rules)

    assert verdict.broken is None, " > ".join(verdict.story)
    assert verdict.states > 5000


@pytest.mark.parametrize(("without", "promise"), MUTANTS.values(), ids=MUTANTS)
def test_each_protection_of_a_life_is_needed(without: Protocol, promise: str) -> None:
    verdict = lives(without)

    assert verdict.broken is not None, "the checker found nothing wrong, so it proves nothing"
    assert verdict.broken.startswith(promise), (verdict.broken, verdict.story)
