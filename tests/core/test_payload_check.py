"""Payloads are judged by the schemas that workers publish, whatever these are, and nothing takes long."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Literal

import pytest

from drumline.core import payload_check
from drumline.core.codec import encode
from drumline.core.errors import Invalid
from drumline.core.names import PHONE
from drumline.core.payload_check import (
    COMPILE_COST,
    DEEPEST,
    LARGEST_LIMIT,
    MOST_COMPARED,
    MOST_NODES,
    CompiledSchemas,
    Detail,
    PayloadCheck,
)
from drumline.sdk.definition import define


@pytest.fixture(autouse=True)
def _nothing_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test compile its schemas anew."""
    monkeypatch.setattr(payload_check, "COMPILED", CompiledSchemas())


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Address:
    street: str
    number: int | None = None


def ship(
    order: int,
    to: Address,
    *,
    others: list[Address] = [],  # noqa: B006 - it is never called
    size: Size = Size.SMALL,
    way: Literal["air", "sea"] = "sea",
    weights: dict[str, float] | None = None,
    pair: tuple[int, str] | None = None,
    at: datetime | None = None,
    anything: Any = None,
) -> None:
    """Ship an order."""


SHIP = PayloadCheck(encode(define(ship, name="ship").schema()))
TO = {"street": "High Street"}


def fault(check: PayloadCheck, payload: Any) -> str | None:
    """Return the field that does not fit."""
    try:
        check.check(encode(payload))
    except Invalid as error:
        return error.field
    return None


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ({"order": 1, "to": TO}, None),
        ({"order": 1, "to": TO, "others": [TO, {"street": "a", "number": 3}], "anything": [{}], "size": "large"}, None),
        ({"order": 1, "to": TO, "weights": {"a": 1, "b": 2.5}, "pair": [1, "x"], "at": "2026-01-02T03:04:05Z"}, None),
        ({"order": 1.5, "to": TO}, "payload.order"),
        ({"order": True, "to": TO}, "payload.order"),
        ({"to": TO}, "payload.order"),
        ({"order": 1, "to": {}}, "payload.to.street"),
        ({"order": 1, "to": TO, "others": [TO, 7]}, "payload.others[1]"),
        ({"order": 1, "to": TO, "size": "huge"}, "payload.size"),
        ({"order": 1, "to": TO, "way": "road"}, "payload.way"),
        ({"order": 1, "to": TO, "weights": {"a": "heavy"}}, "payload.weights"),
        ({"order": 1, "to": TO, "pair": [1]}, "payload.pair"),
        ({"order": 1, "to": TO, "pair": [1, 2]}, "payload.pair[1]"),
        ({"order": 1, "to": TO, "at": 5}, "payload.at"),
        ({"order": 1, "to": TO, "colour": "red"}, "payload.colour"),
        ([1, TO], None),
        ({"order": {"$result": "parent"}, "to": TO}, None),
    ],
)
def test_a_payload_is_judged_by_what_the_sdk_publishes(payload: Any, field: str | None) -> None:
    assert fault(SHIP, payload) == field


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 9}, 5, 10),
        ({"type": "string", "minLength": 2, "maxLength": 3}, "ab", "abcd"),
        ({"type": "array", "minItems": 1, "items": {"type": "string"}}, ["a"], [1]),
        ({"type": ["string", "null"]}, None, 3),
        ({"const": "a"}, "a", "b"),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, {"a": True}, {"a": 1}),
        ({"type": "object", "properties": {}, "additionalProperties": False}, {}, {"a": 1}),
        ({"type": "object", "properties": {"no-name!": {"type": "integer"}}}, {"no-name!": 1}, {"no-name!": "x"}),
        ({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}, {"b": 1}, {"a": 1}),
        ({"type": "string", "pattern": PHONE}, "+491234567", "491234567"),
        ({"type": "integer", "maximum": LARGEST_LIMIT}, LARGEST_LIMIT, LARGEST_LIMIT + 1),
        ({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 2}]}, "ab", "abc"),
    ],
)
def test_what_others_publish_is_understood_as_far_as_it_is_common(schema: Any, good: Any, bad: Any) -> None:
    check = PayloadCheck(encode({"type": "object", "properties": {"it": schema}}))

    assert fault(check, {"it": good}) is None
    assert fault(check, {"it": bad}) is not None


DEEP: Any = {"type": "integer"}
for _ in range(200):
    DEEP = {"type": "object", "properties": {"a": DEEP}}
