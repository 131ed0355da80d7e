"""Masking: values of secrets are found however they are usually written down."""

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from drumline.core.masking import CURRENT_MASK, MASK, Mask, masked

VALUE = 'pä"ss/w&rd <7>'


@pytest.mark.parametrize(
    "written",
    [
        VALUE,
        json.dumps(VALUE),
        json.dumps(VALUE, ensure_ascii=False),
        repr(VALUE),
        quote(VALUE),
        quote(VALUE, safe=""),
        quote_plus(VALUE),
        html.escape(VALUE),
        base64.b64encode(VALUE.encode()).decode(),
    ],
)
def test_a_value_is_found_however_it_is_written(written: str) -> None:
    shown = Mask([VALUE]).text(f"before {written} after")

    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert MASK in shown
    assert "ss/w" not in shown


@pytest.mark.parametrize("user", ["a", "ab", "abc", "abcd"])
def test_a_value_is_found_in_the_middle_of_base64(user: str) -> None:
    value = "correct horse battery"
    sent = base64.b64encode(f"{user}:{value}".encode()).decode()

    shown = Mask([value]).text(f"Authorization: Basic {sent}")

    assert base64.b64encode(value.encode()).decode()[4:20] not in shown
    assert MASK in shown
    assert len(shown) < 40


def test_each_line_of_a_value_of_several_lines_is_masked() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEF\n-----END KEY-----\n"

    shown = Mask([key]).text("line 1: MIIEvQIBADANBgkq\nline 2: hkiG9w0BAQEF, end")

    assert shown == f"line 1: {MASK}\nline 2: {MASK}, end"


def test_the_longer_of_two_values_goes_first() -> None:
    assert Mask(["abcd", "abcdefgh"]).text("abcdefgh abcd") == f"{MASK} {MASK}"


def test_a_value_that_was_cut_off_is_masked_as_far_as_it_goes() -> None:
    mask = Mask(["correct horse"])

    assert mask.text("it was corre") == f"it was {MASK}"
    assert mask.text("t horse, it was") == f"{MASK}, it was"
    assert mask.text("it was cor") == "it was cor"  # too little to tell


def test_json_is_masked_in_names_texts_and_numbers_and_stays_json() -> None:
    mask = Mask(["123456", 'a"b"c'])
    raw = Raw(json.dumps({'a"b"c': ["x 123456 y", 123456, 9, None, True], "n": 1234567.5}).encode())

    assert json.loads(bytes(mask.json(raw))) == {MASK: [f"x {MASK} y", MASK, 9, None, True], "n": MASK}


def test_json_without_values_comes_back_as_it_was() -> None:
    raw = Raw(b'{"a":  1}')

    assert mask_json(raw) is raw


def mask_json(raw: Raw) -> Raw:
    return Mask(["secret"]).json(raw)


@given(st.text(min_size=4, max_size=40), st.text(max_size=30), st.text(max_size=30))
def test_no_text_keeps_a_value_that_was_in_it(value: str, before: str, after: str) -> None:
    if value.strip() != value or value in MASK * 20:
        return

    assert value not in Mask([value]).text(before + value + after)


@given(st.text(min_size=4, max_size=20), st.lists(st.text(max_size=6), max_size=8), st.integers(0, 20))
def test_the_beginning_of_a_value_at_the_end_is_known(value: str, words: list[str], cut: int) -> None:
    text = "".join(words) + value[: cut % len(value)]

    assert Mask([value]).begun(text) >= cut % len(value)


FORMS = {
    "plain": VALUE, "json": json.dumps(VALUE, ensure_ascii=False)[1:-1], "ascii": json.dumps(VALUE)[1:-1],
    "url": quote(VALUE), "part of a url": quote(VALUE, safe=""), "query": quote_plus(VALUE), "html": html.escape(VALUE),
}  # fmt: skip


@pytest.mark.parametrize("written", FORMS.values(), ids=FORMS)
def test_nothing_of_a_value_is_left_however_it_is_written(written: str) -> None:
    assert Mask([VALUE]).text(f"({written})") == f"({MASK})"


def test_nothing_of_a_value_is_left_as_python_writes_it() -> None:
    value = 'it\'s\ta "secret"'
    assert Mask([value]).text(f"({repr(value)[1:-1]})") == f"({MASK})"


def test_a_value_is_found_without_the_space_around_it() -> None:
    assert Mask(["  correct horse\n"]).text("(correct horse)") == f"({MASK})"


