"""Flow limits: what they are about, whose key a task has, and who is chosen."""

from hashlib import sha256

import pytest

from drumline.core.clock import Instant
from drumline.core.errors import Invalid
from drumline.core.fair_shares import STEP, Share
from drumline.core.flow import (
    NOTHING_USED,
    Candidate,
    FlowLimit,
    LimitRequest,
    LimitUse,
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

QUEUE_SYNTAX = "must be letters, digits and _ . : @ - only, and start with a letter or digit"
KEY_SYNTAX = 'must be "limit_key", or a path into the payload such as "payload.customer.id"'
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


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (LimitRequest(max_concurrent=1), "queue: must be given, or task, or both: a limit is about one of them"),
        (LimitRequest(queue="mail"), "max_concurrent: must be given, or rate, or both"),
        (LimitRequest(queue="mail", max_concurrent=0), "max_concurrent: must be from 1 to 10,000"),
        (LimitRequest(queue="mail", max_concurrent=10_001), "max_concurrent: must be from 1 to 10,000"),
        (LimitRequest(queue="a b", rate="1/s"), f"queue: {QUEUE_SYNTAX}"),
        (LimitRequest(task=" ", rate="1/s"), "task: must not be blank"),
        (
            LimitRequest(task="t", rate="unlimited"),
            'rate: must be a rate such as "50/s"; leave it out where there is none',
        ),
        (LimitRequest(task="t", rate="10001/d"), "rate: must be at most 10,000 starts; give a shorter period"),
        (LimitRequest(task="t", rate="1/s", key=""), "key: must not be blank"),
        (LimitRequest(task="t", rate="1/s", key="x" * 256), "key: must be at most 255 characters"),
        (LimitRequest(task="t", rate="1/s", key="id"), f"key: {KEY_SYNTAX}"),
        (LimitRequest(task="t", rate="1/s", key="payload."), f"key: {KEY_SYNTAX}"),
        (LimitRequest(task="t", rate="1/s", key="payload.a..b"), f"key: {KEY_SYNTAX}"),
        (LimitRequest(task="t", rate="1/s", key="other.id"), f"key: {KEY_SYNTAX}"),
    ],
)
def test_a_limit_that_is_refused_names_its_field_and_the_reason(request_: LimitRequest, error: str) -> None:
    with pytest.raises(Invalid) as refused:
        accept_limit("few", request_, tenant="acme")

    assert str(refused.value) == error


def test_the_name_of_a_limit_is_part_of_addresses() -> None:
    with pytest.raises(Invalid) as refused:
        accept_limit("a b", LimitRequest(queue="mail", rate="1/s"), tenant="acme")

    assert str(refused.value) == f"name: {QUEUE_SYNTAX}"


def test_a_limit_is_stored_as_it_was_asked_for() -> None:
    asked = LimitRequest(queue="mail", task="send", max_concurrent=10_000, rate="10000/2m", key="payload.customer.id")

    assert accept_limit("few", asked, tenant="acme") == limit(
        queue="mail",
        task="send",
        max_concurrent=10_000,
        rate=10_000,
        period_ms=120_000,
        keyed_by="payload.customer.id",
    )
    assert accept_limit("few", LimitRequest(queue="mail", max_concurrent=1), tenant="acme") == limit(
        queue="mail", max_concurrent=1
    )
    assert accept_limit("few", LimitRequest(task="send", rate="1/s", key="limit_key"), tenant="acme") == limit(
        task="send", rate=1, period_ms=1000, keyed_by="limit_key"
    )


def test_a_limit_about_any_task_or_queue_may_concern_every_worker_of_its_tenant() -> None:
    assert limit(queue="mail").may_concern(("mail",), ("anything",), None)
    assert limit(task="send").may_concern(("anything",), ("send",), "acme")
    assert limit(queue="mail").may_concern((), (), "acme")


def test_tasks_count_by_their_key_only_where_the_limit_has_one() -> None:
    assert limit(queue="mail", id=3, keyed_by="limit_key").slots(7) == (3, 7)
    assert limit(queue="mail", id=3).slots(7) == (3, 0)


