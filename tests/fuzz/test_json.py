"""JSON in payloads: its bounds, and the references to results and secrets in it."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Raw

from drumline.core.codec import check_json, encode, encode_canonical, is_deeper, without_nul
from drumline.core.errors import DrumlineError
from drumline.core.json_place import LONGEST_STEP, MOST_STEPS, JsonPlace
from drumline.core.limits import Limits
from drumline.core.references import Reference, fill_in, look_up, parse_reference
from drumline.core.secret_references import fill_in_secrets, find_secrets
from tests.fuzz.properties import accepted, fuzz, outcome, steps

steps_in = st.text(alphabet="abc -$é", min_size=1, max_size=5) | st.integers(-3, 3)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet="abc", max_size=2), inner, max_size=3),
    max_leaves=12,
)
near_json = st.text(alphabet='[]{}",:\\0a ', max_size=40).map(str.encode)


def depth(value: Any) -> int:
    """Return how deep a value nests."""
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@fuzz(200)
@given(st.binary(max_size=40) | near_json | values.map(encode), st.integers(0, 6))
@example(b"\xff", 3)
@example(b'"\\ud800"', 3)
@example(b"1e400", 3)
@example(b"9" * 5000, 3)
def test_json_within_its_bounds_is_the_value_that_another_reader_finds(raw: bytes, deepest: int) -> None:
    value = outcome(lambda: check_json(raw, field="payload", largest=30, deepest=deepest))

    if isinstance(value, DrumlineError):
        assert value.field == "payload"
        return
    assert len(raw) <= 30
    assert value == json.loads(raw)
    assert depth(value) <= deepest or len(raw) <= 2 * deepest


@fuzz()
@given(values, st.integers(0, 8))
def test_depth_is_found_in_as_many_rounds_as_levels_are_allowed(value: Any, levels: int) -> None:
    raw = encode(value)

    assert is_deeper(raw, levels) is (depth(value) > levels)
    assert steps(lambda: is_deeper(raw, levels)) <= levels + 8


@fuzz()
@given(values)
def test_equal_values_have_equal_canonical_texts(value: Any) -> None:
    turned = json.loads(json.dumps(value), object_pairs_hook=lambda pairs: dict(reversed(pairs)))

    assert encode_canonical(turned) == encode_canonical(value)
    assert b"\\u0000" not in encode(without_nul([value, "\0", {"\0": "a\0"}]))


@fuzz()
@given(st.from_regex(r"[a-z][a-z.\[\]0]{0,8}", fullmatch=True), st.lists(steps_in, max_size=6).map(tuple))
def test_a_reference_is_read_as_it_is_written(parent: str, path: tuple[str | int, ...]) -> None:
    text = parent + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)

    assert parse_reference(text, {parent}) == Reference(parent, path)


@fuzz()
@given(st.text(max_size=30) | st.from_regex(r"[ab](\.[a-c]{0,3}|\[-?\d{0,11}\]){0,4}", fullmatch=True), values)
@example("a" + "[0]" * 400, [])
@example("a[" + "9" * 500 + "]", [])
def test_a_path_leads_to_a_part_of_the_result_or_is_refused(text: str, result: Any) -> None:
    reference = accepted(lambda: parse_reference(text, {"a", "b"}))
    if reference is None:
        return

    found = accepted(lambda: (look_up(result, reference),))

    assert steps(lambda: accepted(lambda: parse_reference(text, {"a", "b"}))) <= 8 * len(text) + 50
    assert found is None or encode(found[0]) in encode(result)


@fuzz()
@given(values, values)
def test_results_stand_where_they_were_referred_to(before: Any, result: Any) -> None:
    payload = {"before": before, "in": [{"$result": "a"}, {"$literal": {"$result": "a"}}]}

    filled = accepted(lambda: fill_in(encode(payload), ("a",), {"a": Raw(encode(result))}, Limits()))

    assert filled is not None
    assert json.loads(bytes(filled)) == {"before": before, "in": [result, {"$result": "a"}]}


@fuzz()
@given(values, st.text(min_size=8, max_size=12), st.text(alphabet="ab ", max_size=4))
def test_secrets_stand_where_they_were_referred_to(before: Any, secret: str, around: str) -> None:
    wanted = {"$secret": "s", "format": around + "{}" + around}
    payload = [before, wanted, {"$literal": wanted}]

    assert [found.name for found in find_secrets(payload)] == ["s"]
    if secret.isprintable():
        filled = json.loads(bytes(fill_in_secrets(encode(payload), {"s": secret})))
        assert filled == [before, around + secret + around, wanted]


@fuzz()
@given(st.lists(st.text(max_size=150) | st.integers(), max_size=30))
def test_a_place_in_json_is_shown_in_bounded_length(path: list[str | int]) -> None:
    place = JsonPlace("payload")
    for step in path:
        place = place / step

    assert len(str(place)) <= MOST_STEPS * (LONGEST_STEP + 50)
    assert str(place).startswith("payload")
