"""What values of filters mean to the millisecond, and what is said of those that mean nothing."""

from typing import Any

import pytest

from drumline.core.clock import Instant
from drumline.core.errors import Invalid
from drumline.core.filter_syntax import LONGEST_SHOWN, MOST_TERMS, MOST_VALUES, scan
from drumline.core.filter_values import (
    Stretch,
    json_test,
    member,
    number_of,
    one_value,
    part_of,
    pattern_of,
    span,
    stretch_of,
    whole,
)

NOW = Instant(1_790_000_000_000)
HOUR = 3_600_000
DAY = 24 * HOUR
OCTOBER = 1_790_812_800_000
"""2026-10-01, midnight in UTC."""


def refusal(text: str) -> str:
    with pytest.raises(Invalid) as caught:
        scan(text)
    assert caught.value.field == "filter"
    return caught.value.message


def stretch(text: str) -> Stretch:
    (term,) = scan(text)
    return stretch_of(term, NOW)


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("at>2h", NOW - 2 * HOUR + 1, None),
        ("at>=2h", NOW - 2 * HOUR, None),
        ("at<2h", None, NOW - 2 * HOUR),
        ("at<=2h", None, NOW - 2 * HOUR + 1),
        ("at:2h", NOW - 2 * HOUR, None),
        ("at>+2h", NOW + 2 * HOUR + 1, None),
        ("at<=now", None, NOW + 1),
        ("at<36000d", None, 0),
        ("at:2026-10-01", OCTOBER, OCTOBER + DAY),
        ("at=2026-10-01", OCTOBER, OCTOBER + DAY),
        ("at>2026-10-01", OCTOBER + 1, None),
        ("at<=2026-10-01", None, OCTOBER + 1),
        ("at>=2026-10-01T09:00:00Z", OCTOBER + 9 * HOUR, None),
        ("at<2026-10-01T09:00:00", None, OCTOBER + 9 * HOUR),
        ("at<2026-10-01T09:00:00+02:00", None, OCTOBER + 7 * HOUR),
    ],
)
def test_a_term_means_a_stretch_of_time(text: str, since: int | None, until: int | None) -> None:
    assert stretch(text) == Stretch(since, until)


NO_STRETCH = "takes > or <, a duration such as 2h, or a day such as 2026-10-01"
NO_TIME = "is not a time: use a duration such as 2h, +2h, a day, or 2026-10-01T09:00:00Z"
NO_MOMENT = "is not a time such as 2026-10-01T09:00:00Z"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("at:now", NO_STRETCH),
        ("at:+2h", NO_STRETCH),
        ("at=2026-10-01T09:00:00Z", NO_STRETCH),
        ("at>soon", NO_TIME),
        ("at:2x", NO_TIME),
        ("at>2026-13-01", NO_MOMENT),
        ("at>2026-10-01T25:00:00Z", NO_MOMENT),
        ("at>0001-01-01", NO_MOMENT),
        ("at>1h,2h", "takes one value"),
    ],
)
def test_a_time_that_means_nothing_is_refused_with_what_would(text: str, why: str) -> None:
    with pytest.raises(Invalid) as caught:
        stretch(text)
    assert (caught.value.field, caught.value.message) == ("filter", f"at character 1, {text}: {why}")


@pytest.mark.parametrize(
    ("since", "until", "at", "has"),
    [
        (5, 9, 4, False), (5, 9, 5, True), (5, 9, 8, True), (5, 9, 9, False), (None, 9, 0, True), (5, None, 99, True),
        (None, None, 0, True), (None, None, None, False),
    ],
)  # fmt: skip
def test_a_stretch_has_its_beginning_and_not_its_end(
    since: int | None, until: int | None, at: int | None, has: bool
) -> None:
    assert Stretch(since, until).has(at) is has


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("-5", -5), ("1234567890", 1234567890), ("-123456789", -123456789)]
)
def test_a_whole_number_has_up_to_ten_characters(text: str, number: int) -> None:
    assert whole(text) == number


@pytest.mark.parametrize("text", ["", "-", "5-", "--5", "12345678901", "1.5", "x", "٣"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        whole(text)
    assert caught.value.message == "must be a number"


def test_a_duration_is_in_milliseconds_and_one_that_is_none_is_refused_as_part_of_the_filter() -> None:
    assert span("1h30m") == 90 * 60_000
    with pytest.raises(Invalid) as caught:
        span("x")
    assert caught.value.field == "filter"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('t:"a*"', {"a*"}), ("t:a*", {"a*", "ab"}), ("t:a*,x", {"a*", "ab", "x"}), ("t:ab", {"ab"}), ("t:b", set()),
    ],
)  # fmt: skip
def test_a_star_stands_for_any_text_unless_it_is_quoted(text: str, found: set[str]) -> None:
    (term,) = scan(text)
    assert set(filter(pattern_of(term.values), ["a*", "ab", "x", "xab"])) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("t:AB", {"ab", "xABx"}), ("t:a*c", {"aXXc", "xa c", "A*C"}), ('t:"a*c"', {"A*C"}),
        ("t:a*c,b", {"ab", "xABx", "aXXc", "xa c", "A*C"}), ("t:zz", set()), ("t:X*", {"xABx", "aXXc", "xa c"}),
    ],
)  # fmt: skip
def test_a_part_of_a_text_in_lower_case_is_found_in_letters_of_either_case(text: str, found: set[str]) -> None:
    (term,) = scan(text)
    has = part_of(term.values)
    assert {each for each in ("ab", "xABx", "aXXc", "xa c", "A*C", "other") if has(each.lower())} == found


