"""What the reference says of request fields."""

import re

import pytest
from msgspec import Meta

from drumline.core.field_schema import (
    LINE_PATTERN,
    NOTE,
    Schema,
    about,
    duration,
    duration_schemas,
    given,
    line,
    line_schema,
    moment,
    page_cursor,
)


def note(meta: Meta) -> Schema:
    assert meta.extra is not None
    found: Schema = meta.extra[NOTE]
    return found


def test_a_field_is_described_by_a_sentence_and_what_its_type_does_not_say() -> None:
    assert note(about("A sentence.", minimum=1)) == {"description": "A sentence.", "minimum": 1}
    assert note(about(minimum=1)) == {"minimum": 1}


def test_a_line_of_text_has_a_length_and_a_pattern() -> None:
    schema = {"type": "string", "minLength": 1, "maxLength": 9, "pattern": LINE_PATTERN}
    assert line_schema(9) == schema
    assert note(line(9, "A name.", examples=["x"])) == schema | {"description": "A name.", "examples": ["x"]}
    assert note(line()) == schema | {"maxLength": 255}


@pytest.mark.parametrize(("text", "fits"), [("a b", True), (" a", True), ("", False), (" ", False), ("a\nb", False)])
def test_a_line_of_text_is_not_blank_and_has_no_breaks(text: str, fits: bool) -> None:
    assert (re.search(LINE_PATTERN, text) is not None) is fits


def test_a_duration_is_a_number_of_seconds_or_a_text() -> None:
    number, text = duration_schemas(0.5)
    assert number == {"type": "number", "minimum": 0.5, "maximum": 3_162_240_000}
    assert text["type"] == "string"
    assert duration_schemas()[0]["minimum"] == 0
    described = note(duration("How long.", least=0.5))
    assert described == {
        "description": 'How long. Seconds, or text such as "1h30m" or "PT1H30M".',
        "anyOf": [number, text],
        "examples": [1.5, "1h30m"],
    }
    assert note(duration("How long."))["anyOf"] == duration_schemas(0)


@pytest.mark.parametrize(
    ("text", "fits"), [("1h30m", True), ("PT1H30M5S", True), ("1.5", True), ("1x", False), ("h", False), ("", False)]
)
def test_the_pattern_of_a_duration_fits_durations(text: str, fits: bool) -> None:
    assert (re.search(duration_schemas()[1]["pattern"], text) is not None) is fits


def test_a_time_is_one_of_the_standard_form() -> None:
    assert note(moment("When.")) == {
        "description": "When.",
        "anyOf": [{"type": "string", "format": "date-time"}],
        "examples": ["2030-01-02T03:04:05Z"],
    }


def test_a_cursor_is_that_of_the_page_before() -> None:
    assert note(page_cursor(maxLength=9)) == {
        "description": "`next_cursor` of the page before.", "type": "string", "maxLength": 9,
    }  # fmt: skip


def test_a_given_field_is_there_and_not_null() -> None:
    assert given("delay") == {"required": ["delay"], "properties": {"delay": {"not": {"type": "null"}}}}
