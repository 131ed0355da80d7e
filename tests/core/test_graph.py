"""Graphs: what cannot run is refused by name, layers follow the needs, and the longest way is found."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumline.core.errors import Invalid
from drumline.core.graph import MOST_NAMED, check_graph, critical_path, find_cycle, last_keys, layers

DIAMOND = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}


def refusal(needs: dict[str, tuple[str, ...]], most: int = 100) -> Invalid:
    with pytest.raises(Invalid) as caught:
        check_graph(needs, most=most)
    return caught.value


@st.composite
def acyclic(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    size = draw(st.integers(1, 12))
    keys = [f"k{number}" for number in range(size)]
    needs = {
        key: tuple(draw(st.lists(st.sampled_from(keys[:place]), unique=True))) if place else ()
        for place, key in enumerate(keys)
    }
    return {key: needs[key] for key in draw(st.permutations(keys))}


def test_a_diamond_is_accepted_and_laid_out_in_layers() -> None:
    check_graph(DIAMOND, most=4)

    assert layers(DIAMOND) == [["a"], ["b", "c"], ["d"]]


def test_an_unknown_parent_is_named_by_its_place() -> None:
    error = refusal({"a": (), "b": ("a", "nope")})

    assert error.field == "tasks.b.needs[1]"
    assert "'nope'" in error.message


def test_a_task_cannot_need_itself() -> None:
    assert refusal({"a": ("a",)}).field == "tasks.a.needs[0]"


def test_a_parent_named_twice_is_refused() -> None:
    assert refusal({"a": (), "b": ("a", "a")}).field == "tasks.b.needs[1]"


def test_an_empty_and_an_oversized_graph_are_refused() -> None:
    assert refusal({}).field == "tasks"
    assert refusal({f"k{n}": () for n in range(5)}, most=4).code == "too_many"


def test_a_cycle_is_told_in_order_beginning_with_the_first_given() -> None:
    error = refusal({"x": (), "c": ("b", "x"), "a": ("c",), "b": ("a",), "d": ("b",)})

    assert error.message == "form a cycle: c → a → b → c"
    assert (error.field, error.code) == ("tasks", "cycle")


def test_a_long_cycle_is_cut_in_the_middle() -> None:
    keys = [f"k{number}" for number in range(100)]
    needs: dict[str, tuple[str, ...]] = {key: (keys[place - 1],) for place, key in enumerate(keys)}

    message = refusal(needs).message

    assert message.startswith("form a cycle: k0 → k1 → ")
    assert "(80 more)" in message
    assert message.endswith(" → k99 → k0")


def test_a_chain_of_thousands_is_no_trouble() -> None:
    keys = [f"k{number}" for number in range(10_000)]
    needs: dict[str, tuple[str, ...]] = {key: (keys[place - 1],) if place else () for place, key in enumerate(keys)}

    check_graph(needs, most=10_000)

    assert len(layers(needs)) == 10_000
    assert critical_path(needs, dict.fromkeys(keys, 1.0)).length == 10_000


@given(acyclic())
def test_a_graph_without_a_cycle_has_none_and_its_layers_keep_the_order(needs: dict[str, tuple[str, ...]]) -> None:
    laid = layers(needs)

    assert find_cycle(needs) == ()
    place = {key: number for number, layer in enumerate(laid) for key in layer}
    assert sorted(place) == sorted(needs)
    for key, parents in needs.items():
        assert place[key] == max((place[parent] + 1 for parent in parents), default=0)


@given(acyclic(), st.data())
def test_an_added_way_back_is_found_as_a_cycle(needs: dict[str, tuple[str, ...]], data: st.DataObject) -> None:
    with_parents = [key for key, parents in needs.items() if parents]
    if not with_parents:
        return
    key = data.draw(st.sampled_from(with_parents))
    ancestor = data.draw(st.sampled_from(needs[key]))
    closed = {**needs, ancestor: (*needs[ancestor], key)}

    cycle = find_cycle(closed)

    assert len(cycle) > 1
    assert all(parent in closed[child] for parent, child in pairwise([*cycle, cycle[0]]))


@given(acyclic(), st.data())
def test_the_critical_path_is_the_longest_and_slack_is_what_may_be_lost(
    needs: dict[str, tuple[str, ...]], data: st.DataObject
) -> None:
    lasts = {key: float(data.draw(st.integers(0, 9))) for key in needs}

    found = critical_path(needs, lasts)

    assert sum(lasts[key] for key in found.keys) == found.length
    assert all(parent in needs[child] for parent, child in pairwise(found.keys))
    assert not needs[found.keys[0]]
    key = data.draw(st.sampled_from(list(needs)))
    later = critical_path(needs, {**lasts, key: lasts[key] + found.slack[key]})
    assert later.length == found.length
    assert critical_path(needs, {**lasts, key: lasts[key] + found.slack[key] + 1}).length == found.length + 1
    assert all(found.slack[each] == 0 for each in found.keys)


def test_what_took_no_time_belongs_to_the_critical_path_too() -> None:
    needs = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}

    assert critical_path(needs, {"a": 1.0, "b": 1.0, "c": 2.0, "d": 0.0}).keys == ("a", "c", "d")


def test_a_graph_that_is_too_dense_is_refused() -> None:
    needs = {**{f"a{n}": () for n in range(20)}, **{f"b{n}": tuple(f"a{m}" for m in range(20)) for n in range(20)}}

    check_graph(needs, most=100, most_edges=400)
    with pytest.raises(Invalid, match="more than 399 needs") as refused:
        check_graph(needs, most=100, most_edges=399)

    assert (refused.value.field, refused.value.code) == ("tasks", "too_many")


@pytest.mark.parametrize(
    ("needs", "message"),
    [
        ({}, "must have at least one task"),
        ({"a": ("a",)}, "is the task itself"),
        ({"first": (), "b": ("frist",)}, "there is no task 'frist' in this job; did you mean first?"),
        ({"a": (), "b": ("a", "a")}, "names 'a' twice"),
    ],
)
def test_what_is_wrong_with_a_graph_is_told(needs: dict[str, tuple[str, ...]], message: str) -> None:
    assert refusal(needs).message == message


@pytest.mark.parametrize(
    ("needs", "aside", "last"),
    [
        (DIAMOND, (), ("d",)),
        ({"a": (), "b": ()}, (), ("a", "b")),
        (DIAMOND, ("d",), ("b", "c")),
        ({"a": (), "b": ("a",)}, ("a", "b"), ("b",)),
        ({}, (), ()),
    ],
)
def test_a_run_is_for_what_no_other_task_needs(
    needs: dict[str, tuple[str, ...]], aside: tuple[str, ...], last: tuple[str, ...]
) -> None:
    assert last_keys(needs, aside) == last


def test_what_has_no_duration_takes_no_time() -> None:
    found = critical_path(DIAMOND, {"a": 2.0, "c": 3.0})
    assert (found.length, found.slack) == (5.0, {"a": 0.0, "b": 3.0, "c": 0.0, "d": 0.0})
    assert critical_path({}, {}).length == 0.0


@pytest.mark.parametrize("more", [0, 3])
def test_a_long_cycle_is_drawn_in_part(more: int) -> None:
    keys = [f"k{number}" for number in range(MOST_NAMED + more)]
    message = refusal({key: (keys[place - 1],) for place, key in enumerate(keys)}).message
    half = MOST_NAMED // 2
    drawn = [*keys[:half], "(3 more)", *keys[-half:]] if more else keys
    assert message.endswith(" → ".join([*drawn, keys[0]]))
