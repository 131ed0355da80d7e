from random import Random

import pytest

from drumline.core.clock import SystemClock
from drumline.core.ids import IdSource
from drumline.core.task import TaskRequest, accept, decode_options
from drumline.core.trace import CARRIED_TRACE, ids_of, read_traceparent

GOOD = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_traceparent_is_read() -> None:
    assert read_traceparent(GOOD) == GOOD
    assert ids_of(GOOD) == ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "nonsense",
        GOOD.upper(),
        GOOD.replace("00-", "ff-", 1),
        f"00-{'0' * 32}-b7ad6b7169203331-01",
        f"00-0af7651916cd43dd8448eb211c80319c-{'0' * 16}-01",
        GOOD + "-" + "x" * 200,
        GOOD + "\n",
    ],
)
def test_what_is_none_is_passed_over(text: str | None) -> None:
    assert read_traceparent(text) is None


def test_a_task_carries_the_trace_that_it_was_submitted_in() -> None:
    new_id = IdSource(SystemClock().now, Random(1)).next
    token = CARRIED_TRACE.set(GOOD)
    try:
        traced = accept(TaskRequest(name="work"), id=new_id())
    finally:
        CARRIED_TRACE.reset(token)

    plain = accept(TaskRequest(name="work"), id=new_id())

    assert decode_options(traced.options).trace == GOOD
    assert plain.options is None


def test_a_trace_does_not_make_another_request_of_the_same_key() -> None:
    new_id = IdSource(SystemClock().now, Random(1)).next
    request = TaskRequest(name="work", idempotency_key="once")
    token = CARRIED_TRACE.set(GOOD)
    try:
        traced = accept(request, id=new_id())
    finally:
        CARRIED_TRACE.reset(token)

    assert traced.fingerprint == accept(request, id=new_id()).fingerprint
