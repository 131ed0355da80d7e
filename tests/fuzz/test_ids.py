"""Ids of tasks, workers and events, cursors, and pages of lists."""

import asyncio
from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drumline.core.audit import AuditHead, parse_head
from drumline.core.errors import Invalid
from drumline.core.event import END, MOST_LOGS, EventPosition, parse_event_ids
from drumline.core.ids import IdSource, id_above, made_at, parse_session_id, parse_task_id, session_text
from drumline.core.slots import SLOTS, OpenSlots, slot_of, slot_of_key
from drumline.core.trace import ids_of, read_traceparent
from drumline.engine.dead_letters import _group_mark, _mark
from drumline.engine.paging import FEWEST, MOST_BYTES, bounded_page
from drumline.engine.runs import _instant_of
from tests.fuzz.properties import accepted, fuzz

instants = st.integers(0, (1 << 48) - 2)
logs = st.from_regex(r"[0-9a-f]{8}", fullmatch=True)
positions = st.builds(EventPosition, st.integers(0, 10**18 - 1), st.integers(0, END))
sizes = st.sampled_from([1, 1000, MOST_BYTES // 20, MOST_BYTES // 3, MOST_BYTES])


@fuzz()
@given(st.text(max_size=40) | st.uuids().map(str) | st.uuids().map(lambda made: str(made).upper()))
@example("01890a5d-ac96-774b-bcce-b302099a8057\n")
def test_a_task_id_has_one_form_a_time_and_a_slot(text: str) -> None:
    task = accepted(lambda: parse_task_id(text, field="id"))

    if task is not None:
        assert parse_task_id(task.upper()) == task == text.lower()
        assert 0 <= slot_of(task) < SLOTS
        assert 0 <= made_at(task) < 1 << 48


@fuzz(50)
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 700)), max_size=6),
    st.lists(st.integers(0, SLOTS - 1), min_size=1, max_size=4, unique=True),
    st.integers(0, 40),
)
def test_ids_rise_in_open_slots_whatever_the_clock_does(
    moves: list[tuple[int, int]], slots: list[int], ahead: int
) -> None:
    now = 1_700_000_000_000
    ids = IdSource(lambda: now, Random(1))
    ids.open = OpenSlots(tuple(slots), {}, {slots[0]: now + ahead})
    made = []
    for move, count in moves:
        now += move
        made += [ids.next(), *ids.take(count)]

    assert made == sorted(set(made))
    assert {slot_of(each) for each in made} <= set(slots)
    assert all(made_at(each) >= 1_700_000_000_000 + ahead for each in made if slot_of(each) == slots[0])
    assert all(parse_task_id(each) == each for each in made)


@fuzz()
@given(instants, st.text(), st.text())
def test_an_id_above_an_instant_is_an_id_of_the_next(ms: int, tenant: str, key: str) -> None:
    assert made_at(parse_task_id(id_above(ms))) == ms + 1
    assert 0 <= slot_of_key(tenant, key) < SLOTS


@fuzz()
@given(st.text(max_size=30) | st.from_regex(r"w-[0-9a-fA-F]{14,18}", fullmatch=True))
def test_a_worker_id_fits_into_63_bits(text: str) -> None:
    session = accepted(lambda: parse_session_id(text))

    if session is not None:
        assert 0 <= session < 1 << 63
        assert parse_session_id(session_text(session)) == session


@fuzz()
@given(st.dictionaries(logs, positions, min_size=1, max_size=20))
def test_the_id_of_a_message_names_the_same_places_when_it_is_read(places: dict[str, EventPosition]) -> None:
    text = ".".join(f"{log}-{place.position}-{place.offset}" for log, place in places.items())

    assert parse_event_ids(text, field="id") == places


@fuzz()
@given(
    st.text(max_size=60)
    | st.lists(st.from_regex(r"[0-9a-f]{7,9}-\d{0,20}-\d{0,11}", fullmatch=True), max_size=5).map(".".join)
)
@example(".".join(["00000000-1-1"] * (MOST_LOGS + 1)))
@example("00000000-" + "9" * 5000 + "-0")
@example("0000000a-\u0663-0")
def test_the_id_of_a_message_names_few_places_or_is_refused(text: str) -> None:
    places = accepted(lambda: parse_event_ids(text, field="id"))

    assert places is None or 1 <= len(places) <= MOST_LOGS


@fuzz()
@given(
    st.text(max_size=60)
    | st.from_regex(r"-?\d{1,30}\.[0-9a-f-]{12,36}", fullmatch=True)
    | st.builds("{}.{}".format, st.integers(0, 10**19), st.uuids())
)
@example("\u0663.01890a5d-ac96-774b-bcce-b302099a8057")
@example("9" * 5000)
def test_a_cursor_is_a_place_that_the_store_can_hold(text: str) -> None:
    mark = accepted(lambda: _mark(text))
    group = accepted(lambda: _group_mark(text))
    instant = accepted(lambda: _instant_of(text))

    assert mark is None or _mark(f"{mark.at}.{mark.task}") == mark
    assert group is None or _group_mark(f"{group.value}.{group.fingerprint}") == group
    assert instant is None or instant < 10**15


@fuzz()
@given(st.text(max_size=80) | st.from_regex(r"\d{1,20}:[0-9a-f]{63,65}", fullmatch=True))
def test_the_head_of_an_audit_log_is_written_as_it_is_read(text: str) -> None:
    head = accepted(lambda: parse_head(text, "acme", field="head"))

    assert head is None or parse_head(str(head), "acme", field="head") == head


@fuzz()
@given(st.integers(0, 10**18 - 1), st.binary(min_size=32, max_size=32))
def test_any_head_of_an_audit_log_is_read(count: int, digest: bytes) -> None:
    head = AuditHead("acme", count, digest)

    assert parse_head(str(head), "acme", field="head") == head


@fuzz()
@given(
    st.text(max_size=140) | st.from_regex(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?", fullmatch=True)
)
@example("00-" + "0" * 31 + "1-" + "0" * 15 + "1-00-" + "-" * 100)
def test_a_trace_has_ids_that_are_not_zero(text: str) -> None:
    trace = read_traceparent(text)

    if trace is not None:
        number, span = ids_of(trace)
        assert (len(number), len(span)) == (32, 16)
        assert int(number, 16) * int(span, 16) > 0


@fuzz()
@given(st.lists(sizes, max_size=60), st.integers(1, 20))
def test_pages_show_everything_once_and_none_is_much_too_large(weights: list[int], limit: int) -> None:
    things = list(enumerate(weights))
    reads = 0

    async def page(after: int) -> tuple[list[tuple[int, int]], bool]:
        async def read(count: int, last: tuple[int, int] | None) -> Sequence[tuple[int, int]]:
            nonlocal reads
            reads += 1
            start = after if last is None else last[0] + 1
            return things[start : start + count]

        return await bounded_page(read, limit=limit, weigh=lambda thing: thing[1])

    seen: list[tuple[int, int]] = []
    is_more = True
    while is_more:
        found, is_more = asyncio.run(page(len(seen)))
        assert found or not is_more
        assert len(found) <= limit
        # The bytes are counted after each read, and a read has at most FEWEST large things.
        assert sum(weight for _, weight in found) < MOST_BYTES * (1 + FEWEST)
        seen += found

    assert seen == things
    assert reads <= 2 * len(things) + 2


@pytest.mark.parametrize("parse", [_mark, _group_mark, _instant_of])
def test_a_refused_cursor_is_named(parse: Callable[[str], object]) -> None:
    with pytest.raises(Invalid) as caught:
        parse("x")

    assert caught.value.field == "cursor"
