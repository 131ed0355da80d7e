"""What shards should give each other of a limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumline.core.flow import FlowLimit
from drumline.core.limit_shares import Amount, Ceiling, Gift, Holding, Share, Split, allowed, allowed_here, plan


def holding(share: int, used: int = 0, waiting: int = 0, *, starts: bool = False) -> Holding:
    return Holding(
        limit=1,
        key=None,
        share=Amount(0, share) if starts else Amount(share),
        used=Amount(0, used) if starts else Amount(used),
        waiting=waiting,
        counts_running=not starts,
        counts_starts=starts,
    )


def gifts(turn: int = 0, **shards: Holding) -> dict[tuple[str, str], int]:
    planned = plan({name: [each] for name, each in shards.items()}, turn=turn)
    return {
        (giver, gift.taker): gift.amount.running + gift.amount.starts
        for giver, given in planned.gifts.items()
        for gift in given
    }


def ceilings(turn: int = 0, **shards: Holding) -> dict[str, int | None]:
    planned = plan({name: [each] for name, each in shards.items()}, turn=turn)
    return {name: asked[0].running for name, asked in planned.ceilings.items() if asked}


def test_what_is_not_in_use_goes_to_where_tasks_wait() -> None:
    assert gifts(main=holding(5), pg2=holding(0, waiting=2)) == {("main", "pg2"): 2}
    assert gifts(main=holding(5, used=4), pg2=holding(0, waiting=3), pg3=holding(2)) == {
        ("main", "pg2"): 1,
        ("pg3", "pg2"): 2,
    }


def test_nothing_moves_where_nobody_waits() -> None:
    assert gifts(main=holding(0), pg2=holding(5), pg3=holding(1, used=1)) == {}


def test_all_that_wait_get_equal_parts() -> None:
    assert gifts(main=holding(9, waiting=50), pg2=holding(0, waiting=50), pg3=holding(0, waiting=50)) == {
        ("main", "pg2"): 3,
        ("main", "pg3"): 3,
    }
    assert gifts(main=holding(9, waiting=50), pg2=holding(0, waiting=1), pg3=holding(0, waiting=50)) == {
        ("main", "pg3"): 4,
        ("main", "pg2"): 1,
    }


def test_a_busy_shard_is_asked_to_use_less() -> None:
    assert gifts(main=holding(4, used=4, waiting=9), pg2=holding(0, waiting=9)) == {}
    assert ceilings(main=holding(4, used=4, waiting=9), pg2=holding(0, waiting=9)) == {"main": 2}
    assert ceilings(main=holding(4, used=4), pg2=holding(2, used=2)) == {}


def test_what_is_free_is_given_before_anybody_is_asked() -> None:
    shards = {
        "main": holding(4, used=4, waiting=9),
        "pg2": holding(0, waiting=9),
        "pg3": holding(2),
    }

    assert gifts(0, **shards) == {("pg3", "pg2"): 2}
    assert ceilings(0, **shards) == {"main": 3}


def test_with_less_than_one_for_each_they_take_turns() -> None:
    shards = {"main": holding(1, used=1, waiting=5), "pg2": holding(0, waiting=5), "pg3": holding(0, waiting=5)}

    assert [ceilings(turn, **shards) for turn in range(4)] == [{}, {"main": 0}, {"main": 0}, {}]
    free = {"main": holding(0, waiting=5), "pg2": holding(1), "pg3": holding(0, waiting=5)}
    assert [gifts(turn, **free) for turn in range(2)] == [{("pg2", "main"): 1}, {("pg2", "pg3"): 1}]


def test_the_directory_gets_back_what_a_lower_limit_took_from_it() -> None:
    assert gifts(main=holding(-2), pg2=holding(4, used=1)) == {("pg2", "main"): 2}
    assert gifts(main=holding(-2), pg2=holding(4, used=4, waiting=9)) == {}
    assert ceilings(main=holding(-2), pg2=holding(4, used=4, waiting=9)) == {"pg2": 2}


def test_rates_and_running_tasks_move_apart() -> None:
    both = Holding(
        limit=1, key="k", share=Amount(3, 3), used=Amount(3, 1), waiting=0, counts_running=True, counts_starts=True
    )
    other = Holding(
        limit=1, key="k", share=Amount(1, 0), used=Amount(0, 0), waiting=1, counts_running=True, counts_starts=True
    )

    planned = plan({"main": [both], "pg2": [other]}, turn=0)

    assert planned.gifts["main"] == [Gift(taker="pg2", limit=1, key="k", amount=Amount(0, 1))]
    assert planned.ceilings == {"main": [], "pg2": []}


def test_a_limit_is_what_its_share_and_ceiling_leave() -> None:
    whole = FlowLimit(tenant="t", name="n", max_concurrent=5, rate=9, period_ms=1000)
    rest = FlowLimit(tenant="t", name="n", max_concurrent=5, rate=9, period_ms=1000, split=Split.REST)
    copy = FlowLimit(tenant="t", name="n", max_concurrent=5, period_ms=1000, split=Split.COPY)
    share = Share(Amount(-2, -3), running_ceiling=1)

    assert allowed(whole, share) == whole
    assert (allowed(rest, share).max_concurrent, allowed(rest, share).rate) == (1, 6)
    assert (allowed(copy, Share(Amount(2, 2))).max_concurrent, allowed(copy, Share(Amount(2, 2))).rate) == (2, None)
    assert allowed(copy, Share()).max_concurrent == 0


HOLDINGS = st.builds(holding, st.integers(-5, 20), st.integers(0, 12), st.integers(0, 30))


@given(st.dictionaries(st.sampled_from(["main", "pg2", "pg3", "pg4"]), HOLDINGS, min_size=2), st.integers(0, 9))
def test_nobody_gives_what_it_uses_or_more_than_the_taker_can_use(shards: dict[str, Holding], turn: int) -> None:
    given_ = gifts(turn, **shards)
    total = sum(each.share.running for each in shards.values())

    for name, each in shards.items():
        out = sum(part for (giver, _), part in given_.items() if giver == name)
        into = sum(part for (_, taker), part in given_.items() if taker == name)
        assert not out or out <= each.share.running - each.used.running
        assert not (out and into)
        assert not into or each.share.running + into <= max(each.used.running + each.waiting, 0)
    for name, ceiling in ceilings(turn, **shards).items():
        assert ceiling is not None
        assert 0 <= ceiling < shards[name].share.running
    if total > 0 and all(each.used.running == 0 for each in shards.values()):
        waiting = [name for name, each in shards.items() if each.waiting]
        after = {
            name: each.share.running
            + sum(part for (_, taker), part in given_.items() if taker == name)
            - sum(part for (giver, _), part in given_.items() if giver == name)
            for name, each in shards.items()
        }
        assert not waiting or any(after[name] > 0 for name in waiting)


def test_an_asked_shard_is_not_asked_for_more_than_is_missing() -> None:
    planned = plan({"main": [holding(10, used=10, waiting=99)], "pg2": [holding(0, waiting=2)]}, turn=0)

    assert planned.ceilings["main"] == [Ceiling(limit=1, key=None, running=8)]


@pytest.mark.parametrize(
    ("found", "is_so"),
    [
        (holding(3, used=1, waiting=2), False),
        (holding(3, used=1, waiting=3), True),
        (holding(3, used=4, waiting=0), False),
        (holding(0, used=4, waiting=1), True),
        (holding(0), False),
        (holding(-1), True),
        (holding(3, used=1, waiting=2, starts=True), False),
        (holding(3, used=1, waiting=3, starts=True), True),
        (holding(-1, starts=True), True),
    ],
)
def test_a_shard_is_short_if_more_wait_than_there_is_room_for(found: Holding, is_so: bool) -> None:
    assert found.is_short is is_so


def test_a_shard_is_short_by_what_its_limit_counts_only() -> None:
    both = Holding(
        limit=1, key="k", share=Amount(1, 9), used=Amount(0, 0), waiting=2, counts_running=False, counts_starts=True
    )

    assert not both.is_short
    assert not holding(0, waiting=0).is_short
    assert both.about == (1, "k")


def test_an_amount_is_something_if_either_part_is() -> None:
    assert [bool(amount) for amount in (Amount(), Amount(1), Amount(0, 1), Amount(1, 1))] == [False, True, True, True]


def test_the_limit_of_a_slot_has_the_numbers_of_its_share() -> None:
    copy = FlowLimit(tenant="t", name="n", max_concurrent=5, rate=7, period_ms=1000, split=Split.COPY, id=3)
    shares = {(3, 8): Share(Amount(2, 4), starts_ceiling=1), (3, 9): Share(Amount(4, 4), running_ceiling=9)}

    found = [allowed_here({3: copy}, shares, (3, key)) for key in (8, 9, 10)]

    assert [(each.max_concurrent, each.rate) for each in found] == [(2, 1), (4, 4), (0, 0)]


def test_several_limits_and_keys_are_planned_apart() -> None:
    def of(limit: int, key: str | None, share: int, waiting: int = 0) -> Holding:
        return Holding(
            limit=limit, key=key, share=Amount(share), used=Amount(), waiting=waiting, counts_running=True,
            counts_starts=False,
        )  # fmt: skip

    planned = plan(
        {"main": [of(1, None, 3), of(2, "a", 3), of(2, "b", 0, 1)], "pg2": [of(1, None, 0, 2), of(2, "b", 3)]}, turn=0
    )

    assert planned.gifts == {
        "main": [Gift(taker="pg2", limit=1, key=None, amount=Amount(2))],
        "pg2": [Gift(taker="main", limit=2, key="b", amount=Amount(1))],
    }
    assert planned.ceilings == {"main": [], "pg2": []}


def test_keys_take_their_turns_at_different_shards() -> None:
    def of(key: str, share: int) -> Holding:
        return Holding(
            limit=1, key=key, share=Amount(share), used=Amount(share), waiting=5, counts_running=True,
            counts_starts=False,
        )  # fmt: skip

    def kept(key: str, turn: int) -> bool:
        return plan({"main": [of(key, 1)], "pg2": [of(key, 0)]}, turn=turn).ceilings["main"] == []

    assert {key: kept(key, 0) for key in "abcd"} == {key: kept(key, 2) for key in "abcd"}
    assert {kept(key, 0) for key in "abcd"} == {True, False}
    assert all(kept(key, 0) is not kept(key, 1) for key in "abcd")


def test_a_ceiling_names_what_it_is_about() -> None:
    busy = {
        "main": Holding(
            limit=4, key="k", share=Amount(4, 6), used=Amount(4, 6), waiting=9, counts_running=True, counts_starts=True
        ),
        "pg2": Holding(
            limit=4, key="k", share=Amount(), used=Amount(), waiting=9, counts_running=True, counts_starts=True
        ),
    }

    planned = plan({name: [each] for name, each in busy.items()}, turn=0)

    assert planned.ceilings == {"main": [Ceiling(limit=4, key="k", running=2, starts=3)], "pg2": []}


def test_of_an_uneven_rest_whoever_has_more_keeps_it() -> None:
    shards = {"main": holding(2, used=2, waiting=9), "pg2": holding(3, used=3, waiting=9)}

    assert [ceilings(turn, **shards) for turn in range(3)] == [{}, {}, {}]
    assert ceilings(0, main=holding(1, used=1, waiting=9), pg2=holding(4, used=4, waiting=9)) == {"pg2": 3}


def test_those_that_want_little_get_all_of_it_and_the_others_share_the_rest() -> None:
    shards = {
        "main": holding(10, waiting=20), "pg2": holding(0, waiting=2), "pg3": holding(0, waiting=3),
        "pg4": holding(0, waiting=20),
    }  # fmt: skip

    assert gifts(0, **shards) == {("main", "pg2"): 2, ("main", "pg3"): 3, ("main", "pg4"): 2}
