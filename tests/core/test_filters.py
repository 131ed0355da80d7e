"""Filters of tasks, jobs and failures: what a text means, and what is wrong with one that means nothing."""

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from drumline.core.clock import Instant
from drumline.core.errors import Invalid
from drumline.core.filter_subjects import FAILURES, JOBS, LONGEST_ERROR, TASKS, searched_characters
from drumline.core.filter_syntax import MOST_TERMS, Operator, Value, scan
from drumline.core.filters import Filter, read_filter
from drumline.core.ids import JobId, SessionId, TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.state import State
from drumline.core.task import Lane, TaskOptions, TaskView

NOW = Instant(1_790_000_000_000)
HOUR = 3_600_000


def task(**fields: Any) -> TaskView:
    made = NOW - fields.pop("age", 0)
    lane = Lane("default", fields.pop("queue", "mail"), fields.pop("name", "shop.charge"), fields.pop("priority", 0))
    values: dict[str, Any] = {
        "state": State.FAILED, "created_at": made, "due_at": made, "epoch": 1, "attempt": 1,
        "error": ErrorInfo("TimeoutError", "Gateway timed out"), **fields,
    }  # fmt: skip
    id_ = TaskId(f"{made >> 16:08x}-{made & 0xFFFF:04x}-7abc-8123-0123456789ab")
    return TaskView(id=id_, lane=lane, **values)


def read(text: str) -> Filter:
    return read_filter(text, TASKS, now=NOW, hides=lambda name: name == "password")


def fits(text: str, **fields: Any) -> bool:
    return read(text).matches(task(**fields), NOW)


def fits_payload(text: str, payload: Any) -> bool:
    return read(text).matches_payload(payload)


def test_terms_are_read_with_their_operators_values_and_places() -> None:
    terms = scan('status:failed,cancelled -queue:bulk payload.order_id!=17 attempt:>2 error:"timed \\"out" text')

    assert [(term.field, term.operator, term.is_negated, term.place) for term in terms] == [
        ("status", Operator.IS, False, 1),
        ("queue", Operator.IS, True, 25),
        ("payload.order_id", Operator.EQUAL, True, 37),
        ("attempt", Operator.ABOVE, False, 58),
        ("error", Operator.IS, False, 69),
        ("", Operator.IS, False, 89),
    ]
    assert terms[0].values == (Value("failed"), Value("cancelled"))
    assert terms[4].values == (Value('timed "out', is_quoted=True),)


def test_an_error_is_searched_up_to_a_bound() -> None:
    within = ErrorInfo("E", "x" * (LONGEST_ERROR - 6) + "end")
    beyond = ErrorInfo("E", "x" * (LONGEST_ERROR - 5) + "end")

    assert fits("error:end", error=within)
    assert not fits("error:end", error=beyond)
    assert fits("-error:end", error=beyond)
    assert searched_characters(task(error=within)) == searched_characters(task(error=beyond)) - 1
    assert searched_characters(task(error=ErrorInfo("E", "x" * 65_536))) == LONGEST_ERROR
    assert searched_characters(task(error=None)) == 0


def test_a_task_without_an_error_has_no_text_in_it() -> None:
    assert not fits("error:timed", error=None)
    assert fits("-error:timed -error:other", error=None)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("name:shop.charge", True), ("name:shop", False), ("name:shop*", True), ("name:*charge*", True),
        ('name:"shop*"', False), ("-name:shop*", False), ("name:other,shop.charge", True), ("name!=other", True),
        ("queue:mail", True), ("-queue:bulk", True), ("-queue:mail", False),
        ("status:failed", True), ("status:FAILED,queued", True), ("state:queued", False), ("-status:failed", False),
        ("error:timed", True), ("error:TIMEOUT", True), ('error:"timed out"', True), ("-error:timed", False),
        ("error:gate*out", True), ("error:refused", False),
        ("charge", True), ("CHARGE", True), ("mail", False), ("-charge", False),
        ("priority:0", True), ("priority>=high", False), ("attempts>0", True), ("attempt:1,2", True),
        ("attempts>1", False),
    ],
)  # fmt: skip
def test_terms_match_what_they_say(text: str, matches: bool) -> None:
    assert fits(text) is matches


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("created>2h", True), ("created<2h", False), ("created:2h", True), ("created:30m", False), ("since:2h", True),
        ("until:2h", False), ("created<30m", True), ("age>30m", True), ("age<30m", False),
        ("created:2026-09-21", True), ("created:2026-09-20", False), ("created>=2026-09-21", True),
        ("created<2026-09-21T00:00:00+02:00", False), ("created>2026-09-21T00:00:00", True),
        ("ended:2h", True), ("ended>5m", False),
        ("duration>5s", True), ("duration<=10s", True), ("duration<10s", False),
        ("due<+2h", True), ("due>now", False),
    ],
)  # fmt: skip
def test_times_and_durations_are_compared(text: str, matches: bool) -> None:
    began = NOW - HOUR
    assert fits(text, age=HOUR, started_at=began, finished_at=began + 10_000) is matches


