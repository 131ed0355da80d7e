"""What a durable task may record and wait for, and how that travels between a worker and the server."""

from typing import Any

import pytest
from msgspec import UNSET, Raw
from msgspec.structs import replace

from drumline.core.clock import LATEST, Instant, moment_of
from drumline.core.durable import (
    LARGEST_WAIT_SCHEMA,
    LONGEST_RECORD_NAME,
    LONGEST_WAIT_MS,
    MOST_PENDING,
    Answered,
    NewRecord,
    Record,
    RecordKind,
    RecordPage,
    RecordStatus,
    RestartRequest,
    Wait,
    WaitKind,
    WaitRequest,
    check_record_name,
    check_wait,
)
from drumline.core.durable_protocol import (
    answered_body,
    answered_of,
    new_record_body,
    new_record_of,
    page_request,
    restart_body,
    restart_of,
    wait_request_body,
    wait_request_of,
)
from drumline.core.errors import Invalid
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.protocol import LeaseBody
from drumline.core.record_body import RecordBody, page_body, page_of, record_body, record_of

TASK = TaskId("01890a5d-ac96-774b-bcce-b302099a8057")
LEASE = Lease(TASK, 3, 0xABC)
ON_WIRE = LeaseBody(TASK, 3, "0000000000000abc")
LONG = "n" * LONGEST_RECORD_NAME
SLEEP = Wait(kind=WaitKind.SLEEP, name="n", delay_ms=1000)
SIGNAL = Wait(kind=WaitKind.SIGNAL, name="n")
WINDOW = Wait(kind=WaitKind.WINDOW, name="n")


def refused(wait: Wait) -> tuple[str | None, str]:
    with pytest.raises(Invalid) as caught:
        check_wait(wait, field="waits[2].")
    return caught.value.field, caught.value.message


@pytest.mark.parametrize(("name", "key"), [("n", ""), (LONG, LONG), ("a b", "ä")])
def test_a_record_may_have_any_line_of_text_as_its_name_and_key(name: str, key: str) -> None:
    check_record_name(name, key)


