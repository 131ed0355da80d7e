"""NaN and infinity are refused where they are written: they would become null."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from msgspec import Raw, Struct

from drumline import Drumline, Invalid
from drumline.sdk.arguments import encode_result

app = Drumline("test")


@dataclass
class Point:
    x: float
    y: float | None = None


class Box(Struct):
    corner: Point


@app.task
def work(value: Any, other: Any = None) -> Any:
    return value, other


def by_call(value: Any) -> Any:
    return work.call(value)


def by_keyword(value: Any) -> Any:
    return work.call(other=None, value=value)


def by_name(value: Any) -> Any:
    return app.submit_task("work", {"value": value})


def in_a_dag(value: Any) -> Any:
    with app.dag("job") as dag:
        before = dag.add(work, 1)
        return dag.add(work, value, before.out)


def by_name_in_a_dag(value: Any) -> Any:
    with app.dag("job") as dag:
        return dag.add_task("work", {"value": value})


def on_a_schedule(value: Any) -> Any:
    return Drumline("test").every("5m", arguments={"value": value})(work)


WAYS = [by_call, by_keyword, by_name, in_a_dag, by_name_in_a_dag, on_a_schedule]
PLACES = [
    (math.nan, "value"),
    (math.inf, "value"),
    (-math.inf, "value"),
    ([1.0, math.nan], "value[1]"),
    ({"a": None, "b": [{"c": math.inf}]}, "value.b[0].c"),
    (Point(1.0, math.nan), "value.y"),
    (Box(Point(math.nan)), "value.corner.x"),
    ((None, {math.nan}), "value[1][0]"),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("value", "place"), PLACES)
def test_a_number_that_json_has_not_is_refused_by_its_place(way: Callable[[Any], Any], value: Any, place: str) -> None:
    with pytest.raises(Invalid, match="NaN or infinite") as caught:
        way(value)

    assert caught.value.field == f"payload.{place}"


@pytest.mark.parametrize(("value", "place"), PLACES)
def test_a_result_with_such_a_number_is_refused_by_its_place(value: Any, place: str) -> None:
    with pytest.raises(Invalid, match="NaN or infinite") as caught:
        work.definition.encode_result(value)

    assert caught.value.field == place.replace("value", "result", 1)


@pytest.mark.parametrize("value", [None, 0.0, -0.0, 1e308, [None], {"a": None}, "null", Point(1.0)])
def test_all_other_values_are_written_as_ever(value: Any) -> None:
    assert work.call(value).request.payload
    assert work.definition.encode_result(value)


@pytest.mark.parametrize("value", [Raw(b"null"), {"a": Raw(b"null")}, [None, Raw(b'{"b": null}')]])
def test_what_is_json_already_may_say_null(value: object) -> None:
    assert msgspec.json.decode(encode_result(value)) == msgspec.json.decode(msgspec.json.encode(value))
