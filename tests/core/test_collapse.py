"""What may be said about collapsing, and what is refused."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from drumline.core.collapse import Collapse, CollapsedInto, CollapseRule, Create, Drop, KnownTask, Merge, decide
from drumline.core.errors import Invalid
from drumline.core.ids import TaskId
from drumline.core.task import accept, placing_key
from tests.factories import new_id, request

TIMES = "collapse: decides when the task is due, and cannot be given together with"
PERIODS = "must be from 0.001 s to 366 days"
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"collapse": Collapse()}, "collapse: must have exactly one of debounce, throttle, singleton and unique"),
    (
        {"collapse": Collapse(debounce=1, unique=1)},
        "collapse: must have exactly one of debounce, throttle, singleton and unique",
    ),
    ({"collapse": Collapse(debounce=0)}, f"collapse.debounce: {PERIODS}"),
    ({"collapse": Collapse(throttle="never")}, "collapse.throttle: "),
    ({"collapse": Collapse(unique="400d")}, f"collapse.unique: {PERIODS}"),
    ({"collapse": Collapse(unique=1, key="")}, "collapse.key: "),
    ({"collapse": Collapse(unique=1, key="a\nb")}, "collapse.key: "),
    ({"collapse": Collapse(unique=1, key="x" * 256)}, "collapse.key: "),
    ({"collapse": Collapse(unique=1, at_most=2)}, "collapse.at_most: goes with debounce only"),
    ({"collapse": Collapse(debounce=5, at_most=4)}, "collapse.at_most: must be at least as long as debounce"),
    ({"collapse": Collapse(debounce=5, at_most="367d")}, f"collapse.at_most: {PERIODS}"),
    ({"collapse": Collapse(debounce=5, at_most="never")}, "collapse.at_most: "),
    (
        {"collapse": Collapse(singleton="queued", keep="first")},
        "collapse.keep: goes with debounce and throttle only",
    ),
    (
        {"collapse": Collapse(unique=1), "idempotency_key": "k"},
        "collapse: cannot be given together with idempotency_key",
    ),
    ({"collapse": Collapse(debounce=1), "delay": 5}, f"{TIMES} delay"),
    ({"collapse": Collapse(throttle=1), "run_at": datetime(2030, 1, 1, tzinfo=UTC)}, f"{TIMES} run_at"),
    ({"collapse": Collapse(debounce=1), "expires": 5}, f"{TIMES} expires"),
]


@pytest.mark.parametrize(("said", "told"), WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_what_makes_no_sense_is_refused_with_its_field(said: dict[str, Any], told: str) -> None:
    with pytest.raises(Invalid) as caught:
        accept(request(**said), id=new_id())

    assert str(caught.value).startswith(told)


def rule_of(**said: Any) -> CollapseRule | None:
    return accept(request(collapse=Collapse(key="k", **said)), id=new_id()).collapse


def test_a_rule_is_kept_as_it_was_asked_for() -> None:
    debounce = CollapseRule("debounce", "work\ndebounce\nk", 5_000)

    assert rule_of(debounce=5) == debounce
    assert rule_of(debounce=5, at_most=5, keep="latest") == replace(debounce, at_most_ms=5_000)
    assert rule_of(debounce="5s", at_most="1m", keep="first") == replace(
        debounce, at_most_ms=60_000, keeps_latest=False
    )
    assert rule_of(throttle=0.001) == CollapseRule("throttle", "work\nthrottle\nk", 1)
    assert rule_of(unique="366d") == CollapseRule("unique", "work\nunique\nk", 366 * 86_400_000)
    assert rule_of(singleton="queued") == CollapseRule("singleton", "work\nsingleton\nk")
    assert rule_of(singleton="running") == CollapseRule("singleton", "work\nsingleton\nk", counts_running=True)


def test_without_a_key_those_of_one_name_and_payload_collapse() -> None:
    def key(name: str, **payload: int) -> str | None:
        return placing_key(request(name, payload=payload, collapse=Collapse(unique=1)))

    # Stored: it has to stay as it is.
    assert key("work", n=1) == "work\nunique\npayload 2bfd14f43d17fc7cea24e0917a8879b4b2f880b8"
    assert key("work", n=1) == key("work", n=1)
    assert len({key("work", n=1), key("work", n=2), key("other", n=1)}) == 3


def test_a_task_that_may_wait_has_a_delay_of_its_own() -> None:
    task = accept(request(collapse=Collapse(singleton="queued"), delay=5, expires=9), id=new_id())

    assert (task.delay_ms, task.collapse is not None) == (5_000, True)


def test_a_key_has_one_slot_for_all_who_submit_it() -> None:
    one, other = (request(payload={"n": n}, collapse=Collapse(unique=1, key="k")) for n in (1, 2))
    alone = request(payload={"n": 1}, collapse=Collapse(unique=1))

    assert placing_key(one) == placing_key(other) == "work\nunique\nk"
    assert placing_key(alone) not in {None, placing_key(one)}
    assert placing_key(request()) is None


def test_a_debounced_task_whose_time_has_come_is_not_put_off_again() -> None:
    rule = accept(request(collapse=Collapse(debounce=5, at_most=10)), id=new_id()).collapse
    assert rule is not None
    known = KnownTask(TaskId("x"), first_at=0, until=10_000, due_at=10_000, is_fresh=True, is_queued=True)

    answers = [decide(rule, known, now) for now in (4_000, 8_000, 30_000)]

    assert [answer.due_at for answer in answers if isinstance(answer, Merge)] == [9_000, 10_000, 10_000]


WAITS = KnownTask(TaskId("x"), first_at=1_000, until=6_000, due_at=6_000, is_fresh=True, is_queued=True)
RUNS = replace(WAITS, is_fresh=False, is_queued=False, is_running=True)
ENDED = replace(RUNS, is_running=False)


@pytest.mark.parametrize(
    ("known", "becomes"),
    [
        (None, Create(3_000, 8_000, 8_000)),
        (WAITS, Merge(8_000, CollapsedInto.REPLACED)),
        (RUNS, Create(3_000, 8_000, 8_000)),
        (ENDED, Create(3_000, 8_000, 8_000)),
    ],
)
def test_a_debounced_submission_puts_off_the_task_that_waits(known: KnownTask | None, becomes: object) -> None:
    assert decide(CollapseRule("debounce", "k", 5_000), known, 3_000) == becomes


def test_a_debounced_task_keeps_the_payload_of_the_first_if_it_is_to() -> None:
    rule = CollapseRule("debounce", "k", 5_000, keeps_latest=False)

    assert decide(rule, WAITS, 3_000) == Merge(8_000, CollapsedInto.POSTPONED)


@pytest.mark.parametrize(
    ("known", "now", "becomes"),
    [
        (None, 3_000, Create(3_000, 8_000)),
        (WAITS, 3_000, Merge(6_000, CollapsedInto.REPLACED)),
        (RUNS, 3_000, Create(6_000, 11_000, 6_000)),
        (ENDED, 5_999, Create(6_000, 11_000, 6_000)),
        (ENDED, 6_000, Create(6_000, 11_000)),
        (ENDED, 9_000, Create(9_000, 14_000)),
    ],
)
def test_a_throttled_task_runs_at_once_and_then_at_the_end_of_the_time(
    known: KnownTask | None, now: int, becomes: object
) -> None:
    assert decide(CollapseRule("throttle", "k", 5_000), known, now) == becomes


def test_a_throttled_task_that_keeps_the_first_payload_drops_the_later_ones() -> None:
    assert decide(CollapseRule("throttle", "k", 5_000, keeps_latest=False), WAITS, 3_000) == Drop()


@pytest.mark.parametrize(
    ("known", "queued", "running"),
    [(None, True, True), (WAITS, False, False), (RUNS, True, False), (ENDED, True, True)],
)
def test_a_singleton_is_made_while_none_is_queued_or_running(
    known: KnownTask | None, queued: bool, running: bool
) -> None:
    made = {True: Create(3_000, 3_000), False: Drop()}

    assert decide(CollapseRule("singleton", "k"), known, 3_000) == made[queued]
    assert decide(CollapseRule("singleton", "k", counts_running=True), known, 3_000) == made[running]


@pytest.mark.parametrize(
    ("known", "now", "becomes"),
    [
        (None, 3_000, Create(3_000, 8_000)),
        (WAITS, 5_999, Drop()),
        (ENDED, 5_999, Drop()),
        (WAITS, 6_000, Create(6_000, 11_000)),
    ],
)
def test_a_unique_task_is_made_once_within_the_time(known: KnownTask | None, now: int, becomes: object) -> None:
    assert decide(CollapseRule("unique", "k", 5_000), known, now) == becomes
