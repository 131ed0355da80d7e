"""JSON in and out: what cannot be read is told by its field, its reason and a code, whatever it is."""

from typing import Any

import pytest
from msgspec import Struct, defstruct

from drumline.core.codec import check_bounds, check_json, cut, decode, explain, is_deeper, read_json, without_nul
from drumline.core.errors import Conflict, Invalid, KeyReused, Overloaded, RateLimited


class Inner(Struct, forbid_unknown_fields=True):
    number: int = 0


class Outer(Struct, forbid_unknown_fields=True):
    inner: Inner | None = None
    items: list[Inner] = []
    by_name: dict[str, int] = {}


def told(data: bytes, type_: Any = Outer, field: str | None = None) -> tuple[str | None, str, str]:
    with pytest.raises(Invalid) as caught:
        decode(data, type_, field=field)
    return caught.value.field, caught.value.message, caught.value.code


@pytest.mark.parametrize(
    ("data", "field", "at", "message"),
    [
        (b'{"inner": {"number": "x"}}', None, "inner.number", "must be a whole number, not a text"),
        (b'{"inner": {"number": "x"}}', "options", "options.inner.number", "must be a whole number, not a text"),
        (b'{"items": [{}, {"number": true}]}', None, "items[1].number", "must be a whole number, not true or false"),
        (b"[1]", "options", "options", "must be an object, not a list"),
        (b"[1]", None, None, "must be an object, not a list"),
        (b'{"by_name": {"a": "x"}}', None, "by_name", "must be a whole number, not a text"),
        (b'{"inner": {"other": 1}}', None, "inner.other", "is not a known field; known fields: number"),
        (b'{"inner": {"nummer": 1}}', "x", "x.inner.nummer", "is not a known field; did you mean number?"),
        (b'{"color": 1}', None, "color", "is not a known field; known fields: inner, items, by_name"),
    ],
)
def test_what_does_not_fit_is_told_by_its_place(data: bytes, field: str | None, at: str | None, message: str) -> None:
    assert told(data, field=field) == (at, message, "invalid")


def test_a_list_in_a_field_is_told_without_a_dot() -> None:
    assert told(b'[{"number": "x"}]', list[Inner], "items")[0] == "items[0].number"


def test_a_key_that_does_not_fit_is_told_by_the_place_of_its_object() -> None:
    class Sizes(Struct):
        sizes: dict[int, str]

    assert told(b'{"x": 1}', dict[int, int])[0] is None
    assert told(b'{"a": {"x": 1}}', dict[str, dict[int, int]], "field")[0] == "field"
    assert told(b'{"sizes": {"x": "y"}}', Sizes, "payload") == (
        "payload.sizes", "must be a whole number, not a text", "invalid",
    )  # fmt: skip


def test_a_missing_field_is_required() -> None:
    class Needed(Struct):
        name: str

    assert told(b"{}", Needed) == ("name", "is required", "invalid")
    assert told(b"{}", Needed, "task") == ("task.name", "is required", "invalid")


@pytest.mark.parametrize("data", [b"{", b'{"inner": nul}', b""])
def test_what_is_not_json_is_the_fault_of_the_body_or_of_the_field_that_it_is_in(data: bytes) -> None:
    field, message, code = told(data)

    assert (field, code) == ("body", "malformed")
    assert message.startswith("is not JSON: i")
    assert told(data, field="payload") == ("payload", message, "malformed")


def test_the_reason_of_malformed_json_is_told_once() -> None:
    assert told(b'{"inner": nul}')[1].startswith("is not JSON: invalid character (byte ")
    assert told(b"{")[1] == "is not JSON: input data was truncated"


def test_what_is_not_utf_8_is_told_as_that() -> None:
    for field, at in ((None, "body"), ("payload", "payload")):
        assert told(b'"\xff"', str, field) == (at, "is not valid UTF-8", "malformed")