def test_a_running_task_has_lasted_until_now() -> None:
    assert fits("duration>50m", state=State.RUNNING, started_at=NOW - HOUR)
    assert not fits("duration>0s", state=State.QUEUED)


def test_tags_keys_workers_and_jobs_are_found() -> None:
    job = JobId("01890a5d-ac96-774b-bcce-b302099a8057")
    fields = {
        "options": TaskOptions(tags=("vip", "eu"), job=job),
        "idempotency_key": "order 9",
        "worker": SessionId(0xC0FFEE),
    }

    assert fits(f'tag:vip -tag:test key:"order 9" worker:w-0000000000c0ffee job:{job}', **fields)
    assert not fits("tag:vip", options=TaskOptions())
    assert not fits("key:*")


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("payload.order.id=17", True), ("payload.order.id:17.0", True), ('payload.order.id="17"', False),
        ("payload.order.id>16", True), ("payload.order.id<17", False), ("payload.order.id!=17", False),
        ("payload.name=Ada*", True), ('payload.name="Ada*"', False), ("payload.name>A", True), ("payload.name>5", True),
        ("payload.is_new=true", True), ("payload.is_new=1", False), ("payload.none=null", True),
        ("payload.items=b", True), ("payload.items.1=b", True), ("payload.items.9=b", False),
        ("payload.missing=1", False), ("-payload.missing=1", True), ("payload.missing=null", False),
        ("payload.big=9007199254740993", True), ("payload.big=9007199254740992", False),
    ],
)  # fmt: skip
def test_fields_of_payloads_are_compared_by_their_type(text: str, matches: bool) -> None:
    payload = {
        "order": {"id": 17}, "name": "Ada L", "is_new": True, "none": None, "items": ["a", "b"],
        "big": 9007199254740993,
    }  # fmt: skip
    assert fits_payload(text, payload) is matches


