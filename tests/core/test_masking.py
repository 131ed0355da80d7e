"""Masking: values of secrets are found however they are usually written down."""

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from drumline.core.masking import MASK, Mask

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