def test_what_nests_too_deeply_to_be_read_is_told_as_that() -> None:
    for field, at in ((None, "body"), ("payload", "payload")):
        wrong = explain(RecursionError(), field=field)
        assert (wrong.field, wrong.message, wrong.code) == (at, "is nested too deeply", "too_deep")


@pytest.mark.parametrize(("count", "are_listed"), [(8, True), (9, False)])
def test_known_fields_are_listed_if_they_are_few(count: int, are_listed: bool) -> None:
    fields = [f"f{number}" for number in range(count)]
    type_ = defstruct("Few", [(field, int, 0) for field in fields], forbid_unknown_fields=True)

    listed = f"; known fields: {', '.join(fields)}" if are_listed else ""
    assert told(b'{"colour": 1}', type_)[1] == f"is not a known field{listed}"


def test_a_long_text_is_cut_in_the_middle() -> None:
    assert cut("abcdef", 3) == "abcdef"
    assert cut("abcdefg", 3) == "abc … efg"


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("a\0b\0", "a\ufffdb\ufffd"),
        ({"\0": ["\0", {"x": "\0"}]}, {"\ufffd": ["\ufffd", {"x": "\ufffd"}]}),
        (7, 7),
        (None, None),
        ([1, "a"], [1, "a"]),
    ],
)
def test_nul_is_replaced_in_every_text(value: Any, kept: Any) -> None:
    assert without_nul(value) == kept


@pytest.mark.parametrize("field", ["payload", "result"])
def test_what_is_too_large_says_what_to_do_where_there_is_a_setting(field: str) -> None:
    check_bounds(b'"abc"', field=field, largest=5, deepest=1)
    with pytest.raises(Invalid) as caught:
        check_json(b'"' + b"x" * 1498 + b'"', field=field, largest=1400, deepest=1)

    assert (caught.value.field, caught.value.code) == (field, "too_large")
    assert caught.value.message == (
        "is 1,500 bytes of JSON; at most 1,400 are accepted: keep it elsewhere and pass its address, or raise "
        f"limits.{field}"
    )


def test_what_has_no_setting_is_only_too_large() -> None:
    with pytest.raises(Invalid) as caught:
        check_bounds(b'"abc"', field="meta", largest=4, deepest=1)

    assert str(caught.value) == "meta: is 5 bytes of JSON; at most 4 are accepted"


@pytest.mark.parametrize("deep", [b"[[[]]]", b'{"a":{"a":{}}}', b'[{"a":[]}]'])
def test_what_nests_deeper_than_it_may_is_refused_however_it_does(deep: bytes) -> None:
    assert check_json(deep, field="x", largest=99, deepest=3) is not None
    with pytest.raises(Invalid) as caught:
        check_json(deep, field="x", largest=99, deepest=2)

    assert (str(caught.value), caught.value.code) == ("x: is nested more than 2 levels deep", "too_deep")


def test_brackets_side_by_side_or_in_texts_are_not_deep() -> None:
    assert check_json(b"[[],[],[]]", field="x", largest=99, deepest=2) == [[], [], []]
    assert not is_deeper(b'["[[[", "\\"[[["]', 1)


def test_a_value_that_cannot_be_read_is_told_by_its_field() -> None:
    for read in (read_json, lambda raw, field: check_json(raw, field=field, largest=99, deepest=9)):
        for raw, message in ((b"nope", "is not JSON: invalid character"), (b'"\xff"', "is not valid UTF-8")):
            with pytest.raises(Invalid) as caught:
                read(raw, field="payload")
            assert str(caught.value).startswith(f"payload: {message}")


def test_an_error_shows_its_field_with_its_message() -> None:
    assert repr(KeyReused("belongs to another", field="key")) == "KeyReused('key: belongs to another')"
    assert str(Invalid("is wrong")) == "is wrong"
    assert str(Conflict("has ended", field="task")) == "has ended"
    limited = RateLimited("too often", field="key", retry_after=2.5)
    assert (limited.message, limited.field, limited.retry_after, limited.code) == (
        "too often",
        "key",
        2.5,
        "rate_limited",
    )
    assert str(Overloaded("later")) == "later"