@pytest.mark.parametrize(
    ("value", "text", "shown"),
    [
        ("abc", "abc", "abc"),
        ("abcd", "(abcd)", f"({MASK})"),
        ("first\n12345678", "(12345678)", f"({MASK})"),
        ("first\n1234567", "(1234567)", "(1234567)"),
        ("abcdab", "abcdab", MASK),
    ],
)
def test_values_and_lines_that_are_too_short_to_tell_are_left(value: str, text: str, shown: str) -> None:
    assert Mask([value]).text(text) == shown


@pytest.mark.parametrize("before", ["", "x", "xy"])
@pytest.mark.parametrize("value", ["correct horse", "correct horses", "correct horse 1", "fünf???>>>"])
def test_all_of_base64_that_is_sure_to_be_the_value_is_masked(before: str, value: str) -> None:
    data = value.encode()
    written = base64.b64encode(before.encode() + data + b"zz").decode()
    start, end = len(before), len(before) + len(data)
    first, last = -(-start * 8 // 6), end * 8 // 6
    for text in (written, written.translate(str.maketrans("+/", "-_"))):
        assert Mask([value]).text(f"({text})") == f"({text[:first]}{MASK}{text[last:]})"


@pytest.mark.parametrize(("data", "is_masked"), [(b"123456", True), (b"12345", False)])
def test_a_short_piece_of_base64_is_left(data: bytes, is_masked: bool) -> None:
    written = base64.b64encode(data).decode()
    assert (MASK in Mask([data.decode()]).text(f"({written})")) is is_masked


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("it was corr", f"it was {MASK}"),
        ("it was correct hors", f"it was {MASK}"),
        ("c c co cor corr", f"c c co cor {MASK}"),
        ("corr correct hor", f"corr {MASK}"),
        ("it was correct hers", "it was correct hers"),
        ("correct hors", MASK),
        ("orse, it was", f"{MASK}, it was"),
        ("rse, it was", "rse, it was"),
        ("orrect horse, it was", f"{MASK}, it was"),
        ("orse or the rest, horse", f"{MASK} or the rest, horse"),
        ("arrect horse, it was", "arrect horse, it was"),
        ("e horse", "e horse"),
        ("orse corr", f"{MASK} {MASK}"),
        ("it was ccorrec", f"it was c{MASK}"),
        ("c correc", f"c {MASK}"),
        ("rect horse ex", f"{MASK} ex"),
        ("horsee", f"{MASK}e"),
    ],
)
def test_pieces_of_a_value_are_masked_where_a_text_was_cut(text: str, shown: str) -> None:
    assert Mask(["correct horse"]).text(text) == shown


def test_the_longest_piece_of_several_values_is_masked() -> None:
    mask = Mask(["abcdefgh", "xabcdefghij", "cdefghi!"])
    assert mask.text("- xabcdefg") == f"- {MASK}"
    assert mask.text("efghi! -") == f"{MASK} -"
    assert mask.begun("- xabc") == 4
    assert mask.begun("- cde") == 3
    assert mask.begun("- nothing") == 0


def test_a_value_that_repeats_itself_is_masked_as_far_as_it_goes() -> None:
    mask = Mask(["aaaabaaaa"])
    assert mask.begun("xaaaab") == 5
    assert mask.text("x aaaabaaa") == f"x {MASK}"
    assert mask.text("aaabaaaa x") == f"{MASK} x"


def test_a_text_that_goes_on_is_masked_without_what_may_be_the_beginning_of_a_value() -> None:
    mask = Mask(["correct horse"])
    assert mask.complete("(correct horse) corr") == f"({MASK}) corr"
    assert Mask([]).complete("correct horse") == "correct horse"
    assert Mask([]).text("correct horse") == "correct horse"


def test_what_is_written_in_an_attempt_is_masked_with_its_secrets() -> None:
    assert masked("(correct horse)") == "(correct horse)"
    token = CURRENT_MASK.set(Mask(["correct horse"]))
    try:
        assert masked("(correct horse)") == f"({MASK})"
    finally:
        CURRENT_MASK.reset(token)


@pytest.mark.parametrize("value", ['a"b"c', "tab\there", "back\\slash"])
def test_values_that_json_escapes_are_found_in_it(value: str) -> None:
    raw = Raw(json.dumps({"a": f"({value})"}).encode())
    assert json.loads(bytes(Mask([value]).json(raw))) == {"a": f"({MASK})"}
