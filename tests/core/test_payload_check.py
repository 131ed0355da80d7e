"""Payloads are judged by the schemas that workers publish, whatever these are, and nothing takes long."""

import time
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Literal

import pytest

from drumline.core import payload_check
from drumline.core.codec import encode
from drumline.core.errors import Invalid
from drumline.core.payload_check import MOST_NODES, CompiledSchemas, PayloadCheck
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


def test_a_schema_with_very_many_parts_is_looked_at_only_so_far() -> None:
    many = {f"p{number}": {"type": "integer"} for number in range(MOST_NODES * 2)}
    check = PayloadCheck(encode({"type": "object", "properties": many}))

    assert fault(check, {"p0": "x"}) == "payload.p0"
    assert fault(check, {f"p{MOST_NODES * 2 - 1}": "x"}) is None


def test_compiled_schemas_are_remembered_up_to_a_number_of_parts() -> None:
    compiled = CompiledSchemas(most=30)
    schemas = [encode({"type": "object", "properties": {f"p{n}": {"type": "integer"}}}) for n in range(100)]

    for schema in schemas:
        compiled.of(schema)

    assert compiled.of(schemas[-1]) is compiled.of(schemas[-1])
    assert len(compiled) <= 15


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