@pytest.mark.parametrize(
    ("text", "found"),
    [("n>5", [6]), ("n>=5", [5, 6]), ("n<5", [4]), ("n<=5", [4, 5]), ("n:5", [5]), ("n=4,6", [4, 6])],
)
def test_numbers_are_compared(text: str, found: list[int]) -> None:
    (term,) = scan(text)
    assert list(filter(number_of(term, whole), [4, 5, 6])) == found


def test_a_comparison_takes_one_value() -> None:
    (term,) = scan("n>5,6")
    with pytest.raises(Invalid, match=r"at character 1, n>5,6: takes one value$"):
        one_value(term)


def test_a_number_that_is_none_is_refused_with_its_term() -> None:
    (_, term) = scan("x n:5,y")
    with pytest.raises(Invalid, match=r"^filter: at character 3, n:5,y: must be a number$"):
        number_of(term, whole)


LONG = "1" * 32


@pytest.mark.parametrize(
    ("text", "value", "matches"),
    [
        ("p:5", 5, True), ("p:5", "5", True), ("p:5", 5.0, True), ("p:5", 6, False), ("p:-5", -5, True),
        ('p:"5"', 5, False), ("p:true", True, True), ("p:true", 1, False), ("p:1", True, False), ("p:null", None, True),
        ("p:false", None, False), ('p:"null"', None, False), ("p:1.5", 1.5, True), ("p:1e3", 1000, True),
        ("p:inf", float("inf"), False), ("p:nan", 5, False), ("p>5", 6, True), ("p>5", 5, False), ("p>5", True, False),
        ("p>5", "6", True), ("p>5", None, False), ("p>x", 6, False), ("p>x", "y", True), ("p>-5", -4, True),
        ("p<inf", 5, False), ("p:5", [4, 5], True), ("p:5", [4, 6], False), ("p:5", [], False),
        ("p:a*", ["x", "ab"], True), (f"p:{LONG}", int(LONG), True), (f"p:{LONG}1", int(LONG + "1"), False),
        ("p:9007199254740993", 9007199254740992, False),
        ("p:٣", 3, False), ("p>٣", 4, False), ("p:5-", 5, False), ("p:5", {"a": 5}, False),
    ],
)  # fmt: skip
def test_values_of_payloads_are_compared_by_their_type(text: str, value: Any, matches: bool) -> None:
    (term,) = scan(text)
    assert json_test(term)(value) is matches


@pytest.mark.parametrize(
    ("value", "path", "found"),
    [
        ({"a": {"b": 5}}, ("a", "b"), (5,)),
        ({"a": None}, ("a",), (None,)),
        ({"a": 5}, ("b",), ()),
        ({"a": 5}, ("a", "b"), ()),
        ([4, 5], ("0",), (4,)),
        ([4, 5], ("1",), (5,)),
        ([4, 5], ("2",), ()),
        ([4, 5], ("-1",), ()),
        ([4, 5], ("x",), ()),
        ([4, 5], ("000001",), (5,)),
        ([4, 5], ("0000001",), ()),
        ({"0": 5}, ("0",), (5,)),
        (5, (), (5,)),
    ],
)
def test_a_path_leads_into_objects_and_lists(value: Any, path: tuple[str, ...], found: tuple[Any, ...]) -> None:
    assert member(value, path) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a "x"y b', 'at character 3, "x"y: a space has to follow a quoted value'),
        ('a:"x"y', 'at character 1, a:"x"y: a space has to follow a quoted value'),
        ("a: b", "at character 1, a:: a value is missing"),
        ("b a:x,", "at character 3, a:x,: a value is missing"),
        ('b a:"x', 'at character 5, "x: the closing quote is missing'),
        ('b a:"x\\', 'at character 5, "x\\: the closing quote is missing'),
        ('b a:"" c', 'at character 3, a:"": a value is empty'),
        ('x"y', 'at character 1, x"y: a space has to follow a quoted value'),
    ],
)
def test_what_is_wrong_with_a_filter_is_said_with_its_term_and_place(text: str, message: str) -> None:
    assert refusal(text) == message


def test_a_long_term_is_repeated_in_part() -> None:
    longest = "a:" + "x" * (LONGEST_SHOWN - 3) + ","
    assert refusal(longest) == f"at character 1, {longest}: a value is missing"
    assert refusal(f"{longest},") == f"at character 1, {longest}…: a value is missing"


def test_terms_and_values_of_a_filter_are_counted_together() -> None:
    terms = " ".join(["t"] * MOST_TERMS)
    assert len(scan(terms)) == MOST_TERMS
    assert refusal(f"{terms} t").endswith(f": there are more than {MOST_TERMS} terms")
    half = ",".join(["v"] * (MOST_VALUES // 2))
    assert len(scan(f"a:{half} b:{half}")) == 2
    assert refusal(f"a:{half} b:{half},v").endswith(f": there are more than {MOST_VALUES} values")
