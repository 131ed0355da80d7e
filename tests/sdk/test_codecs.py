"""Results and arguments of types that JSON does not know."""

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from drumline import Drumline, Invalid
from drumline.sdk import codecs

T = TypeVar("T")


class Row(TypedDict):
    name: str
    where: Path


@dataclass
class Page(Generic[T]):
    items: list[T]


@dataclass
class Cat:
    name: str


@dataclass
class Dog:
    name: str
    tricks: int


class Money:
    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and other.cents == self.cents

    def __hash__(self) -> int:
        return hash(self.cents)


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Drumline[None]:
    monkeypatch.setattr(codecs, "_CODECS", {})
    return Drumline("values")


def passed(app: Drumline[None], function: Any, value: Any) -> Any:
    """Return a value as it is after it was a result."""
    definition = app.task(name=function.__name__)(function).definition
    return definition.decode_result(definition.encode_result(value))


def test_typed_dictionaries_generics_and_paths_come_back_as_they_went(app: Drumline[None]) -> None:
    def rows() -> list[Row]: ...  # type: ignore[empty-body]
    def page() -> Page[Decimal]: ...  # type: ignore[empty-body]
    def maybe() -> Path | None: ...

    assert passed(app, rows, [{"name": "a", "where": Path("/x")}]) == [{"name": "a", "where": Path("/x")}]
    assert passed(app, page, Page([Decimal("1.5")])) == Page([Decimal("1.5")])
    assert passed(app, maybe, Path("/x")) == Path("/x")
    assert passed(app, maybe, None) is None


def test_a_union_of_classes_comes_back_as_the_one_that_fits(app: Drumline[None]) -> None:
    def pet() -> Cat | Dog: ...  # type: ignore[empty-body]
    def pet_or_count() -> Dog | Cat | int: ...  # type: ignore[empty-body]

    assert [passed(app, pet, value) for value in (Cat("a"), Dog("b", 2))] == [Cat("a"), Dog("b", 2)]
    assert [passed(app, pet_or_count, value) for value in (Cat("a"), Dog("b", 2), 7)] == [Cat("a"), Dog("b", 2), 7]
    with pytest.raises(Invalid):
        app.registry.get("pet").decode_result(b'{"age": 3}')


@pytest.mark.parametrize("scalar", [np.float64(1.5), np.int64(3), np.bool_(True), np.float32(0.5), np.str_("x")])
def test_scalars_of_numpy_need_no_codec(app: Drumline[None], scalar: Any) -> None:
    def untyped() -> Any: ...

    def typed() -> Any: ...

    typed.__annotations__["return"] = type(scalar)
    back = passed(app, typed, scalar)

    assert passed(app, untyped, scalar) == scalar.item()
    assert (back, type(back)) == (scalar, type(scalar))


def test_a_scalar_that_is_no_number_is_refused(app: Drumline[None]) -> None:
    def ratio() -> float: ...  # type: ignore[empty-body]

    with pytest.raises(Invalid):
        passed(app, ratio, np.float64("nan"))


def test_a_frame_of_pandas_and_a_table_of_arrow_come_back_whole(app: Drumline[None]) -> None:
    app.codec(pd.DataFrame)
    app.codec(pa.Table)
    app.codec(np.ndarray)
    frame = pd.DataFrame({"a": [1, 2], "when": pd.to_datetime(["2026-01-01", "2026-01-02"])}, index=["x", "y"])
    table = pa.table({"a": [1, 2], "b": ["x", None]})
    array = np.arange(6, dtype="int16").reshape(2, 3)

    def to_frame() -> pd.DataFrame: ...
    def to_table() -> pa.Table: ...
    def to_array() -> np.ndarray: ...  # type: ignore[empty-body]

    pd.testing.assert_frame_equal(passed(app, to_frame, frame), frame)
    assert passed(app, to_table, table).equals(table)
    assert (passed(app, to_array, array) == array).all()


def test_a_type_of_ones_own_is_written_and_read_by_its_codec(app: Drumline[None]) -> None:
    app.codec(Money, encode=lambda money: {"cents": money.cents}, decode=lambda said: Money(said["cents"]))

    @app.task(name="pay")
    def pay(amount: Money, more: list[Money]) -> Money:
        return Money(amount.cents + sum(each.cents for each in more))

    bound = pay.definition.bind(pay.definition.payload(Money(1), [Money(2)]))
    assert bound == {"amount": Money(1), "more": [Money(2)]}
    assert pay.definition.decode_result(pay.definition.encode_result(Money(3))) == Money(3)
    assert "amount" in pay.definition.schema()["properties"]
    with pytest.raises(Invalid, match="cannot be read as Money") as caught:
        pay.definition.bind(b'{"amount": {"dollars": 1}, "more": []}')
    assert caught.value.field == "payload.amount"


def test_a_subclass_is_written_by_the_codec_of_its_base(app: Drumline[None]) -> None:
    class Tip(Money): ...

    app.codec(Money, encode=lambda money: money.cents, decode=Money)

    def tip() -> Any: ...

    assert passed(app, tip, Tip(3)) == 3


def test_what_has_no_codec_or_needs_none_is_named(app: Drumline[None]) -> None:
    with pytest.raises(TypeError, match="is written as JSON already"):
        app.codec(int, encode=str, decode=int)
    with pytest.raises(TypeError, match="there is no codec for tests"):
        app.codec(Money)
    with pytest.raises(TypeError, match="encode and decode, or neither"):
        app.codec(Money, encode=str)
    with pytest.raises(TypeError, match="must be a class"):
        app.codec("Money", encode=str, decode=str)  # type: ignore[arg-type]
