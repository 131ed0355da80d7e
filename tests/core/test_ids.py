from random import Random
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumline.core.clock import ManualClock
from drumline.core.errors import Invalid
from drumline.core.ids import IdSource, SessionId, id_above, made_at, parse_session_id, parse_task_id, session_text
from drumline.core.slots import OpenSlots, slot_of


def source(clock: ManualClock | None = None) -> IdSource:
    return IdSource((clock or ManualClock()).now, Random(1))


def test_ids_are_version_7_uuids_that_carry_their_time() -> None:
    clock = ManualClock()

    made = source(clock).next()

    assert UUID(made).version == 7
    assert UUID(made).variant == "specified in RFC 4122"
    assert UUID(made).int >> 80 == clock.now()


def test_ids_rise_within_one_millisecond_and_beyond_its_counter() -> None:
    ids = source()

    made = [ids.next() for _ in range(10_000)]

    assert made == sorted(set(made))


@pytest.mark.parametrize("count", [0, 1, 7, 4_096, 10_000])
def test_ids_taken_at_once_rise_among_those_made_one_by_one(count: int) -> None:
    ids = source()

    made = [ids.next(), *ids.take(count), ids.next(), *ids.take(count), ids.next()]

    assert len(made) == 3 + 2 * count
    assert made == sorted(set(made))
    assert {(len(each), UUID(each).version, UUID(each).variant) for each in made} == {(36, 7, RFC_4122)}


def test_ids_rise_when_the_clock_steps_back() -> None:
    clock = ManualClock()
    ids = source(clock)
    before = ids.next()

    clock.advance(-60)

    assert ids.next() > before


@pytest.mark.parametrize("text", ["", "1", "01890a5d-ac96-774b-bcce-b302099a805", "g" * 36, "x" * 10_000])
def test_what_is_no_uuid_is_refused_by_field(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_task_id(text, field="task_id")

    assert caught.value.field == "task_id"


def test_a_uuid_in_capitals_is_the_same_task() -> None:
    made = source().next()

    assert parse_task_id(made.upper()) == made


@given(st.integers(0, (1 << 63) - 1))
def test_session_ids_survive_their_public_form(number: int) -> None:
    assert parse_session_id(session_text(SessionId(number))) == number


def test_an_id_above_a_millisecond_parts_those_made_by_then_from_later_ones() -> None:
    clock = ManualClock()
    ids = source(clock)
    made = [ids.next() for _ in range(100)]
    bound = id_above(clock.now())
    clock.advance(0.002)

    assert max(made) < bound < ids.next()


def test_many_ids_of_one_slot_rise_also_where_they_must_not_be_made_yet() -> None:
    clock = ManualClock()
    ids = source(clock)
    later = clock.now() + 1000
    ids.open = OpenSlots((5, 6), {6: 1}, {6: later})

    made = ids.take_in(6, 300)

    assert made == sorted(set(made))
    assert {slot_of(each) for each in made} == {6}
    assert min(made_at(each) for each in made) >= later
