"""Priorities: how they are written, and what a point is worth."""

import pytest

from drumline.core.errors import Invalid
from drumline.core.priority import parse_priority, score

SYNTAX = "must be a number from -100 to 100, or critical, high, normal or low"
BOUNDS = "must be from -100 to 100"


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("critical", 100), ("high", 50), ("normal", 0), ("low", -50), (" HIGH ", 50), ("7", 7), ("+7", 7),
        ("-100", -100), (" 100 ", 100), (0, 0), (100, 100), (-100, -100),
    ],
)  # fmt: skip
def test_names_and_numbers_are_understood(written: int | str, number: int) -> None:
    assert parse_priority(written) == number


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("urgent", SYNTAX), ("", SYNTAX), ("1.5", SYNTAX), ("--1", SYNTAX), ("1000", SYNTAX), ("101", BOUNDS),
        ("-101", BOUNDS), (101, BOUNDS), (-101, BOUNDS),
    ],
)  # fmt: skip
def test_what_is_no_priority_is_refused_with_its_field(written: int | str, reason: str) -> None:
    for named, field in (({}, "priority"), ({"field": "mine"}, "mine")):
        with pytest.raises(Invalid) as refused:
            parse_priority(written, **named)
        assert str(refused.value) == f"{field}: {reason}"


def test_a_point_is_worth_a_minute_of_waiting() -> None:
    assert score(1_000_000, 0) == 1_000_000
    assert score(1_000_000, 2) == 880_000
    assert score(1_000_000, -2) == 1_120_000