HOSTILE: list[Any] = [
    True, False, None, 7, "text", [], {}, {"type": 5}, {"type": {}}, {"type": []}, {"type": [1]}, {"$ref": 5},
    {"type": "object", "properties": 5}, {"type": "object", "properties": {"it": 5}, "required": 7},
    {"type": "object", "required": [{}]}, {"properties": {"it": {}}, "type": "object", "required": [[]]},
    {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
    {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}},
    {"$ref": "#/$defs/a", "$defs": []},
    {"type": "object", "properties": {"it": {"type": "string", "pattern": "(a+)+$"}}},
    {"type": "object", "properties": {"it": {"type": "string", "minLength": -1}}},
    {"type": "object", "properties": {"it": {"type": "string", "minLength": 1e300, "maxLength": True}}},
    {"type": "object", "properties": {"it": {"type": "integer", "minimum": 10**400, "maximum": "x"}}},
    {"type": "object", "properties": {"it": {"enum": []}}},
    {"type": "object", "properties": {"it": {"enum": [1.5, {}]}}},
    {"type": "object", "properties": {'a"b\\': {}, "a\nb": {}, "": {}}},
    {"type": "object", "properties": {"it": {"anyOf": 3}}}, {"anyOf": []},
    {"type": "array", "prefixItems": [], "minItems": 0, "maxItems": 0}, {"type": "array", "items": False},
    DEEP,
]  # fmt: skip


@pytest.mark.parametrize("schema", HOSTILE, ids=lambda schema: str(schema)[:40])
def test_a_schema_that_makes_no_sense_stops_nothing(schema: Any) -> None:
    before = time.process_time()

    check = PayloadCheck(encode(schema))
    for payload in ({"it": "a" * 100 + "!"}, {}, 5, None, "x", [1], {"a": {"a": {"a": 1}}}):
        fault(check, payload)

    assert time.process_time() - before < 2


NOT_UNDERSTOOD: list[Any] = [
    7, {}, {"type": 5}, {"type": "datetime"}, {"type": []}, {"type": [1]}, {"type": ["string", "datetime"]},
    {"anyOf": 3}, {"anyOf": []}, {"anyOf": [{"type": "string"}, 3]}, {"enum": []}, {"enum": "ab"}, {"enum": 5},
    {"enum": [1.5]}, {"enum": ["a", {}]}, {"const": 1.5}, {"$ref": "#/$defs/nowhere"},
    {"anyOf": [{"type": "object", "properties": {name: {"type": "boolean"}}} for name in "ab"]},
]  # fmt: skip


@pytest.mark.parametrize("part", NOT_UNDERSTOOD, ids=str)
def test_a_part_that_is_not_understood_takes_anything_and_the_others_are_checked(part: Any) -> None:
    check = PayloadCheck(encode({"type": "object", "properties": {"it": part, "other": {"type": "integer"}}}))

    assert [fault(check, {"it": value, "other": 1}) for value in (1, "x", None, [1], {"c": 1})] == [None] * 5
    assert fault(check, {"it": 1, "other": "x"}) == "payload.other"


@pytest.mark.parametrize(
    "part",
    [
        {"type": "array", "prefixItems": [{"type": "integer"}]},
        {"type": "array", "prefixItems": [{"type": "integer"}], "minItems": 1, "maxItems": 2},
        {"type": "array", "prefixItems": [], "minItems": 0, "maxItems": 0},
    ],
    ids=str,
)
def test_a_list_whose_first_items_are_told_and_not_its_length_is_only_a_list(part: Any) -> None:
    check = PayloadCheck(encode({"type": "object", "properties": {"it": part}}))

    assert [fault(check, {"it": value}) for value in ([], ["x"], [1, 2, 3], 5)] == [None, None, None, "payload.it"]


Wrap = Callable[[Any], Any]
DEEPER: dict[str, tuple[Wrap, Wrap]] = {
    "a field": (lambda inner: {"type": "object", "properties": {"a": inner}}, lambda value: {"a": value}),
    "any name": (lambda inner: {"type": "object", "additionalProperties": inner}, lambda value: {"a": value}),
    "a list": (lambda inner: {"type": "array", "items": inner}, lambda value: [value]),
    "a tuple": (
        lambda inner: {"type": "array", "prefixItems": [inner], "minItems": 1, "maxItems": 1},
        lambda value: [value],
    ),
    "a choice": (lambda inner: {"anyOf": [inner]}, lambda value: value),
}


