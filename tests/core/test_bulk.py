"""A request for an act on many tasks means what it says, and never everything by a slip."""

from datetime import UTC, datetime
from math import inf
from typing import Any

import msgspec
import pytest

from drumline.core.bulk import (
    BulkAct,
    BulkFilter,
    BulkId,
    BulkPlan,
    BulkRequest,
    BulkState,
    BulkView,
    NewBulk,
    allowance,
    check_bulk,
    chooses_letters,
    ids_of,
)
from drumline.core.clock import Instant
from drumline.core.errors import Invalid
from drumline.core.state import Status
from tests.factories import new_id

SOME = BulkFilter(name="mail")


def checked(act: BulkAct = BulkAct.RETRY, **request: Any) -> NewBulk:
    return check_bulk(BulkRequest(act=act, **request), id=BulkId("b"), tenant="acme")


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({}, "filter: must have exactly one of ids, filter and all"),
        ({"filter": SOME, "all": True}, "filter: must have exactly one of ids, filter and all"),
        ({"filter": SOME, "ids": ("x",)}, "filter: must have exactly one of ids, filter and all"),
        ({"filter": BulkFilter()}, "filter: must name something; to mean everything, give all instead"),
        ({"all": True, "rate": 0.0009}, "rate: must be from 0.001 to 10,000 tasks per second"),
        ({"all": True, "rate": 10_000.1}, "rate: must be from 0.001 to 10,000 tasks per second"),
        ({"all": True, "rate": float("nan")}, "rate: must be from 0.001 to 10,000 tasks per second"),
        ({"all": True, "force": True}, "force: is for cancel only"),
        ({"all": True, "reason": ""}, "reason: must not be blank"),
        ({"all": True, "reason": "x" * 501}, "reason: must be at most 500 characters"),
        ({"all": True, "priority": 1}, "priority: is for reschedule only"),
        ({"all": True, "delay": 0}, "delay: is for reschedule only"),
        ({"all": True, "run_at": datetime(2030, 1, 1, tzinfo=UTC)}, "run_at: is for reschedule only"),
        (
            {"filter": BulkFilter(worker="w")},
            "filter.worker: does not narrow dead letters, which retry is about here",
        ),
        (
            {"filter": BulkFilter(kind="E", status=(Status.FAILED,))},
            "filter.kind: does not narrow tasks by their status, which retry is about here",
        ),
    ],
)
def test_a_request_that_cannot_be_is_refused_by_its_field(request_: dict[str, Any], told: str) -> None:
    with pytest.raises(Invalid) as caught:
        checked(**request_)

    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({}, "body: must have run_at, delay or priority"),
        ({"delay": 1, "run_at": datetime(2030, 1, 1, tzinfo=UTC)}, "delay: cannot be given together with run_at"),
        ({"delay": "x"}, "delay: "),
        ({"priority": 101}, "priority: "),
        ({"run_at": datetime(2030, 1, 1)}, "run_at: "),  # noqa: DTZ001 - that is what is wrong with it
    ],
)
def test_a_time_that_cannot_be_is_refused_by_its_field(request_: dict[str, Any], told: str) -> None:
    with pytest.raises(Invalid) as caught:
        checked(BulkAct.RESCHEDULE, all=True, **request_)

    assert str(caught.value).startswith(told)


@pytest.mark.parametrize("field", ["fingerprint", "kind", "reason", "since", "until"])
@pytest.mark.parametrize("act", [BulkAct.CANCEL, BulkAct.RESCHEDULE])
def test_what_is_said_of_failures_does_not_narrow_tasks_that_wait(act: BulkAct, field: str) -> None:
    delay = 1 if act is BulkAct.RESCHEDULE else None

    with pytest.raises(Invalid) as caught:
        checked(act, filter=msgspec.structs.replace(BulkFilter(), **{field: "x"}), delay=delay)

    assert str(caught.value) == f"filter.{field}: does not narrow tasks by their status, which {act} is about here"


@pytest.mark.parametrize("rate", [0.001, 10_000.0])
def test_an_operation_is_kept_as_it_was_asked_for(rate: float) -> None:
    assert checked(BulkAct.CANCEL, filter=SOME, rate=rate, force=True, reason="r" * 500) == NewBulk(
        id=BulkId("b"),
        tenant="acme",
        act=BulkAct.CANCEL,
        rate=rate,
        plan=BulkPlan(filter=SOME, force=True, reason="r" * 500),
    )


def test_everything_is_an_empty_filter_and_tasks_by_name_have_none() -> None:
    assert checked(all=True).plan == BulkPlan(filter=BulkFilter())
    assert checked(ids=("x",)).plan == BulkPlan(filter=None)


def test_a_reschedule_is_kept_in_milliseconds() -> None:
    at = datetime(2030, 1, 1, tzinfo=UTC)

    assert checked(BulkAct.RESCHEDULE, all=True, delay="1m30s").plan.delay_ms == 90_000
    assert checked(BulkAct.RESCHEDULE, all=True, delay=0).plan.delay_ms == 0
    assert checked(BulkAct.RESCHEDULE, all=True, run_at=at).plan.run_at == at.timestamp() * 1000
    assert checked(BulkAct.RESCHEDULE, all=True, priority="high", run_at=at).plan.priority == 50


@pytest.mark.parametrize(
    ("act", "filter_", "are_letters"),
    [
        (BulkAct.DISCARD, None, True),
        (BulkAct.DISCARD, BulkFilter(status=(Status.FAILED,)), True),
        (BulkAct.RETRY, None, True),
        (BulkAct.RETRY, SOME, True),
        (BulkAct.RETRY, BulkFilter(status=(Status.FAILED,)), False),
        (BulkAct.CANCEL, None, False),
        (BulkAct.RESCHEDULE, SOME, False),
    ],
)
def test_retry_and_discard_are_about_dead_letters(act: BulkAct, filter_: BulkFilter | None, are_letters: bool) -> None:
    assert chooses_letters(BulkRequest(act=act, filter=filter_)) is are_letters


def test_tasks_are_named_each_once_in_their_order() -> None:
    one, two = new_id(), new_id()

    assert ids_of(BulkRequest(act=BulkAct.RETRY, ids=(two, one, two))) == [two, one]
    with pytest.raises(Invalid) as caught:
        ids_of(BulkRequest(act=BulkAct.RETRY, ids=(one, "x")))
    assert caught.value.field == "ids[1]"


@pytest.mark.parametrize(
    ("rate", "tokens", "elapsed", "given"),
    [
        (None, 3.5, 100, (inf, 3.5)),
        (10.0, 0.0, 250, (2.0, 2.5)),
        (10.0, 1.5, 250, (4.0, 4.0)),
        (10.0, 9.0, 60_000, (10.0, 10.0)),
        (10.0, 2.5, -60_000, (2.0, 2.5)),
        (0.5, 0.0, 1000, (0.0, 0.5)),
        (0.5, 0.9, 60_000, (1.0, 1.0)),
    ],
)
def test_a_rate_allows_what_has_come_together_and_at_most_a_seconds_worth(
    rate: float | None, tokens: float, elapsed: int, given: tuple[float, float]
) -> None:
    assert allowance(rate, tokens, elapsed) == given


def test_what_is_left_is_what_was_not_dealt_with() -> None:
    view = BulkView(
        id=BulkId("b"),
        tenant=None,
        act=BulkAct.RETRY,
        state=BulkState.RUNNING,
        rate=None,
        plan=BulkPlan(),
        total=100,
        done=50,
        skipped=20,
        failed=3,
        created_at=Instant(0),
    )

    assert view.left == 27
