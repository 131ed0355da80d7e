"""Fair shares: the next task goes to whoever stands lowest."""

from drumline.core.fair_shares import STEP, Share, by_share, step_of


def order(waiting: dict[str, int], *shares: Share) -> str:
    return "".join(by_share({tenant: [tenant] * count for tenant, count in waiting.items()}, shares))


def test_tenants_that_stand_alike_take_turns() -> None:
    assert order({"a": 4, "b": 2}) == "ababaa"


def test_who_has_much_in_flight_comes_after_who_has_little() -> None:
    assert order({"a": 3, "b": 3}, Share("a", 2 * STEP)) == "bbabaa"


def test_who_was_served_last_is_next_only_after_those_who_stand_alike() -> None:
    assert order({"a": 1, "b": 1}, Share("a", 2), Share("b", 1)) == "ba"


def test_a_tenant_of_twice_the_weight_is_given_twice_as_much() -> None:
    given = order({"a": 30, "b": 30}, Share("a", 0, step_of(2)))

    assert given[:30].count("a") == 20


def test_what_one_cannot_use_goes_to_the_others() -> None:
    assert order({"a": 3, "b": 1}, Share("a", 9 * STEP)) == "baaa"
