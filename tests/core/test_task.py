from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from msgspec import Raw

from drumline.core.clock import to_instant
from drumline.core.errors import Invalid
from drumline.core.limits import Limits
from drumline.core.task import DEFAULT_OPTIONS, NotifyTarget, TaskRequest, accept, decode_options, encode_options
from tests.factories import new_id, request


def refused(code: str | None = None, **fields: Any) -> str | None:
    with pytest.raises(Invalid) as caught:
        accept(TaskRequest(**{"name": "n", **fields}), id=new_id(), limits=Limits(payload=1000))
    if code:
        assert caught.value.code == code
    return caught.value.field


def test_default_options_cost_nothing() -> None:
    assert encode_options(DEFAULT_OPTIONS) is None
    assert decode_options(None) == DEFAULT_OPTIONS


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(Invalid, match="must have a time zone") as caught:
        to_instant(datetime(2030, 1, 2, 3, 4, 5), field="x")  # noqa: DTZ001 - that is the point

    assert caught.value.field == "x"


def test_a_time_with_an_offset_is_the_same_instant() -> None:
    berlin = datetime(2030, 1, 2, 4, tzinfo=timezone(timedelta(hours=1)))

    assert to_instant(berlin, field="x") == to_instant(datetime(2030, 1, 2, 3, tzinfo=UTC), field="x")


def test_each_bad_field_is_named() -> None:
    assert refused(name=" ") == "name"
    assert refused(name="x" * 256) == "name"
    assert refused(name="a\nb") == "name"
    assert refused(queue="no spaces") == "queue"
    assert refused(queue="") == "queue"
    assert refused(priority=101) == "priority"
    assert refused(delay=-1) == "delay"
    assert refused(delay=1, run_at=datetime(2030, 1, 1, tzinfo=UTC)) == "delay"
    assert refused(run_at=datetime(1969, 1, 1, tzinfo=UTC)) == "run_at"
    assert refused(retries=-1) == "retries"
    assert refused(timeout=0) == "timeout"
    assert refused(backoff=-2.0) == "backoff.base"
    assert refused(idempotency_key="") == "idempotency_key"
    assert refused(tags=("a", " ")) == "tags[1]"
    assert refused(tags=tuple(map(str, range(21)))) == "tags"
    assert refused(notify=(NotifyTarget(),)) == "notify[0]"


def test_a_payload_must_be_json_of_a_bounded_size_and_depth() -> None:
    assert refused(payload=Raw(b'"' + b"x" * 2000 + b'"'), code="too_large") == "payload"
    assert refused(payload=Raw(b"[" * 101 + b"]" * 101), code="too_deep") == "payload"
    assert refused(payload=Raw(b"NaN")) == "payload"
    assert refused(payload=Raw(b'"\xff"')) == "payload"
    assert refused(payload=Raw(b"1e999")) == "payload"


def test_brackets_inside_strings_are_not_depth() -> None:
    accept(request(payload={"text": "[{" * 200}), id=new_id())


def test_a_name_may_have_spaces_and_any_letters() -> None:
    assert accept(request("send the ödd mail 🥁"), id=new_id()).lane.name == "send the ödd mail 🥁"


def test_a_fingerprint_ignores_key_order_but_not_values() -> None:
    def fingerprint(payload: bytes, **fields: Any) -> bytes | None:
        spec = TaskRequest(name="n", payload=Raw(payload), idempotency_key="k", **fields)
        return accept(spec, id=new_id()).fingerprint

    assert fingerprint(b'{"a":1,"b":2}') == fingerprint(b'{ "b": 2, "a": 1 }')
    assert fingerprint(b'{"a":1}') != fingerprint(b'{"a":2}')
    assert fingerprint(b"{}", priority="high") == fingerprint(b"{}", priority=50)
    assert fingerprint(b"{}", delay=1) != fingerprint(b"{}", delay=2)


def test_big_integers_with_the_same_float_are_different_bodies() -> None:
    def fingerprint(payload: bytes) -> bytes | None:
        return accept(TaskRequest(name="n", payload=Raw(payload), idempotency_key="k"), id=new_id()).fingerprint

    assert fingerprint(b"123456789012345678901234567890") != fingerprint(b"123456789012345678901234567891")


@pytest.mark.parametrize(
    ("target", "field"),
    [
        (NotifyTarget(webhook="ftp://example.org/"), "notify[1].webhook"),
        (NotifyTarget(webhook="https://ada@example.org/"), "notify[1].webhook"),
        (NotifyTarget(webhook="https://0x7f.1/"), "notify[1].webhook"),
        (NotifyTarget(webhook="https://example.org/\u00fc"), "notify[1].webhook"),
        (NotifyTarget(email="ada"), "notify[1].email"),
        (NotifyTarget(email="Ada <ada@example.org>"), "notify[1].email"),
        (NotifyTarget(email="ada@example.org\nBcc: eve@example.org"), "notify[1].email"),
        (NotifyTarget(email="ada@example.org,eve@example.org"), "notify[1].email"),
        (NotifyTarget(email="a@b.c", webhook="https://example.org"), "notify[1]"),
        (NotifyTarget(email="a@b.c", on=()), "notify[1].on"),
    ],
)
def test_a_target_that_cannot_be_reached_is_named(target: NotifyTarget, field: str) -> None:
    assert refused(notify=(NotifyTarget(email="ada@example.org"), target)) == field


def test_not_the_whole_world_is_told() -> None:
    assert refused(notify=(NotifyTarget(email="ada@example.org"),) * 21) == "notify"
