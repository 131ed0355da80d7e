from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from drumline.core.clock import LATEST, Instant, to_instant
from drumline.core.collapse import Collapse
from drumline.core.errors import Invalid
from drumline.core.ids import TaskId, made_at
from drumline.core.limits import Limits
from drumline.core.payload_check import PayloadCheck
from drumline.core.retry import Backoff, RetryDefaults
from drumline.core.state import State, Status
from drumline.core.task import (
    DEFAULT_OPTIONS,
    Lane,
    NotifyTarget,
    TaskOptions,
    TaskRequest,
    TaskView,
    accept,
    decode_options,
    encode_options,
    placing_key,
    queue_of,
)
from drumline.core.task_type import UNKNOWN_TYPE, TypeDefaults, TypeRules
from drumline.core.trace import CARRIED_TRACE
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


def told(rules: TypeRules = UNKNOWN_TYPE, **fields: Any) -> str:
    with pytest.raises(Invalid) as caught:
        accept(TaskRequest(**{"name": "n", **fields}), id=new_id(), rules=rules)
    return str(caught.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"delay": 1, "run_at": datetime(2030, 1, 1, tzinfo=UTC)},
            "delay: cannot be given together with run_at",
        ),
        (
            {"idempotency_key": "k", "idempotency_key_alias": "k"},
            "idempotency_key: is given twice, as idempotency_key and idempotencyKey",
        ),
        ({"retries": 1001}, "retries: must be from 0 to 1000"),
        ({"timeout": 0}, "timeout: must be more than zero"),
        ({"timeout": "soon"}, "timeout: "),
        ({"delay": "soon"}, "delay: "),
        ({"limit_key": ""}, "limit_key: "),
        ({"expires": 0}, "expires: "),
        ({"notify": (NotifyTarget(email="a@b.c"),) * 21}, "notify: must be at most 20"),
        (
            {"notify": (NotifyTarget(email="a@b.c", on=()),)},
            "notify[0].on: must name at least one outcome: completed, failed or cancelled",
        ),
    ],
)
def test_a_request_that_cannot_be_is_refused_by_its_field(fields: dict[str, Any], message: str) -> None:
    assert told(**fields).startswith(message)


def test_bounds_themselves_are_accepted() -> None:
    targets = (NotifyTarget(email="a@b.c"),) * 20
    options = decode_options(accept(request(retries=1000, timeout=0.001, notify=targets), id=new_id()).options)

    assert (options.retries, options.timeout_ms, options.notify) == (1000, 1, targets)
    assert decode_options(accept(request(retries=0), id=new_id()).options).retries == 0


def test_a_task_keeps_all_that_was_asked_for() -> None:
    id_, targets = new_id(), (NotifyTarget(email="a@b.c"),)
    asked = request(
        payload={"x": 1}, queue="q", priority="high", delay="1m", retries=7, backoff=4, timeout="1h", tags=("t",),
        notify=targets, idempotency_key="k", limit_key="eu", expires=60,
    )  # fmt: skip

    task = accept(asked, id=id_, slot_version=5, tenant="acme")
    expires_at = Instant(made_at(id_) + 120_000)

    assert (task.id, task.slot_version, task.lane) == (id_, 5, Lane("acme", "q", "work", 50))
    assert (task.payload, task.delay_ms, task.run_at) == (b'{"x":1}', 60_000, None)
    assert (task.idempotency_key, task.collapse, task.expires_at) == ("k", None, expires_at)
    assert decode_options(task.options) == TaskOptions(
        retries=7,
        backoff=Backoff(base=4),
        timeout_ms=3_600_000,
        tags=("t",),
        notify=targets,
        limit_key="eu",
        expires_at=expires_at,
    )


def test_a_task_that_says_nothing_has_no_options_and_one_that_collapses_keeps_how() -> None:
    plain = accept(request(), id=new_id(), slot_version=5)
    collapse = Collapse(unique=1)
    collapsing = accept(request(collapse=collapse), id=new_id())

    assert (plain.slot_version, plain.options, plain.delay_ms, plain.fingerprint) == (5, None, 0, None)
    assert accept(request(), id=new_id()).slot_version == 0
    assert decode_options(collapsing.options).collapse == collapse
    assert (collapsing.delay_ms, collapsing.fingerprint) == (0, None)


