"""Flow limits: what they are about, whose key a task has, and who is chosen."""

import pytest

from drumline.core.clock import Instant
from drumline.core.fair_shares import STEP, Share
from drumline.core.flow import (
    NOTHING_USED,
    Candidate,
    FlowLimit,
    LimitRequest,
    Slots,
    Use,
    accept_limit,
    choose,
    free_at,
    key_of,
    rival_of,
    room_in,
)
from drumline.core.ids import TaskId
from drumline.core.names import LONGEST_NAME
from drumline.core.task import DEFAULT_OPTIONS, Lane, TaskOptions

LANE = Lane("acme", "mail", "send", 0)


def limit(name: str = "few", **fields: object) -> FlowLimit:
    return FlowLimit(tenant="acme", name=name, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("about", "is_so"),
    [
        ({"queue": "mail"}, True),
        ({"task": "send"}, True),
        ({"queue": "mail", "task": "send"}, True),
        ({"queue": "mail", "task": "other"}, False),
        ({"queue": "other"}, False),
    ],
)
def test_a_limit_concerns_the_tasks_that_it_is_about(about: dict[str, str], is_so: bool) -> None:
    assert limit(**about).concerns(LANE) is is_so
    assert not FlowLimit(tenant="bolt", name="few", **about).concerns(LANE)  # type: ignore[arg-type]


def test_a_limit_may_concern_whoever_can_run_its_tasks() -> None:
    few = limit(queue="mail", task="send")

    assert few.may_concern((), ("send",), None)
    assert few.may_concern(("mail",), ("send", "other"), "acme")
    assert not few.may_concern(("other",), ("send",), None)
    assert not few.may_concern((), ("other",), None)
    assert not few.may_concern((), ("send",), "bolt")


@pytest.mark.parametrize(
    ("payload", "key"),
    [
        (b'{"customer": {"id": "acme"}}', "acme"),
        (b'{"customer": {"id": 7}}', "7"),
        (b'{"customer": {"id": true}}', "true"),
        (b'{"customer": {"id": null}}', ""),
        (b'{"customer": {"id": {"a": 1}}}', ""),
        (b'{"customer": 7}', ""),
        (b"{}", ""),
        (b"[1]", ""),
    ],
)
def test_a_key_is_found_in_the_payload(payload: bytes, key: str) -> None:
    assert key_of("payload.customer.id", payload, DEFAULT_OPTIONS) == key


def test_a_long_key_is_told_apart_by_its_digest() -> None:
    first, second = (key_of("payload.id", b'{"id": "%s%d"}' % (b"x" * 400, n), DEFAULT_OPTIONS) for n in (1, 2))

    assert first != second
    assert len(first) <= LONGEST_NAME


def test_a_tasks_own_key_comes_first() -> None:
    assert key_of("payload.id", b'{"id": 7}', TaskOptions(limit_key="own")) == "own"
    assert key_of("limit_key", b'{"id": 7}', TaskOptions(limit_key="own")) == "own"
    assert key_of("limit_key", b'{"id": 7}', DEFAULT_OPTIONS) == ""


def test_there_is_room_for_what_both_bounds_allow() -> None:
    both = limit(max_concurrent=3, rate=10, period_ms=1000)

    assert room_in(both, NOTHING_USED) == 3
    assert room_in(both, Use(1, 9, Instant(5))) == 1
    assert room_in(both, Use(5, 9, Instant(5))) == 0


def test_a_rate_is_free_again_when_its_oldest_start_has_passed() -> None:
    rate = limit(rate=2, period_ms=1000)

    assert free_at(rate, Use(0, 2, Instant(5))) == 1005
    assert free_at(rate, Use(0, 1, Instant(5))) is None
    assert free_at(limit(max_concurrent=1), Use(1, 1, Instant(5))) is None


def test_limits_that_find_a_key_elsewhere_are_rivals_only_about_the_same_tasks() -> None:
    mine = limit(task="send", keyed_by="limit_key")
    other = limit("other", queue="mail", keyed_by="payload.id")

    assert rival_of(mine, [other]) is other
    assert rival_of(mine, [limit("other", task="else", keyed_by="payload.id")]) is None
    assert rival_of(mine, [limit("other", queue="mail"), limit("few", task="send", keyed_by="payload.id")]) is None
    assert rival_of(limit(task="send"), [other]) is None


def test_a_rate_is_told_as_it_is_written() -> None:
    assert accept_limit("few", LimitRequest(task="send", rate="100/10m"), tenant="acme").rate_text == "100/10m"
    assert limit(max_concurrent=1).rate_text is None


def candidate(number: int, *slots: Slots, due_at: int = 0, tenant: str = "acme") -> Candidate:
    return Candidate(TaskId(f"t{number}"), Lane(tenant, "mail", "send", 0), due_at, slots)


def test_whoever_has_no_room_is_passed_over() -> None:
    waiting = [candidate(1, (1, 0), (2, 7)), candidate(2, (1, 0), (2, 7)), candidate(3, (1, 0), (2, 8), due_at=9)]

    chosen = choose(waiting, {(1, 0): 5, (2, 7): 1, (2, 8): 1}, 9, ())

    assert [each.task for each in chosen] == ["t1", "t3"]


def test_no_more_are_chosen_than_are_wanted_and_by_shares() -> None:
    waiting = [candidate(n, (1, 0)) for n in range(5)] + [candidate(9, (1, 0), due_at=9, tenant="bolt")]

    chosen = choose(waiting, {(1, 0): 5}, 2, [Share("acme", 3 * STEP)])

    assert [each.task for each in chosen] == ["t9", "t0"]