@pytest.mark.parametrize(
    ("name", "key", "field"),
    [("", "", "name"), (" ", "", "name"), (LONG + "n", "", "name"), ("n", " ", "key"), ("n", LONG + "n", "key")],
)
def test_a_name_or_key_that_no_record_can_have_is_refused_by_its_field(name: str, key: str, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_record_name(name, key)
    assert caught.value.field == field
    with pytest.raises(Invalid) as caught:
        check_record_name(name, key, field="records[1].")
    assert caught.value.field == f"records[1].{field}"


@pytest.mark.parametrize(
    "wait",
    [
        SLEEP,
        replace(SLEEP, delay_ms=0),
        replace(SLEEP, delay_ms=LONGEST_WAIT_MS),
        replace(SLEEP, delay_ms=None, until=Instant(0)),
        replace(SLEEP, delay_ms=None, until=Instant(LATEST - 1)),
        SIGNAL,
        replace(SIGNAL, delay_ms=5, correlation=LONG, schema='{"type": "object"}'),
        replace(SIGNAL, schema='{"a":"' + "x" * (LARGEST_WAIT_SCHEMA - 8) + '"}'),
        WINDOW,
        replace(WINDOW, pending=MOST_PENDING - 1),
        *(Wait(kind=kind, name="n") for kind in (WaitKind.CALL, WaitKind.GROUP, WaitKind.FIRST, WaitKind.PERSON)),
    ],
)
def test_a_wait_within_its_bounds_is_taken_as_it_is(wait: Wait) -> None:
    assert check_wait(wait) is wait


DAYS = "must be from 0 to 3,660 days"
YEARS = "must be between the years 1970 and 9999"
NO_TIME = "must have a delay or a time"
PENDING = "must be from 0 to 999,999, and 0 unless it is a window"


@pytest.mark.parametrize(
    ("wait", "field", "message"),
    [
        (replace(SLEEP, until=Instant(5)), "delay", "cannot be given together with until"),
        (replace(SLEEP, delay_ms=-1), "delay", DAYS),
        (replace(SLEEP, delay_ms=LONGEST_WAIT_MS + 1), "delay", DAYS),
        (replace(SLEEP, delay_ms=None, until=Instant(-1)), "until", YEARS),
        (replace(SLEEP, delay_ms=None, until=LATEST), "until", YEARS),
        (replace(SLEEP, delay_ms=None), "until", NO_TIME),
        (Wait(kind=WaitKind.RETRY, name="n"), "until", NO_TIME),
        (replace(SIGNAL, pending=1), "pending", PENDING),
        (replace(WINDOW, pending=-1), "pending", PENDING),
        (replace(WINDOW, pending=MOST_PENDING), "pending", PENDING),
        (replace(SIGNAL, name=""), "name", "must not be blank"),
        (replace(SIGNAL, key=" "), "key", "must not be blank"),
        (replace(SIGNAL, correlation=""), "correlation", "must not be blank"),
        (replace(SIGNAL, correlation=LONG + "n"), "correlation", "must be at most 255 characters"),
        (replace(SIGNAL, schema="[]"), "schema", "must be an object"),
        (
            replace(SIGNAL, schema='{"a":"' + "x" * (LARGEST_WAIT_SCHEMA - 7) + '"}'),
            "schema",
            "has 16,385 bytes of JSON; at most 16,384 are kept",
        ),
        (replace(SIGNAL, schema="é" * 8193), "schema", "has 16,386 bytes of JSON; at most 16,384 are kept"),
    ],
)
def test_a_wait_out_of_its_bounds_is_refused_by_its_field(wait: Wait, field: str, message: str) -> None:
    assert refused(wait) == (f"waits[2].{field}", message)


@pytest.mark.parametrize("schema", ["{", '"\ud800"', '{"a": \ud800}'])
def test_a_schema_that_is_no_json_is_refused_by_its_field(schema: str) -> None:
    assert refused(replace(SIGNAL, schema=schema))[0] == "waits[2].schema"


@pytest.mark.parametrize("kind", [*RecordKind, *RecordStatus, *WaitKind])
def test_a_kind_is_written_in_small_letters(kind: RecordKind | RecordStatus | WaitKind) -> None:
    assert kind.word == kind.name.lower()


RECORD = Record(
    name="n", key="k", kind=RecordKind.SIGNAL, status=RecordStatus.TIMED_OUT, value=Raw(b"[1]"), seq=7, tries=4,
    due_at=Instant(5000),
)  # fmt: skip


@pytest.mark.parametrize("record", [RECORD, Record(name="n", seq=1), replace(RECORD, due_at=None)])
def test_a_record_comes_back_from_the_wire_as_it_was(record: Record) -> None:
    assert record_of(record_body(record)) == record


def test_a_record_is_written_in_words_and_utc_times() -> None:
    assert record_body(RECORD) == RecordBody(
        name="n", key="k", kind="signal", status="timed_out", value=Raw(b"[1]"), seq=7, tries=4,
        due_at=moment_of(Instant(5000)),
    )  # fmt: skip


def test_a_record_of_a_kind_that_only_a_later_version_knows_is_one_of_a_step_that_failed() -> None:
    found = record_of(RecordBody(name="n", seq=1, kind="telepathy", status="pondered"))
    assert (found.kind, found.status) == (RecordKind.STEP, RecordStatus.FAILED)


@pytest.mark.parametrize("page", [RecordPage(), RecordPage((RECORD, Record(name="m", seq=8)), has_more=True)])
def test_a_page_of_records_comes_back_from_the_wire_as_it_was(page: RecordPage) -> None:
    assert page_of(page_body(page)) == page


@pytest.mark.parametrize("status", [RecordStatus.TRIED, RecordStatus.DONE, RecordStatus.FAILED])
def test_a_new_record_comes_back_from_the_wire_as_it_was(status: RecordStatus) -> None:
    new = NewRecord(
        lease=LEASE, name="n", key="k", status=status, value=Raw(b"[1]"), tries=4, took_ms=1500, delay_ms=250
    )
    body = new_record_body(new)
    assert (body.lease, body.status, body.took, body.delay) == (ON_WIRE, status.word, 1.5, 0.25)
    assert new_record_of(body, field="records[0]") == new


def test_parts_of_a_millisecond_are_rounded() -> None:
    body = replace(new_record_body(NewRecord(lease=LEASE, name="n")), took=0.0016, delay=0.0014)
    found = new_record_of(body, field="")
    assert (found.took_ms, found.delay_ms) == (2, 1)


WAITS = (
    Wait(kind=WaitKind.SIGNAL, name="n", key="k", delay_ms=1500, reason="r", correlation="c", schema='{"a":1}'),
    Wait(kind=WaitKind.SLEEP, name="n", until=Instant(5000)),
    Wait(kind=WaitKind.WINDOW, name="n", pending=9),
    *(Wait(kind=kind, name="n", delay_ms=0) for kind in WaitKind),
)


def test_waits_come_back_from_the_wire_as_they_were() -> None:
    asked = WaitRequest(lease=LEASE, waits=WAITS)
    body = wait_request_body(asked)
    assert body.lease == ON_WIRE
    assert [each.kind for each in body.waits] == [wait.kind.word for wait in WAITS]
    assert [each.delay for each in body.waits[:3]] == [1.5, None, None]
    assert body.waits[1].schema is UNSET
    assert wait_request_of(body) == asked


@pytest.mark.parametrize(("delay", "is_taken"), [(0, True), (316_224_000, True), (-0.001, False), (316_224_001, False)])
def test_a_delay_on_the_wire_is_up_to_ten_years(delay: float, is_taken: bool) -> None:
    body = wait_request_body(WaitRequest(lease=LEASE, waits=(SIGNAL, SLEEP)))
    body.waits[1] = replace(body.waits[1], delay=delay)
    if is_taken:
        assert wait_request_of(body).waits[1].delay_ms == delay * 1000
        return
    with pytest.raises(Invalid, match=DAYS) as caught:
        wait_request_of(body)
    assert caught.value.field == "waits[1].delay"


def test_a_time_to_wait_until_that_has_no_zone_is_refused_by_its_field() -> None:
    body = wait_request_body(WaitRequest(lease=LEASE, waits=(SIGNAL, WAITS[1])))
    until = body.waits[1].until
    assert until is not None
    body.waits[1] = replace(body.waits[1], until=until.replace(tzinfo=None))
    with pytest.raises(Invalid) as caught:
        wait_request_of(body)
    assert caught.value.field == "waits[1].until"


def test_a_schema_that_is_no_utf_8_is_left_for_the_check_to_refuse() -> None:
    body = wait_request_body(WaitRequest(lease=LEASE, waits=(replace(SIGNAL, schema="{}"),)))
    body.waits[0] = replace(body.waits[0], schema=Raw(b'{"\xff":1}'))
    assert wait_request_of(body).waits[0].schema == '{"\ufffd":1}'


def test_answers_come_back_from_the_wire_as_they_were() -> None:
    answered = Answered(((2, RECORD), (0, None)))
    body = answered_body(answered)
    assert [each.place for each in body.answers] == [2, 0]
    assert answered_of(body) == answered


def test_the_end_of_a_round_comes_back_from_the_wire_as_it_was() -> None:
    asked = RestartRequest(lease=LEASE, payload=Raw(b"[1]"))
    assert restart_of(restart_body(asked)) == asked


def test_a_page_of_records_is_asked_for_by_the_last_that_is_known() -> None:
    asked = page_request(LEASE, 12)
    assert (asked.lease, asked.after) == (ON_WIRE, 12)


WRONG = LeaseBody(TaskId("no id"), 3, "0" * 16)
NEW = replace(new_record_body(NewRecord(lease=LEASE, name="n")), lease=WRONG)
WAITING = replace(wait_request_body(WaitRequest(lease=LEASE, waits=())), lease=WRONG)
RESTART = replace(restart_body(RestartRequest(lease=LEASE, payload=Raw(b"1"))), lease=WRONG)


@pytest.mark.parametrize(
    ("read", "field"),
    [
        (lambda: new_record_of(NEW, field="records[3]"), "records[3].lease.task"),
        (lambda: wait_request_of(WAITING), "lease.task"),
        (lambda: restart_of(RESTART), "lease.task"),
    ],
)
def test_a_lease_that_is_none_is_refused_by_its_field(read: Any, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        read()
    assert caught.value.field == field