@pytest.mark.parametrize("way", DEEPER)
def test_a_schema_is_looked_into_down_to_a_depth(way: str) -> None:
    schema_in, value_in = DEEPER[way]

    def checks(levels: int) -> bool:
        schema, value = {"type": "integer"}, "x"
        for _ in range(levels - 1):
            schema, value = schema_in(schema), value_in(value)
        check = PayloadCheck(encode({"type": "object", "properties": {"it": schema}}))
        return fault(check, {"it": value}) is not None

    assert checks(DEEPEST)
    assert not checks(DEEPEST + 1)


def test_a_name_of_another_part_is_a_level_too() -> None:
    def checks(levels: int) -> bool:
        names: Any = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(levels - 1)}
        names[f"d{levels - 1}"] = {"type": "integer"}
        return fault(PayloadCheck(encode({"$ref": "#/$defs/d0", "$defs": names})), "x") is not None

    assert checks(DEEPEST)
    assert not checks(DEEPEST + 1)


def test_a_schema_with_very_many_parts_is_looked_at_only_so_far() -> None:
    many = {f"p{number}": {"type": "integer"} for number in range(MOST_NODES * 2)}
    check = PayloadCheck(encode({"type": "object", "properties": many}))

    last = MOST_NODES - 2  # the object is a part as well
    assert fault(check, {"p0": "x"}) == "payload.p0"
    assert fault(check, {f"p{last}": "x"}) == f"payload.p{last}"
    assert fault(check, {f"p{last + 1}": "x"}) is None


def test_the_values_of_an_enum_are_parts_and_one_with_too_many_takes_anything() -> None:
    def check_of(values: int) -> PayloadCheck:
        words = [f"w{number}" for number in range(values)]
        return PayloadCheck(encode({"type": "object", "properties": {"a": {"enum": words}, "b": {"type": "integer"}}}))

    most = MOST_NODES - 2  # the object and the enum itself

    assert fault(check_of(most), {"a": "x"}) == "payload.a"
    assert fault(check_of(most + 1), {"a": "x"}) is None
    assert fault(check_of(most + 1), {"b": "x"}) == "payload.b"
    compiled = CompiledSchemas(most=30)
    compiled.of(check_of(25).schema)
    compiled.of(check_of(26).schema)
    assert len(compiled) == 1


def test_an_enum_that_many_parts_refer_to_has_its_values_once() -> None:
    names = [f"p{number}" for number in range(100)]
    properties: dict[str, Any] = {
        name: {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]} for name in names[:50]
    }
    properties |= {name: {"$ref": "#/$defs/a"} for name in names[50:]}
    words = [f"w{number}" for number in range(100)]
    check = PayloadCheck(encode({"type": "object", "properties": properties, "$defs": {"a": {"enum": words}}}))

    assert fault(check, dict.fromkeys(names, "w99")) is None
    assert {fault(check, {name: "x"}) for name in names} == {f"payload.{name}" for name in names}


def test_a_check_weighs_as_much_as_is_not_compiled_yet() -> None:
    schema, former = encode({"type": "integer"}), encode({"type": "string"})
    check = PayloadCheck(schema, former)
    new = check.weight

    check.check(b"1")
    one = check.weight
    check.check(b'"x"')

    assert (new, one, check.weight) == (
        COMPILE_COST * (len(schema) + len(former)), COMPILE_COST * len(former), 0
    )  # fmt: skip
    assert PayloadCheck(former).weight == 0


def test_compiled_schemas_are_remembered_up_to_a_number_of_parts() -> None:
    compiled = CompiledSchemas(most=30)
    schemas = [encode({"type": "object", "properties": {f"p{n}": {"type": "integer"}}}) for n in range(100)]

    for schema in schemas:
        compiled.of(schema)

    assert compiled.of(schemas[-1]) is compiled.of(schemas[-1])
    assert len(compiled) <= 15


