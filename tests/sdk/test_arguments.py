import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from itertools import permutations
from pathlib import Path
from typing import Annotated, Any, TypedDict, Union
from uuid import UUID

import pytest
from msgspec import Meta, Struct

from drumline import Context, Invalid, inject
from drumline.core.ids import TaskId
from drumline.sdk.definition import define


@dataclass
class Invoice:
    order: int
    cents: int = 0


class Colour(Enum):
    RED = "red"


class Point(Struct):
    x: float
    y: float


class Model:
    """Stands for models that dump and validate themselves."""

    def __init__(self, size: int) -> None:
        self.size = size

    def model_dump(self, *, mode: str) -> dict[str, int]:
        assert mode == "json"
        return {"size": self.size}

    @classmethod
    def model_validate(cls, value: dict[str, int]) -> "Model":
        return cls(value["size"])

    @classmethod
    def model_json_schema(cls) -> dict[str, object]:
        return {"type": "object", "title": "Model"}


def add(a: int, b: int = 3) -> int:
    return a + b


def seven(*, a: int = 0, b: int = 0, c: int = 0, d: int = 0, e: int = 0, f: int = 0, g: int = 0) -> None: ...


def loose(a, b="x"):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    return a, b


def varied(a: int, /, b: int, *rest: int, flag: bool = False, **extra: float) -> Any:
    return a, b, rest, flag, extra


def rich(  # noqa: PLR0917
    invoice: Invoice,
    when: datetime,
    id: UUID,
    price: Decimal,
    colour: Colour,
    points: list[Point],
    wait: timedelta,
    model: Model,
    data: bytes = b"",
) -> Any:
    return invoice, when, id, price, colour, points, wait, model.size, data


