"""Patterns with stars match what they should, in time that grows with the text alone."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumline.core.access import Caller, is_any
from drumline.core.globs import Globs
from drumline.core.provider import Provider, RoleRule, grant_of
from drumline.core.redaction import LONGEST_KNOWN, Redaction
from tests.harness.cost import within

few = st.text(alphabet="ab*", max_size=8)


@given(pattern=few, text=st.text(alphabet="ab", max_size=12))
def test_a_pattern_matches_what_the_regular_expression_of_it_does(pattern: str, text: str) -> None:
    expression = ".*".join(map(re.escape, pattern.split("*")))

    assert Globs([pattern]).match(text) is (re.fullmatch(expression, text, re.DOTALL) is not None)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("a*b*c", "abc", True), ("a*b*c", "axxbxxc", True), ("a*b*c", "ac", False), ("a*b*c", "axc", False),
        ("a*bb*bb*c", "abbc", False), ("a*bb*bb*c", "abbbc", False), ("a*bb*bb*c", "abbbbc", True),
        ("*ab*ab*", "abab", True), ("*ab*ab*", "aba", False), ("*ab*ba*", "aba", False), ("*ab*ba*", "abxba", True),
        ("a*bc*c", "abc", False), ("a*bc*c", "abcc", True), ("*x*y*", "yx", False), ("*x*y*", "yxy", True),
        ("a**c", "abc", True), ("*", "", True), ("a", "a", True), ("a", "ab", False), ("*b*", "abxbx", True),
        ("*a*b*c*", "cabxcb", True), ("a*b*", "ba", False),
    ],
)  # fmt: skip
def test_parts_between_stars_are_found_in_their_order_and_do_not_overlap(
    pattern: str, text: str, matches: bool
) -> None:
    assert Globs([pattern]).match(text) is matches


def test_prefix_and_suffix_may_not_overlap() -> None:
    assert [Globs(["aba*aba"]).match(text) for text in ("aba", "ababa", "abaaba", "abaxaba")] == [
        False, False, True, True,
    ]  # fmt: skip


@pytest.mark.parametrize("pattern", ["*a*a*a*a*ab", "*" * 200 + "ab", "*a" * 120 + "b", "a*" * 120 + "b"])
def test_no_pattern_of_a_key_takes_long(pattern: str) -> None:
    key = Caller("ada", names=(pattern,), queues=(pattern,))

    assert within(0.5, lambda: [key.may_run("a" * 255) for _ in range(100)]) == [False] * 100


def test_a_hundred_patterns_of_stars_do_not_take_long() -> None:
    patterns = tuple("*a" * 100 + "b" * number for number in range(1, 101))

    assert not within(1, lambda: any(is_any(patterns, "a" * 255) for _ in range(10)))


def test_the_claims_of_a_provider_are_matched_in_linear_time() -> None:
    rule = RoleRule(value="*a*a*a*a*ab", role="viewer")  # type: ignore[arg-type]
    provider = Provider(name="p", issuer="https://p", client_id="c", rules=(rule,))

    with pytest.raises(Exception, match="gives you a role"):
        within(0.5, lambda: grant_of(provider, {"groups": ["a" * 100_000]}))


def test_fields_with_many_stars_are_redacted_in_linear_time() -> None:
    redaction = Redaction(("*a*a*a*a*ab",))

    assert not within(0.5, lambda: redaction.hides("a" * 100_000))


def test_the_cache_of_redaction_does_not_keep_long_names() -> None:
    redaction = Redaction()

    for number in range(100):
        redaction.hides(f"{number:03}" + "x" * LONGEST_KNOWN)
    redaction.hides("password")

    assert redaction._known == {"password": True}


def test_repeated_stars_are_one_star() -> None:
    assert all(Globs(["a***b"]).match(f"a{middle}b") for middle in ("", "x", "***"))
