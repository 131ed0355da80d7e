"""References to results: checked against the needs, filled in by path, and clear about what is missing."""

import tracemalloc

import pytest
from msgspec import Raw

from drumline.core.codec import decode, encode
from drumline.core.errors import Invalid
from drumline.core.limits import DEFAULT_LIMITS, Limits
from drumline.core.references import Reference, fill_in, find_references, parse_reference
from tests.harness.cost import within

RESULTS = {"extract": Raw(encode({"rows": [{"id": 7}, {"id": 8}], "name": None}))}


def filled(payload: object, results: dict[str, Raw] | None = None, limits: Limits = DEFAULT_LIMITS) -> object:
    known = RESULTS if results is None else results
    return decode(bytes(fill_in(encode(payload), ("extract",), known, limits)), object)


def refusal(payload: object, results: dict[str, Raw] | None = None, limits: Limits = DEFAULT_LIMITS) -> str:
    with pytest.raises(Invalid) as caught:
        filled(payload, results, limits)
    assert caught.value.field == "payload"
    return caught.value.message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("extract", {"rows": [{"id": 7}, {"id": 8}], "name": None}),
        ("extract.rows", [{"id": 7}, {"id": 8}]),
        ("extract.rows[0].id", 7),
        ("extract.rows[-1].id", 8),
        ("extract.name", None),
    ],
)
def test_a_reference_becomes_what_is_at_its_path(text: str, value: object) -> None:
    assert filled({"deep": [1, {"in": {"$result": text}}]}) == {"deep": [1, {"in": value}]}


def test_a_whole_payload_may_be_a_reference() -> None:
    assert filled({"$result": "extract.rows[1]"}) == {"id": 8}


def test_a_literal_is_taken_as_it_is() -> None:
    assert filled({"x": {"$literal": {"$result": "extract"}}}) == {"x": {"$result": "extract"}}


def test_what_merely_looks_like_a_reference_is_left_alone() -> None:
    same = {"x": {"$result": "extract", "more": 1}, "y": {"$result": 3}, "$result": "extract"}

    assert filled(same) == same
    assert find_references(same, ("extract",)) == []


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("extract.nothing", "extract.nothing"),
        ("extract.rows[2]", "extract.rows[2]"),
        ("extract.rows.id", "extract.rows.id"),
        ("extract.rows[0].id.more", "extract.rows[0].id.more"),
        ("extract[0]", "extract[0]"),
    ],
)
def test_a_path_that_leads_nowhere_is_named_up_to_where_it_ends(text: str, way: str) -> None:
    assert refusal({"x": {"$result": text}}) == f"the result of 'extract' has nothing at {way}"


def test_a_parent_without_a_result_is_named() -> None:
    assert refusal({"$result": "extract"}, {}) == "'extract' did not complete, so it has no result"


def test_what_becomes_too_large_or_too_deep_is_refused() -> None:
    assert "bytes of JSON with the results in it" in refusal({"$result": "extract"}, limits=Limits(payload=20))
    assert "levels deep" in refusal({"a": {"$result": "extract"}}, limits=Limits(nesting=3))


def test_a_small_payload_cannot_ask_for_a_large_result_without_end() -> None:
    payload = encode([{"$result": "extract"}] * 5000)
    tracemalloc.start()

    with pytest.raises(Invalid, match="with the results in it"):
        fill_in(payload, ("extract",), {"extract": Raw(encode("x" * 100_000))}, Limits())

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


def test_a_key_may_have_dots_and_brackets_and_the_longest_fits() -> None:
    parents = ("a", "a.b", "map[0]")

    assert parse_reference("a.b.c", parents) == Reference("a.b", ("c",))
    assert parse_reference("a.c", parents) == Reference("a", ("c",))
    assert parse_reference("map[0][1]", parents) == Reference("map[0]", (1,))


@pytest.mark.parametrize("text", ["other", "extractor", "extract.", "extract[x]", "extract.a..b", "", "extract rows"])
def test_a_reference_that_can_never_be_filled_in_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        find_references({"x": {"$result": text}}, ("extract",))

    assert caught.value.field == "payload"


@pytest.mark.parametrize("text", ["z." * 150_000, "z" + "[0]" * 100_000, "." * 300_000, "[" * 300_000])
def test_a_reference_without_end_is_refused_at_once(text: str) -> None:
    with pytest.raises(Invalid, match="characters"):
        within(0.2, lambda: find_references({"$result": text}, ["z"]))


def test_thousands_of_long_references_cost_time_in_proportion_to_their_length() -> None:
    texts = [{"$result": "z." * 495 + str(number)} for number in range(1000)]

    assert len(within(2, lambda: find_references(texts, ["z"]))) == 1000
