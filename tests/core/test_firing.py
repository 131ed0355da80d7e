"""Decisions about schedules that are due: what is missed by policy, what overlaps by policy, what comes next."""

from typing import Any

import pytest

from drumline.core.clock import Instant
from drumline.core.firing import Absence, DueSchedule, FiringDecision, fire
from drumline.core.firing_policy import FiringPolicy, Misfire, Overlap
from drumline.core.ids import ScheduleId
from drumline.core.limits import Limits
from drumline.core.timetable import Rule

ID = ScheduleId("01890a5d-ac96-774b-bcce-b302099a8057")
MINUTELY = Rule(interval_ms=60_000)


def minute(number: float) -> Instant:
    return Instant(round(number * 60_000))


def decide(
    *, now: float, absent: tuple[float, float] | None = None, limits: Limits | None = None, **fields: Any
) -> FiringDecision:
    policy = FiringPolicy(**{field: fields.pop(field) for field in FiringPolicy.__struct_fields__ if field in fields})
    known: dict[str, Any] = {"rule": MINUTELY, "fire_at": minute(1), **fields}
    absence = None if absent is None else Absence(minute(absent[0]), minute(absent[1]))
    due = DueSchedule(id=ID, policy=policy, **known)
    return fire(due, now=minute(now), absence=absence, limits=limits or Limits())


def told(firing: FiringDecision) -> str:
    """Return runs as text: minute, kind and state by their first letters; then what is missed, and the next minute."""
    runs = [f"{run.fire_time // 60_000}{run.kind.value[0]}{run.state.value[:2]}" for run in firing.runs]
    following = "-" if firing.turn is None else str(firing.turn.fire_at // 60_000)
    return f"{' '.join(runs)} | {firing.missed} | {following}"


@pytest.mark.parametrize(
    ("now", "absent", "misfire", "expected"),
    [
        # Somebody was there all the time: late or not, all of it fires.
        (1.1, None, Misfire.SKIP, "1sst | 0 | 2"),
        (4.1, None, Misfire.SKIP, "1sst 2sst 3sst 4sst | 0 | 5"),
        # Nobody was there from 1.5 to 5.9: what was due at 1 was left by somebody, what is due at 6 is on time.
        (6.1, (1.5, 5.9), Misfire.SKIP, "1sst 6sst | 4 | 7"),
        (6.1, (1.5, 5.9), Misfire.ONCE, "1sst 5mst 6sst | 3 | 7"),
        (6.1, (1.5, 5.9), Misfire.ALL, "1sst 2mst 3mst 4mst 5mst 6sst | 0 | 7"),
        # Nobody was there at all.
        (3.5, (0, 3.4), Misfire.SKIP, " | 3 | 4"),
        (3.5, (0, 3.4), Misfire.ONCE, "3mst | 2 | 4"),
    ],
)
def test_what_was_missed(now: float, absent: tuple[float, float] | None, misfire: Misfire, expected: str) -> None:
    assert told(decide(now=now, absent=absent, misfire=misfire)) == expected


@pytest.mark.parametrize(
    ("overlap", "is_busy", "waiting", "expected"),
    [
        (Overlap.ALLOW, True, 0, "1sst 2sst 3sst"),
        (Overlap.SKIP, False, 0, "1sst 2ssk 3ssk"),
        (Overlap.SKIP, True, 0, "1ssk 2ssk 3ssk"),
        (Overlap.QUEUE, False, 0, "1sst 2swa 3swa"),
        (Overlap.QUEUE, True, 0, "1swa 2swa 3swa"),
        (Overlap.QUEUE, False, 1, "1swa 2swa 3swa"),  # whoever waits is before them
        (Overlap.CANCEL_PREVIOUS, True, 0, "1ssk 2ssk 3sst"),
        (Overlap.CANCEL_PREVIOUS, False, 0, "1ssk 2ssk 3sst"),
    ],
)
def test_what_overlaps(overlap: Overlap, is_busy: bool, waiting: int, expected: str) -> None:
    firing = decide(now=3.5, overlap=overlap, is_busy=is_busy, waiting=waiting)

    assert told(firing) == f"{expected} | 0 | 4"


def test_a_full_queue_takes_no_more() -> None:
    firing = decide(now=4, overlap=Overlap.QUEUE, is_busy=True, waiting=1, limits=Limits(waiting_runs=3))

    assert told(firing) == "1swa 2swa 3ssk 4ssk | 0 | 5"


def test_the_last_runs_are_counted_and_skipped_ones_are_not() -> None:
    assert told(decide(now=5, max_runs=3, runs=1)) == "1sst 2sst | 0 | -"
    assert told(decide(now=5, max_runs=3, runs=2, overlap=Overlap.SKIP, is_busy=True)) == (
        "1ssk 2ssk 3ssk 4ssk 5ssk | 0 | 6"
    )


def test_a_schedule_that_has_had_more_runs_than_it_may_have_fires_no_more() -> None:
    assert told(decide(now=1, max_runs=3, runs=3)) == " | 0 | -"
    assert told(decide(now=1, max_runs=3, runs=5)) == " | 0 | -"


def test_a_rule_that_ends_leaves_nothing_to_come() -> None:
    rule = Rule(interval_ms=60_000, end=minute(2))

    assert told(decide(now=9, rule=rule)) == "1sst 2sst | 0 | -"
    assert told(decide(now=1, rule=Rule(run_at=minute(1)))) == "1sst | 0 | -"


def test_only_the_newest_of_very_many_fire_and_the_rest_is_counted() -> None:
    firing = decide(now=10_000, limits=Limits(missed_runs=3))

    assert told(firing) == "9998sst 9999sst 10000sst | 9997 | 10001"


def test_those_whose_jitter_is_not_over_have_their_turn_later() -> None:
    firing = decide(now=3, jitter_ms=100_000)

    assert firing.turn is not None
    assert [run.fire_time for run in firing.runs] == [minute(n) for n in range(1, len(firing.runs) + 1)]
    assert firing.turn.fire_at == minute(len(firing.runs) + 1)
    assert firing.turn.due_at > minute(3)


def test_an_absence_has_neither_its_beginning_nor_its_end() -> None:
    absence = Absence(minute(1), minute(3))

    assert [absence.has(minute(number)) for number in (1, 2, 3)] == [False, True, False]