def test_schemas_give_way_in_the_order_in_which_they_came_until_the_newest_fits() -> None:
    def of_parts(parts: int, name: str) -> bytes:
        return encode({"type": "object", "properties": {f"{name}{n}": {} for n in range(parts - 1)}})

    compiled, schemas = CompiledSchemas(most=9), [of_parts(3, name) for name in "abc"]
    before = [compiled.of(schema) for schema in schemas]
    assert len(compiled) == 3, "nine parts are not too many"

    compiled.of(of_parts(4, "d"))

    assert len(compiled) == 2
    assert compiled.of(schemas[2]) is before[2]
    compiled.of(of_parts(99, "e"))
    assert len(compiled) == 1, "one schema is kept, however large"
    assert compiled.of(schemas[2]) is not before[2]


CLOSED = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
OPEN = {**CLOSED, "additionalProperties": True}


@pytest.mark.parametrize(
    ("schema", "payload", "reads_all"),
    [
        (CLOSED, b'{"a": 1}', True),
        ({"type": "array", "items": CLOSED}, b'[{"a": 1}]', True),
        ({**CLOSED, "properties": {"a": CLOSED}}, b'{"a": {"a": 1}}', True),
        (OPEN, b'{"a": 1}', False),
        ({**CLOSED, "properties": {"a": OPEN}}, b'{"a": {"a": 1}}', False),
        ({**OPEN, "properties": {"a": CLOSED}}, b'{"a": {"a": 1}}', False),
        ({}, b'{"a": 1}', False),
        (CLOSED, b'{"a": {"$result": "parent"}}', False),
        (CLOSED, b" [1]", False),
        (CLOSED, b'{"a": 1', False),
        ({"type": "string"}, b'"\xff"', False),
    ],
)
def test_a_check_tells_whether_it_has_read_the_whole_payload_as_json(
    schema: Any, payload: bytes, reads_all: bool
) -> None:
    assert PayloadCheck(encode(schema)).check(payload) is reads_all


def test_a_payload_that_fits_the_former_schema_only_was_not_read_to_the_end() -> None:
    assert PayloadCheck(encode(CLOSED), encode({**CLOSED, "properties": {"b": {}}})).check(b'{"b": 1}') is False


@pytest.mark.parametrize("broken", [b'{"a": "\xff"}', b'{"a": "x", "b": ', b'{"a": "x", "b": tru}'])
def test_a_payload_that_is_broken_where_only_the_former_schema_reads_is_refused(broken: bytes) -> None:
    former = encode({**CLOSED, "properties": {"a": {"type": "string"}, "b": {}}})

    with pytest.raises(Invalid) as caught:
        PayloadCheck(encode(CLOSED), former).check(broken)

    assert caught.value.field == "payload.a"


@pytest.mark.parametrize(
    ("detail", "told"),
    [
        ("full", ("payload.way", "must be one of air, sea; did you mean air?")),
        ("brief", ("payload.way", "is not one of its values: ai")),
        ("none", ("payload", "does not fit the task's parameters")),
    ],
)
def test_an_error_tells_no_more_of_the_schema_than_it_should(detail: Detail, told: tuple[str, str]) -> None:
    with pytest.raises(Invalid) as caught:
        PayloadCheck(SHIP.schema, detail=detail).check(encode({"order": 1, "to": TO, "way": "ai"}))

    assert (caught.value.field, caught.value.message) == told


@pytest.mark.parametrize(("names", "is_suggested"), [(MOST_COMPARED - 1, True), (MOST_COMPARED, False)])
def test_what_was_meant_is_not_looked_for_among_very_many_names(names: int, is_suggested: bool) -> None:
    properties: dict[str, Any] = {"colour": {}} | {f"p{number}": {} for number in range(names - 1)}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}

    with pytest.raises(Invalid) as caught:
        PayloadCheck(encode(schema)).check(b'{"color": 1}')

    assert caught.value.message == "is not a known field" + ("; did you mean colour?" if is_suggested else "")


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"order": 1, "to": TO, "way": "ai"}, "must be one of air, sea; did you mean air?"),
        ({"order": 1, "to": TO, "wey": "air"}, "is not a known field; did you mean way?"),
    ],
)
def test_an_error_names_what_would_have_been_right(payload: Any, words: str) -> None:
    with pytest.raises(Invalid) as caught:
        SHIP.check(encode(payload))

    assert caught.value.message == words


def test_a_former_schema_is_good_enough() -> None:
    newer = encode({"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]})
    former = encode({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
    both = PayloadCheck(newer, former)

    assert [fault(both, payload) for payload in ({"a": 1}, {"b": 1}, {"c": 1})] == [None, None, "payload.b"]
    assert fault(PayloadCheck(newer, encode({})), {"a": 1}) == "payload.b"