@pytest.mark.parametrize(
    ("text", "where", "why"),
    [
        ("foo:bar", "at character 1, foo:bar:", "there is no field foo"),
        ("charge stauts:failed", "at character 8, stauts:failed:", "did you mean status?"),
        ("status:fialed", "at character 1,", "did you mean failed?"),
        ("status>failed", "at character 1,", "has no order"),
        ('name:"open', "at character 6,", "the closing quote is missing"),
        ('name:"a"b', "at character 1,", "a space has to follow"),
        ("name:", "at character 1, name:", "a value is missing"),
        ("tag:a,", "at character 1,", "a value is missing"),
        ("-", "at character 1, -:", "a value is missing"),
        ("duration:5s", "at character 1,", "takes > or <"),
        ("duration>5x", "at character 1,", "must be seconds"),
        ("attempts>many", "at character 1,", "must be a number"),
        ("priority>200", "at character 1,", "from -100 to 100"),
        ("created>soon", "at character 1,", "is not a time"),
        ("created>2026-13-01", "at character 1,", "is not a time"),
        ("created>1h,2h", "at character 1,", "takes one value"),
        ("worker:ada", "at character 1,", "must be a worker id"),
        ("id:xyz", "at character 1,", "is not the beginning of an id"),
        ("payload.=1", "at character 1,", "names no place"),
        ("payload.a.b.c.d.e.f.g.h.i=1", "at character 1,", "deeper than 8"),
        ("payload.user.password=x", "at character 1,", "are redacted"),
        (" ".join(["a"] * (MOST_TERMS + 1)), f"at character {MOST_TERMS * 2 + 1},", "more than 30 terms"),
        ("tag:" + ",".join("a" * 101), "at character 1,", "more than 100 values"),
        ("", "must not be blank", ""),
        ("a" * 1001, "must be at most 1000", ""),
        ("a\x00", "control characters", ""),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, where: str, why: str) -> None:
    with pytest.raises(Invalid) as refusal:
        read(text)

    assert refusal.value.field == "filter"
    assert where in refusal.value.message
    assert why in refusal.value.message


def test_what_an_index_can_find_is_told() -> None:
    found = read('status:failed,queued -status:queued name:"a b" queue:m* tag:vip created>=2h ended:1h').narrowing(
        TASKS.statuses
    )

    assert found.statuses == frozenset({"FAILED"})
    assert found.exact == {"name": "a b", "tag": "vip"}
    assert found.created.since == NOW - 2 * HOUR
    assert found.ended_since == NOW - HOUR


def test_what_is_negated_narrows_nothing_but_the_status() -> None:
    found = read("-name:a -tag:b -created>2h -status:completed").narrowing(TASKS.statuses)

    assert found.exact == {}
    assert found.created == (None, None)
    assert found.statuses == frozenset(TASKS.statuses) - {"COMPLETED"}


def test_the_beginning_of_an_id_is_a_stretch_of_time() -> None:
    view = task()

    for length in (4, 8, 11, 13, 20, 36):
        found = read(f"id:{view.id[:length]}")
        assert found.matches(view, NOW)
        assert found.narrowing(TASKS.statuses).created.has(NOW)
    assert not read("id:ffff").matches(view, NOW)


def test_a_lane_is_compared_before_its_tasks_are_read() -> None:
    found = read("name:shop.* -queue:bulk priority>0 error:boom")

    assert found.narrows_lanes
    assert found.covers_lane(Lane("t", "mail", "shop.charge", 1))
    assert not found.covers_lane(Lane("t", "mail", "shop.charge", 0))
    assert not found.covers_lane(Lane("t", "bulk", "shop.charge", 1))
    assert not read("error:boom").narrows_lanes


def test_jobs_and_failures_have_fields_of_their_own() -> None:
    assert read_filter("owner:ada failed>0", JOBS, now=NOW).narrowing(JOBS.statuses).exact == {"owner": "ada"}
    letter = SimpleNamespace(
        task=task().id, lane=task().lane, kind="TimeoutError", message="no answer", at=NOW, attempts=3
    )
    assert read_filter("error:answer attempts>2 failed:1h", FAILURES, now=NOW).matches(letter, NOW)
    with pytest.raises(Invalid, match="there is no field payload"):
        read_filter("payload.a=1", JOBS, now=NOW)


ID = TaskId("01890a5d-ac96-774b-bcce-b302099a8057")


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        (f"id:{ID}", True), (f"id:{ID.upper()}", True), ("id:01890a5d", True), ("id:01890a5d-ac", True),
        ("id:01890a5dac96*", True), ("id:11890a5d", False), ("id:*8057", True), ("id:*B302099A8057", True),
        ("id:*bcce-b302099a8057", True), ("id:*8058", False), ("id:*8058,*8057", True), ("id:11,*8057", True),
        ("-id:*8057", False), (f"id:*{ID}", True), ("id:01890a5d-ac96-774b-bcce-b302099a8058", False),
    ],
)  # fmt: skip
def test_an_id_is_found_by_its_beginning_or_its_end(text: str, matches: bool) -> None:
    found = read(text)
    view = replace(task(), id=ID)
    assert found.matches(view, NOW) is matches
    assert found.covers_id(ID) is matches


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("id:xyz", "is not the beginning of an id"),
        (f"id:{'0' * 33}", "is not the beginning of an id"),
        ("id:*xyz", "is not the end of an id"),
        ("id:*", "is not the end of an id"),
        (f"id:*{'0' * 33}", "is not the end of an id"),
        ("attempts:>x", "must be a number"),
        ("duration:5s", "takes > or <, such as >5s"),
        ("payload.:5", "names no place in the payload; write it as payload.order.id"),
    ],
)
def test_what_is_no_id_or_place_is_told_with_its_term(text: str, why: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(text)
    assert refused.value.message == f"at character 1, {text}: {why}"


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("id:01890a5dac96", 0x01890A5DAC96, 0x01890A5DAC96 + 1),
        (f"id:{ID}", 0x01890A5DAC96, 0x01890A5DAC96 + 1),
        ("id:01890a5d", 0x01890A5D0000, 0x01890A5DFFFF + 1),
        ("id:01890a5e,01890a5d", 0x01890A5D0000, 0x01890A5EFFFF + 1),
        ("id:01890a5d,*8057", None, None),
    ],
)
def test_the_beginning_of_an_id_tells_when_it_was_made(text: str, since: int | None, until: int | None) -> None:
    narrowing = read(text).narrowing(())
    assert (narrowing.created.since, narrowing.created.until) == (since, until)


def test_a_filter_keeps_its_text_and_time() -> None:
    found = read("status:failed")
    assert (found.text, found.now) == ("status:failed", NOW)


@pytest.mark.parametrize(
    ("text", "subject", "told"),
    [
        ("zzz:1", JOBS, "there is no field zzz; there are "),
        ("quue:1", TASKS, "there is no field quue; did you mean queue? (Quote text that has a : in it.)"),
        (f"{'z' * 50}:1", TASKS, f"there is no field {'z' * 40}; there are "),
        ("status:ZZZ", TASKS, "there is no status zzz; it is one of "),
        (f"status:{'z' * 50}", TASKS, f"there is no status {'z' * 40}; it is one of "),
        ("status:faild", TASKS, "there is no status faild; did you mean failed?"),
    ],
)
def test_what_there_is_instead_is_told(text: str, subject: Any, told: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_filter(text, subject, now=NOW)
    assert told in refused.value.message


def test_fields_of_payloads_are_told_of_where_there_are_payloads() -> None:
    for subject, are_told in ((TASKS, True), (JOBS, False)):
        with pytest.raises(Invalid) as refused:
            read_filter("zzz:1", subject, now=NOW)
        assert (", payload.FIELD (Quote" in refused.value.message) is are_told
