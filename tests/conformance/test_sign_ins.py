"""What ends sign-ins before their time."""

import asyncio

from drumline.core.clock import ManualClock
from drumline.ports.sign_ins import SignInMark
from drumline.ports.store import Store


async def test_a_mark_is_found_with_the_time_at_which_it_was_left(store: Store, clock: ManualClock) -> None:
    left = await store.sign_ins.leave_marks([SignInMark("user ada", 60_000), SignInMark("sign-in 7", 60_000)])

    assert left == [True, True]
    assert await store.sign_ins.find_marks(["sign-in 7", "nobody", "user ada"]) == [clock.now(), None, clock.now()]


async def test_a_mark_left_again_is_not_new_and_counts_from_now(store: Store, clock: ManualClock) -> None:
    await store.sign_ins.leave_marks([SignInMark("user ada", 60_000)])
    clock.advance(30)

    assert await store.sign_ins.leave_marks([SignInMark("user ada", 60_000), SignInMark("user bob", 60_000)]) == [
        False,
        True,
    ]

    clock.advance(45)
    await store.sign_ins.leave_marks([SignInMark("another", 1000)])
    assert (await store.sign_ins.find_marks(["user ada"]))[0] == clock.now() - 45_000


async def test_marks_that_have_lasted_go(store: Store, clock: ManualClock) -> None:
    await store.sign_ins.leave_marks([SignInMark("short", 1000), SignInMark("long", 60_000)])
    clock.advance(2)

    await store.sign_ins.leave_marks([SignInMark("another", 1000)])

    assert await store.sign_ins.find_marks(["short"]) == [None]
    assert await store.sign_ins.find_marks(["long"]) != [None]


async def test_of_many_who_leave_the_same_mark_at_once_one_is_first(store: Store) -> None:
    told = await asyncio.gather(*(store.sign_ins.leave_marks([SignInMark("state 1", 60_000)]) for _ in range(8)))

    assert sorted(told) == [[False]] * 7 + [[True]]
