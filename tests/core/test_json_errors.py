"""What does not fit is told in words that name the field and say what would fit."""

import json
from datetime import datetime
from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct

from drumline.core.codec import decode
from drumline.core.errors import Invalid
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
