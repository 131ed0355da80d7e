"""Which database has which slot, and which slots take new work."""

from random import Random
from zlib import crc32

from drumline.core.ids import id_above
from drumline.core.shard_map import DIRECTORY, ShardMap, SlotEntry
from drumline.core.slots import ALL_OPEN, SLOTS, OpenSlots, slot_of, slot_of_key

MOVED = ShardMap(
    3,
    {
        5: (SlotEntry("main"), SlotEntry("east", 1000, 1), SlotEntry("west", 2000, 2), SlotEntry("east", 3000, 3)),
        6: (SlotEntry("west", 500, 1),),
    },
)


def made(ms: int, slot: int) -> str:
    return f"{id_above(ms - 1)[:20]}{slot:03x}000000000"


def test_what_was_made_at_a_time_is_held_by_the_shard_of_that_time() -> None:
    times = (0, 999, 1000, 1999, 2000, 2999, 3000, 9999)

    assert [MOVED.holder(made(ms, 5)) for ms in times] == [
        "main", "main", "east", "east", "west", "west", "east", "east",
    ]  # fmt: skip
    assert MOVED.holder(made(9, 6)) == "west"  # before its history begins: the first who had it
    assert MOVED.holder(made(9, 7)) == DIRECTORY


def test_a_slot_that_never_moved_is_the_directorys() -> None:
    assert MOVED.history(7) == (SlotEntry("main", 0, 0),)
    assert MOVED.entry(7) == SlotEntry("main")
    assert MOVED.entry(5) == SlotEntry("east", 3000, 3)


def test_former_holders_come_newest_first_and_each_once() -> None:
    assert MOVED.former(5) == ("west", "main")
    assert MOVED.former(6) == ()
    assert MOVED.former(7) == ()


def test_the_present_entries_are_those_of_each_slot_by_its_number() -> None:
    assert MOVED.entries() == [MOVED.entry(slot) for slot in range(SLOTS)]


def test_open_slots_are_those_that_a_shard_has_now() -> None:
    assert MOVED.open_slots("east") == OpenSlots((5,), {5: 3}, {5: 3000})
    assert MOVED.open_slots("west") == OpenSlots((6,), {6: 1}, {6: 500})
    directory = MOVED.open_slots(DIRECTORY)
    assert directory.slots == tuple(slot for slot in range(SLOTS) if slot not in {5, 6})
    assert (directory.versions, directory.since) == ({}, {})
    assert ShardMap().open_slots(DIRECTORY).slots is None
    assert ShardMap().open_slots("east").slots == ()


def test_slots_are_counted_by_shard() -> None:
    assert MOVED.counts() == {"main": SLOTS - 2, "east": 1, "west": 1}


def test_a_slot_is_in_the_twelve_bits_behind_the_variant() -> None:
    assert slot_of("00000000-0000-7000-8abc-000000000000") == 0xABC
    assert slot_of("00000000-0000-7fff-9001-ffffffffffff") == 1


def test_a_name_has_the_slot_of_its_tenant_and_text() -> None:
    assert slot_of_key("acme", "a\ud800") == crc32(b"acme\0a\xed\xa0\x80") % SLOTS
    assert slot_of_key("a", "bc") != slot_of_key("ab", "c")


def test_new_work_goes_to_an_open_slot_and_to_the_better_of_two() -> None:
    random = Random(1)
    better = OpenSlots((3, 9), better=max)

    assert {OpenSlots((3, 9)).choose(random) for _ in range(50)} == {3, 9}
    picked = [better.choose(random) for _ in range(400)]
    assert 0 < picked.count(3) < 160  # both picks must be 3
    assert {ALL_OPEN.choose(random) < SLOTS for _ in range(50)} == {True}
    assert len({ALL_OPEN.choose(random) for _ in range(50)}) > 40
    assert 0 <= OpenSlots(()).choose(random) < SLOTS
    assert len({OpenSlots(()).choose(random) for _ in range(50)}) > 40


def test_a_slot_is_open_where_all_are_or_where_it_is_listed() -> None:
    assert 7 in ALL_OPEN
    assert 3 in OpenSlots((3, 9))
    assert 7 not in OpenSlots((3, 9))
    assert 7 not in OpenSlots(())
