from collections.abc import Callable
from random import Random
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumline.core.clock import ManualClock
from drumline.core.errors import Invalid
from drumline.core.ids import (
    IdSource,
    SessionId,
    TaskId,
    id_above,
    made_at,
    parse_job_id,
    parse_schedule_id,
    parse_session_id,
    parse_task_id,
    session_text,
)
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


def test_ids_of_a_slot_that_has_moved_are_not_older_than_its_move_though_the_clock_stands_still() -> None:
    clock = ManualClock()
    ids = source(clock)
    slot = slot_of(ids.next())
    moved = clock.now() + 5000
    ids.open = OpenSlots((slot,), {slot: 1}, {slot: moved})

    made = ids.next()

    assert (slot_of(made), ids.version(made)) == (slot, 1)
    assert made_at(made) >= moved


def counter_of(id_: str) -> int:
    return int(id_[15:18], 16)


@pytest.mark.parametrize("parse", [parse_task_id, parse_job_id, parse_schedule_id])
def test_an_id_that_is_refused_names_its_field_and_an_example(parse: Callable[..., str]) -> None:
    reason = "must be a UUID such as 01890a5d-ac96-774b-bcce-b302099a8057"

    for named, field in (({}, "id"), ({"field": "mine"}, "mine")):
        with pytest.raises(Invalid) as refused:
            parse("nothing", **named)
        assert str(refused.value) == f"{field}: {reason}"
    assert parse("01890A5D-ac96-774b-bcce-b302099a8057") == "01890a5d-ac96-774b-bcce-b302099a8057"


@pytest.mark.parametrize("text", ["", "w-", "w-00c0ffee00c0ffe", "w-00C0FFEE00C0FFEE", "x-00c0ffee00c0ffee"])
def test_a_session_that_is_refused_names_its_field_and_an_example(text: str) -> None:
    for named, field in (({}, "id"), ({"field": "mine"}, "mine")):
        with pytest.raises(Invalid) as refused:
            parse_session_id(text, **named)
        assert str(refused.value) == f"{field}: must be a worker id such as w-00c0ffee00c0ffee"


def test_a_session_is_told_in_sixteen_digits_and_is_a_number_of_63_bits() -> None:
    assert session_text(SessionId(0xC0FFEE)) == "w-0000000000c0ffee"
    assert parse_session_id("w-ffffffffffffffff") == (1 << 63) - 1


def test_an_id_above_a_millisecond_is_the_first_of_the_next() -> None:
    assert id_above(0x0189_0A5D_AC96) == "01890a5d-ac97-7000-8000-000000000000"
    assert id_above(0) == id_above(-7) == "00000000-0001-7000-8000-000000000000"
    assert id_above(0xFFFF_FFFF_FFFF) == "ffffffff-ffff-7000-8000-000000000000"


def test_the_counter_of_a_millisecond_begins_in_its_lower_half_and_rises_by_one() -> None:
    clock = ManualClock()
    ids = source(clock)

    begun = []
    for _ in range(200):
        clock.advance(0.001)
        begun.append(ids.next())

    assert all(counter_of(each) < 0x800 for each in begun)
    assert len({counter_of(each) for each in begun}) > 100
    assert counter_of(ids.next()) == counter_of(begun[-1]) + 1


def test_a_counter_that_runs_over_borrows_the_next_millisecond_from_its_beginning() -> None:
    clock = ManualClock()
    ids = source(clock)
    first = ids.next()

    made = ids.take(0xFFF - counter_of(first))
    over = ids.next()

    assert (counter_of(made[-1]), made_at(made[-1])) == (0xFFF, clock.now())
    assert (counter_of(over), made_at(over)) == (0, clock.now() + 1)


def test_ids_have_random_ends_that_are_not_repeated() -> None:
    ids = source()

    ends = [each[24:] for each in (*(ids.next() for _ in range(600)), *ids.take(600))]

    assert len(set(ends)) == 1200
    assert {len(end) for end in ends} == {12}


def test_the_ids_of_a_millisecond_are_of_one_slot_and_those_of_many_are_of_several() -> None:
    clock = ManualClock()
    ids = source(clock)
    together = {slot_of(ids.next()) for _ in range(20)}
    apart = set()
    for _ in range(50):
        clock.advance(0.001)
        apart.add(slot_of(ids.next()))

    assert len(together) == 1
    assert len(apart) > 30


def test_an_id_is_made_in_the_slot_that_is_named() -> None:
    clock = ManualClock()
    ids = source(clock)

    made = ids.next(0xABC)

    assert (slot_of(made), made_at(made), UUID(made).version) == (0xABC, clock.now(), 7)
    assert ids.in_slot(TaskId("01890a5d-ac96-774b-8123-b302099a8057"), 5) == "01890a5d-ac96-774b-8005-b302099a8057"


def test_an_id_of_a_slot_is_moved_to_the_time_from_which_it_may_be_made() -> None:
    ids = source()
    made = TaskId("01890a5d-ac96-774b-8123-b302099a8057")
    at = made_at(made)
    ids.open = OpenSlots((5, 6, 7), {}, {6: at, 7: at + 1})

    assert ids.in_slot(made, 6) == "01890a5d-ac96-774b-8006-b302099a8057"
    assert ids.in_slot(made, 7) == "01890a5d-ac97-774b-8007-b302099a8057"


def test_the_version_of_an_id_is_that_of_its_slot() -> None:
    ids = source()
    made = ids.next(5)

    assert ids.version(made) == 0
    ids.open = OpenSlots((5, 6), {5: 3}, {})
    assert (ids.version(made), ids.version(ids.next(6))) == (3, 0)
    assert ids.open == OpenSlots((5, 6), {5: 3}, {})


def test_ids_are_made_in_open_slots_only_and_from_then_on() -> None:
    ids = source()
    before = ids.next()
    ids.open = OpenSlots((5, 6), {}, {})

    made = [*(ids.next() for _ in range(50)), *ids.take(50)]

    assert {slot_of(each) for each in made} <= {5, 6}
    assert [before, *made] == sorted({before, *made})


def test_slots_that_stay_open_do_not_begin_a_millisecond_anew() -> None:
    clock = ManualClock()
    ids = source(clock)
    first = ids.next()
    slot = slot_of(first)
    ids.open = OpenSlots((slot,), {slot: 1}, {slot: clock.now()})

    following = ids.next()

    assert (counter_of(following), made_at(following)) == (counter_of(first) + 1, clock.now())


def test_a_long_list_is_spread_over_slots_only_where_some_are_closed() -> None:
    open_, some = source(), source()
    some.open = OpenSlots(tuple(range(100)), {}, {})

    assert len({slot_of(each) for each in open_.take(1500)}) == 1
    assert len({slot_of(each) for each in some.take(500)}) == 1
    assert len({slot_of(each) for each in some.take(1500)}) == 3