def test_a_rate_is_told_only_where_it_is_whole() -> None:
    assert limit(rate=5, period_ms=1000).rate_text == "5/1s"
    assert limit(rate=5).rate_text is None
    assert limit(period_ms=1000).rate_text is None


def test_the_numbers_of_a_share_hold_where_there_is_one() -> None:
    whole, share = limit(max_concurrent=9), limit(max_concurrent=3)

    assert LimitUse(limit=whole, key=None, use=NOTHING_USED).here is whole
    assert LimitUse(limit=whole, key=None, use=NOTHING_USED, share=share).here is share


def test_a_limit_is_no_rival_of_one_of_another_tenant_or_with_the_same_key() -> None:
    mine = limit(task="send", keyed_by="limit_key")
    elsewhere = FlowLimit(tenant="bolt", name="other", task="send", keyed_by="payload.id")
    rival = limit("last", task="send", keyed_by="payload.id")

    assert rival_of(mine, [elsewhere]) is None
    assert rival_of(mine, [limit("other", task="send", keyed_by="limit_key")]) is None
    assert rival_of(mine, [elsewhere, limit("other", task="send"), rival]) is rival
    assert rival_of(limit(queue="mail", keyed_by="limit_key"), [limit("o", queue="web", keyed_by="payload.id")]) is None


def test_without_bounds_as_many_may_start_as_ever() -> None:
    assert room_in(limit(), Use(5, 5, Instant(1))) == 10_000
    assert room_in(limit(max_concurrent=3), Use(1, 99, Instant(1))) == 2
    assert room_in(limit(rate=3, period_ms=1), Use(99, 1, Instant(1))) == 2
    assert room_in(limit(rate=3, period_ms=1), Use(0, 7, Instant(1))) == 0


def test_a_rate_that_is_not_used_up_or_not_known_frees_nothing() -> None:
    assert free_at(limit(rate=2, period_ms=1000), Use(0, 2)) is None
    assert free_at(limit(rate=2), Use(0, 2, Instant(5))) is None
    assert free_at(limit(period_ms=1000), Use(0, 2, Instant(5))) is None
    assert free_at(limit(rate=2, period_ms=1000), Use(0, 3, Instant(5))) == 1005


def test_a_key_of_the_greatest_length_is_kept_and_a_longer_one_is_a_digest() -> None:
    kept, longer = "x" * LONGEST_NAME, "x" * (LONGEST_NAME + 1)

    assert key_of("payload.id", b'{"id": "%s"}' % kept.encode(), DEFAULT_OPTIONS) == kept
    assert (
        key_of("payload.id", b'{"id": "%s"}' % longer.encode(), DEFAULT_OPTIONS) == sha256(longer.encode()).hexdigest()
    )
    assert key_of("payload.id", b'{"id": "a\\u0000b"}', DEFAULT_OPTIONS) == "ab"
    assert key_of("payload.id", b'{"id": 1.5}', DEFAULT_OPTIONS) == "1.5"
    assert key_of("payload.id", b'{"id": [1]}', DEFAULT_OPTIONS) == ""


def test_the_best_score_comes_first_and_then_the_oldest_id() -> None:
    late, early = candidate(1, (1, 0), due_at=9), candidate(3, (1, 0), due_at=5)
    same = candidate(2, (1, 0), due_at=5)

    chosen = choose([late, early, same], {(1, 0): 9}, 9, ())

    assert [each.task for each in chosen] == ["t2", "t3", "t1"]


def test_what_is_chosen_takes_room_and_what_is_unknown_has_none() -> None:
    waiting = [candidate(1, (1, 0)), candidate(2, (1, 0)), candidate(3, (1, 0)), candidate(4, (9, 9)), candidate(5)]

    chosen = choose(waiting, {(1, 0): 2}, 9, ())

    assert [each.task for each in chosen] == ["t1", "t2", "t5"]
    assert choose(waiting, {(1, 0): 2}, 0, ()) == []