@pytest.mark.parametrize(
    ("args", "kwargs", "payload"),
    [
        ((2, 3), {}, {"a": 2, "b": 3}),
        ((2,), {}, {"a": 2}),
        ((2,), {"b": 5}, {"a": 2, "b": 5}),
        ((), {"b": 5, "a": 1}, {"a": 1, "b": 5}),
    ],
)
def test_a_call_becomes_an_object_of_its_arguments(args: Any, kwargs: Any, payload: Any) -> None:
    assert json.loads(bytes(define(add).payload(*args, **kwargs))) == payload


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "missing a required argument: 'a'"),
        ((1, 2, 3), {}, "too many positional arguments"),
        ((1,), {"a": 2}, "multiple values for argument 'a'"),
        ((1,), {"c": 2}, "unexpected keyword argument 'c'"),
    ],
)
def test_a_call_that_does_not_fit_fails_where_it_is_made(args: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        define(add).payload(*args, **kwargs)


def test_calls_are_written_alike_however_many_forms_they_have_come_in() -> None:
    names = "abcdefg"
    task = define(seven)

    for forms in permutations(names, 3):  # more than are remembered
        given = {name: place for place, name in enumerate(forms)}
        assert json.loads(bytes(task.payload(**given))) == given


def test_a_parameter_may_begin_with_two_underscores() -> None:
    def odd(first: int, __second: int) -> None: ...

    assert json.loads(bytes(define(odd).payload(1, 2))) == {"first": 1, "__second": 2}


def test_an_argument_that_is_not_json_is_named() -> None:
    with pytest.raises(Invalid) as caught:
        define(loose).payload(1, object())

    assert caught.value.field == "payload.b"


@pytest.mark.parametrize(
    ("payload", "bound"),
    [
        (b'{"a": 1}', {"a": 1, "b": 3}),
        (b' {"b": 2, "a": 1}', {"a": 1, "b": 2}),
        (b"[1]", {"a": 1, "b": 3}),
        (b"[1, 2]", {"a": 1, "b": 2}),
    ],
)
def test_a_payload_binds_by_name_or_by_position(payload: bytes, bound: dict[str, int]) -> None:
    assert define(add).bind(payload) == bound


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        (b'{"a": "x"}', "payload.a"),
        (b'{"a": 1, "b": null}', "payload.b"),
        (b"{}", "payload.a"),
        (b'{"a": 1, "c": 2}', "payload.c"),
        (b"[]", "payload.a"),
        (b"[1, 2, 3]", "payload"),
        (b"5", "payload"),
        (b"null", "payload"),
        (b'{"a"', "payload"),
        (b"", "payload"),
        (b"\xff", "payload"),
    ],
)
def test_a_bad_payload_names_the_field(payload: bytes, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        define(add).bind(payload)

    assert caught.value.field == field


def test_parameters_without_annotations_take_anything() -> None:
    assert define(loose).bind(b'{"a": {"deep": [1]}}') == {"a": {"deep": [1]}, "b": "x"}


def test_rich_values_come_back_as_their_annotations_say() -> None:
    values = (
        Invoice(1, 250),
        datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        UUID("01890a5d-ac96-774b-bcce-b302099a8057"),
        Decimal("1.10"),
        Colour.RED,
        [Point(1, 2)],
        timedelta(minutes=1),
    )
    definition = define(rich)

    bound = definition.bind(definition.payload(*values, Model(4), data=b"\x00\xff"))

    assert tuple(bound.values())[:7] == values
    assert bound["model"].size == 4
    assert bound["data"] == b"\x00\xff"


def test_variable_arguments_arrive_as_they_were_given() -> None:
    definition = define(varied)

    payload = definition.payload(1, 2, 3, 4, flag=True, speed=0.5)

    assert json.loads(bytes(payload)) == {"a": 1, "b": 2, "rest": [3, 4], "flag": True, "speed": 0.5}
    context = Context(id=TaskId(""), state=None)
    assert definition.invoke(definition.bind(payload), context) == (1, 2, (3, 4), True, {"speed": 0.5})
    assert definition.invoke(definition.bind(b"[1, 2, 3]"), context) == (1, 2, (3,), False, {})


@pytest.mark.parametrize(
    ("payload", "field"), [(b'{"a": 1, "b": 2, "rest": ["x"]}', "payload.rest"), (b'{"a": 1, "b": "x"}', "payload.b")]
)
def test_variable_arguments_are_checked_too(payload: bytes, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        define(varied).bind(payload)

    assert caught.value.field is not None
    assert caught.value.field.startswith(field)


def test_an_extra_keyword_cannot_hide_a_parameter() -> None:
    def clash(a: int, /, **extra: int) -> None: ...

    with pytest.raises(TypeError, match="'a' names a parameter and an extra keyword"):
        define(clash).payload(1, a=2)


def test_injected_parameters_are_no_part_of_the_payload() -> None:
    def charge(order: int, *, ctx: "Context[NotImportedAtRunTime]" = inject()) -> int:  # type: ignore[name-defined]  # noqa: F821
        return order + int(ctx.attempt)

    definition = define(charge)

    assert json.loads(bytes(definition.payload(5))) == {"order": 5}
    assert definition.invoke(definition.bind(b'{"order": 5}'), Context(id=TaskId(""), state=None, attempt=2)) == 7
    assert list(definition.schema()["properties"]) == ["order"]
    with pytest.raises(Invalid):
        definition.bind(b'{"order": 5, "ctx": {}}')


def test_an_injected_parameter_must_be_keyword_only() -> None:
    def charge(ctx: Context[None] = inject()) -> None: ...

    with pytest.raises(TypeError, match="make ctx keyword-only"):
        define(charge)


def test_a_default_that_is_not_json_is_left_to_the_function() -> None:
    shared: list[int] = []

    def collect(into: list[int] = shared, colour: Colour = Colour.RED) -> None: ...

    bound = define(collect).bind(b"{}")

    assert bound["into"] is shared
    assert bound["colour"] is Colour.RED


def later(first: "Later") -> int:
    return first.n


@dataclass
class Later:
    n: int


def test_annotations_may_name_classes_defined_further_down() -> None:
    assert define(later).bind(b'{"first": {"n": 1}}') == {"first": Later(1)}


def test_constraints_of_annotations_hold() -> None:
    def pay(cents: Annotated[int, Meta(gt=0)]) -> None: ...

    with pytest.raises(Invalid) as caught:
        define(pay).bind(b'{"cents": 0}')

    assert caught.value.field == "payload.cents"


def test_the_schema_tells_what_may_be_submitted() -> None:
    assert define(add, name="add").schema() == {
        "title": "add",
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 3}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert set(define(rich).schema()["$defs"]) >= {"Invoice", "Colour", "Point"}
    assert define(varied).schema()["additionalProperties"] is True


def unreadable(value: "Missing") -> None:  # type: ignore[name-defined]  # noqa: F821
    ...


def unsupported(value: Point | complex) -> None: ...


@pytest.mark.parametrize(
    ("function", "message"), [(unreadable, "'Missing' is not defined"), (unsupported, "cannot be read from JSON")]
)
def test_annotations_that_make_no_sense_are_told_when_a_worker_publishes_them(
    function: Callable[..., Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        define(function).schema()


@dataclass
class Found:
    where: Path


@dataclass
class Lost:
    name: str
    searched: int = 0


@dataclass
class Tree:
    children: "list[Tree] | None" = None


class Row(TypedDict):
    size: int


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Found | Lost, Found(Path("/tmp"))),
        (Found | Lost, Lost("a", 3)),
        (Found | Lost | None, None),
        (Union[Found, Lost], Lost("a")),  # noqa: UP007 - as older code writes it
        (Path | int, 3),
        (Path | int, Path("a")),
        (datetime | str, "soon"),
        (datetime | date, date(2026, 1, 2)),
        (Row | Found, {"size": 3}),
        (list[Found | Lost], [Lost("a"), Found(Path("b"))]),
        (dict[str, Found | Lost | None], {"a": None, "b": Lost("b")}),
        (Tree | Lost, Tree([Tree(), Tree([])])),
    ],
    ids=str,
)
def test_a_union_is_read_as_the_member_that_was_written(hint: Any, value: Any) -> None:
    def look(target: Any) -> Any:
        return target

    look.__annotations__ = {"target": hint, "return": hint}
    definition = define(look)
    payload = definition.payload(value)

    assert definition.arguments.bind(payload) == {"target": value}
    assert definition.decode_result(definition.encode_result(value)) == value


def test_a_value_that_is_no_member_of_a_union_is_told_why() -> None:
    def look(target: Found | Lost) -> None: ...

    definition = define(look, name="look")

    with pytest.raises(Invalid) as refused:
        definition.arguments.bind(b'{"target": {"searched": 3}}')
    assert str(refused.value) == (
        "payload.target: fits none of Found | Lost: Found.where: is required; Lost.name: is required"
    )


def test_the_schema_of_a_union_needs_no_definitions_from_elsewhere() -> None:
    def look(target: Tree | Lost) -> None: ...

    target = define(look).schema()["properties"]["target"]

    tree, missing = target["anyOf"]
    assert tree["properties"]["children"]["anyOf"][0] == {"type": "array", "items": {}}
    assert missing["required"] == ["name"]


def test_a_union_with_a_class_that_has_no_codec_is_refused() -> None:
    class Unknown: ...

    def look(target: Unknown | Found) -> None: ...

    look.__annotations__["target"] = Unknown | Found
    with pytest.raises(TypeError, match=r"the parameter 'target' is annotated .*, which cannot be read from JSON"):
        define(look)