def test_a_task_that_is_due_later_expires_so_long_after_it_is_due() -> None:
    due = datetime(2030, 1, 1, tzinfo=UTC)
    at = to_instant(due, field="x")

    task = accept(request(run_at=due, expires=60), id=new_id())

    assert (task.run_at, task.expires_at) == (at, at + 60_000)


def test_a_task_cannot_expire_after_the_year_9999() -> None:
    due = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)

    with pytest.raises(Invalid) as refused:
        accept(request(run_at=due, expires=1), id=new_id())

    assert str(refused.value) == "expires: ends after the year 9999"
    assert accept(request(run_at=due, expires=0.999), id=new_id()).expires_at == LATEST


@pytest.mark.parametrize(
    "said",
    [{"idempotency_key_alias": "k"}, {"limit_key": "eu"}, {"expires": 60}, {"notify": (NotifyTarget(email="a@b.c"),)}],
    ids=lambda said: next(iter(said)),
)
def test_one_word_is_enough_to_be_kept(said: dict[str, Any]) -> None:
    task = accept(request(**said), id=new_id())

    assert (task.options, task.idempotency_key) != (None, None)


def test_a_submission_within_a_trace_carries_it() -> None:
    token = CARRIED_TRACE.set("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    try:
        task = accept(request(), id=new_id())
    finally:
        CARRIED_TRACE.reset(token)

    assert decode_options(task.options).trace == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_what_is_not_said_is_as_the_installation_is_set_to() -> None:
    retry = RetryDefaults(retries=9, backoff=Backoff(base=5))

    task = accept(request(), id=new_id(), retry=retry)
    said = accept(request(retries=1, backoff=Backoff(base=7)), id=new_id(), retry=retry)

    assert decode_options(task.options) == TaskOptions(retries=9, backoff=Backoff(base=5))
    assert decode_options(said.options) == TaskOptions(retries=1, backoff=Backoff(base=7))


DECLARED = TypeRules(
    defaults=TypeDefaults(
        queue="q", priority=3, retries=8, backoff=Backoff(base=5), timeout=30.0, tags=("declared",), expires=60.0
    )
)


def test_what_is_not_said_is_as_the_type_declares_it() -> None:
    id_ = new_id()
    task = accept(request(), id=id_, rules=DECLARED)

    assert task.lane == Lane("default", "q", "work", 3)
    assert decode_options(task.options) == TaskOptions(
        retries=8,
        backoff=Backoff(base=5),
        timeout_ms=30_000,
        tags=("declared",),
        expires_at=Instant(made_at(id_) + 60_000),
    )


def test_what_is_said_counts_more_than_what_the_type_declares() -> None:
    id_ = new_id()
    asked = request(queue="r", priority=1, retries=2, backoff=1, timeout=1, tags=("said",), expires=2)

    task = accept(asked, id=id_, rules=DECLARED)

    assert task.lane == Lane("default", "r", "work", 1)
    assert decode_options(task.options) == TaskOptions(
        retries=2,
        backoff=Backoff(base=1),
        timeout_ms=1_000,
        tags=("said",),
        expires_at=Instant(made_at(id_) + 2_000),
    )


def test_the_queue_of_a_request_is_the_one_that_its_task_will_be_in() -> None:
    assert queue_of(request(queue="r"), DECLARED) == "r"
    assert queue_of(request(), DECLARED) == "q"
    assert queue_of(request(), UNKNOWN_TYPE) == "default"


def test_white_space_before_a_payload_is_left_out() -> None:
    for written in (b" \t\r\n{}", b"\n{}", b"{}"):
        assert accept(TaskRequest(name="n", payload=Raw(written)), id=new_id()).payload == b"{}"


SCHEMAS = {
    "open": b'{"type": "object", "properties": {"a": {"type": "integer"}}}',
    "closed": b'{"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false}',
}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_payload_is_json_whether_or_not_its_type_has_a_schema(schema: str) -> None:
    rules = TypeRules(check=PayloadCheck(SCHEMAS[schema]))

    assert accept(TaskRequest(name="n", payload=Raw(b'{"a": 1}')), id=new_id(), rules=rules).payload == b'{"a": 1}'
    assert told(rules, payload=Raw(b'{"a": 1')).startswith("payload: is not JSON")
    assert told(rules, payload=Raw(b'{"a": "x"}')).startswith("payload.a: ")
    if schema == "open":
        assert told(rules, payload=Raw(b'{"a": 1, "b": "\xff"}')).startswith("payload: is not valid UTF-8")


def test_headers_of_a_request_over_http_are_checked_and_those_of_other_tasks_are_not() -> None:
    rules = TypeRules(check=PayloadCheck(b'{"type": "object", "properties": {"headers": {}}}'))
    payload = Raw(b'{"headers": {"Host": "elsewhere"}}')

    for each in (UNKNOWN_TYPE, rules):
        assert told(each, name="http", payload=payload).startswith("payload.headers.host: is not for a task to set")
        assert accept(TaskRequest(name="n", payload=payload), id=new_id(), rules=each).payload == bytes(payload)


def test_submissions_of_one_key_meet_in_one_place_by_either_name_of_the_key() -> None:
    assert placing_key(request(idempotency_key="k")) == placing_key(request(idempotency_key_alias="k")) == "k"
    assert accept(request(idempotency_key_alias="k"), id=new_id()).idempotency_key == "k"
    assert accept(request(idempotency_key="k"), id=new_id()).idempotency_key == "k"


def digest(**fields: Any) -> bytes | None:
    return accept(request(idempotency_key="k", **fields), id=new_id()).fingerprint


def test_a_digest_tells_every_word_apart_and_stays_what_it_was_over_upgrades() -> None:
    said: list[dict[str, Any]] = [
        {}, {"queue": "q"}, {"priority": 1}, {"retries": 4}, {"backoff": 1}, {"timeout": 1}, {"tags": ("t",)},
        {"notify": (NotifyTarget(email="a@b.c"),)}, {"limit_key": "eu"}, {"expires": 5}, {"name": "other"},
        {"payload": {"x": 1}}, {"delay": 1}, {"run_at": datetime(2030, 1, 1, tzinfo=UTC)},
    ]  # fmt: skip

    digests = [digest(**fields) for fields in said]

    assert len(set(digests)) == len(said)
    assert digests[0] == digest(queue="default", priority=0, retries=3, tags=(), notify=())
    # Stored with each key, and compared with what later releases compute.
    stored = ["8b561637f1a9aa53", "93e9cada5809be42", "cc8d510098850606"]
    assert [found.hex()[:16] for found in (digests[0], digests[8], digests[9]) if found] == stored


def test_defaults_do_not_change_the_digest() -> None:
    asked = request(idempotency_key="k")

    assert accept(asked, id=new_id(), rules=DECLARED).fingerprint == digest()
    assert accept(asked, id=new_id(), retry=RetryDefaults(retries=9)).fingerprint == digest()


VIEW = TaskView(
    id=TaskId("t"),
    lane=Lane("default", "q", "n", 0),
    state=State.QUEUED,
    created_at=Instant(0),
    due_at=Instant(1_000),
    epoch=0,
    attempt=0,
)


@pytest.mark.parametrize(
    ("state", "due_at", "status"),
    [
        (State.QUEUED, 1_000, Status.QUEUED),
        (State.QUEUED, 1_001, Status.PENDING),
        (State.QUEUED, None, Status.PENDING),
        (State.RUNNING, 1_000, Status.PROCESSING),
    ],
)
def test_a_task_is_queued_from_the_instant_at_which_it_is_due(state: State, due_at: int | None, status: Status) -> None:
    due = None if due_at is None else Instant(due_at)

    assert replace(VIEW, state=state, due_at=due).status(Instant(1_000)) is status


@pytest.mark.parametrize(
    ("is_parked", "due_at", "is_waiting"),
    [(True, None, True), (True, 1_001, True), (True, 1_000, False), (False, None, False), (False, 1_001, False)],
)
def test_a_parked_task_waits_until_it_is_due(is_parked: bool, due_at: int | None, is_waiting: bool) -> None:
    due = None if due_at is None else Instant(due_at)

    assert replace(VIEW, is_parked=is_parked, due_at=due).is_waiting(Instant(1_000)) is is_waiting
