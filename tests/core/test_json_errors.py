"""What does not fit is told in words that name the field and say what would fit."""

import json
from datetime import datetime
from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct

from drumline.core.codec import decode
from drumline.core.errors import Invalid
from drumline.core.json_errors import choices_at, fields_at, reword, suggestion
from drumline.core.state import Status
from tests.harness.cost import within


class Inner(Struct, forbid_unknown_fields=True):
    on: Literal["failed", "completed"] | None = None


class Outer(Struct, forbid_unknown_fields=True):
    name: str
    count: Annotated[int, Meta(ge=1, le=5)] = 1
    priority: int | str = 0
    at: datetime | None = None
    short: Annotated[str, Meta(max_length=3)] = ""
    few: Annotated[tuple[str, ...], Meta(max_length=2)] = ()
    statuses: tuple[Status, ...] = ()
    inner: list[Inner] | None = None


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("{}", "name: is required"),
        ('{"nme": "x"}', "nme: is not a known field; did you mean name?"),
        ('{"name": 7}', "name: must be a text, not a whole number"),
        ('{"name": "x", "count": 0}', "count: must be at least 1"),
        ('{"name": "x", "count": 9}', "count: must be at most 5"),
        ('{"name": "x", "count": null}', "count: must be a whole number, not null"),
        ('{"name": "x", "priority": 1.5}', "priority: must be a whole number or a text, not a number with a fraction"),
        ('{"name": "x", "at": "soon"}', "at: must be a time such as 2026-01-02T03:04:05Z"),
        ('{"name": "x", "at": []}', "at: must be a time such as 2026-01-02T03:04:05Z, not a list"),
        ('{"name": "x", "short": "long"}', "short: must have at most 3 characters"),
        ('{"name": "x", "few": ["a", "b", "c"]}', "few: must have at most 2 items"),
        ('{"name": "x", "inner": [{}, {"on": "fail"}]}', "inner[1].on: must be one of failed, completed; did you mean failed?"),  # noqa: E501 - one case, one line
        ('{"name": "x", "inner": [{"onn": 1}]}', "inner[0].onn: is not a known field; did you mean on?"),
        ('{"name": "x", "inner": [{"zzz": 1}]}', "inner[0].zzz: is not a known field; known fields: on"),
        ('{"name": "x", "statuses": ["LOST"]}', f"statuses[0]: must be one of {', '.join(Status)}"),
        ("[]", "must be an object, not a list"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_in_words(written: str, told: str) -> None:
    with pytest.raises(Invalid) as caught:
        decode(written, Outer)

    assert str(caught.value) == told


@pytest.mark.parametrize("piece", [" - at `", "unknown field `", "`", "'", "[a", ".a", "\n", "Expected `", "a | "])
@pytest.mark.parametrize("form", ['{{"name": "x", {0}: 1}}', '{{"name": "x", "statuses": [{0}]}}'])
def test_long_texts_of_a_caller_cost_little_and_are_cut(piece: str, form: str) -> None:
    written = form.format(json.dumps(piece * 100_000 + "\n"))

    with pytest.raises(Invalid) as caught:
        within(0.5, lambda: decode(written, Outer))

    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("Some Reason of another kind", "some Reason of another kind"),
        ("Expected `str`, got `int`", "must be a text, not a whole number"),
        ("Expected `str | null`, got `float`", "must be a text, not a number with a fraction"),
        ("Expected `null`, got `bool`", "must be null, not true or false"),
        ("Expected `frob | int | int`, got `array`", "must be frob or a whole number, not a list"),
        ("Invalid enum value 'x'", "is not one of its values: x"),
        ("Expected `float` >= 1.0", "must be at least 1"),
    ],
)
def test_a_reason_is_reworded(reason: str, told: str) -> None:
    assert reword(reason) == told


def test_one_near_word_is_suggested_and_none_for_a_very_long_one() -> None:
    assert suggestion("queu", ["queue", "queues", "name"]) == "; did you mean queue?"
    assert suggestion("zzz", ["queue"]) == ""
    assert suggestion("q" * 100, ["q" * 99]) == f"; did you mean {'q' * 99}?"
    assert suggestion("q" * 101, ["q" * 100]) == ""


@pytest.mark.parametrize(
    ("path", "choices", "fields"),
    [
        ("", (), ("name", "count", "priority", "at", "short", "few", "statuses", "inner")),
        ("inner[0].on", ("failed", "completed"), ()),
        ("inner[0]", (), ("on",)),
        ("statuses[...]", tuple(Status), ()),
        ("name", (), ()),
        ("count", (), ()),
        ("few[0]", (), ()),
        ("none.none", (), ()),
    ],
)
def test_what_may_be_at_a_place_is_found_in_the_type(
    path: str, choices: tuple[str, ...], fields: tuple[str, ...]
) -> None:
    assert choices_at(Outer, path) == choices
    assert fields_at(Outer, path) == fields


def test_what_is_said_about_a_type_does_not_hide_its_values() -> None:
    noted = Annotated[Annotated[Literal["a", "b"], Meta(title="x")] | None, Meta(title="y")]
    assert choices_at(noted, "") == ("a", "b")
    assert choices_at(Annotated[list[noted], Meta(max_length=3)], "[0]") == ("a", "b")
