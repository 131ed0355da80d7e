"""Rates as people write them."""

import pytest

from drumline.core.errors import Invalid
from drumline.core.rate import MOST_REQUESTS, Rate, parse_rate


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("100/60s", Rate(100, 60.0)),
        (" 50 / s ", Rate(50, 1.0)),
        ("7/m", Rate(7, 60.0)),
        ("7/h", Rate(7, 3600.0)),
        ("1/d", Rate(1, 86_400.0)),
        ("1000000000/1s", Rate(MOST_REQUESTS, 1.0)),
        ("3/1m30s", Rate(3, 90.0)),
        ("unlimited", None),
        (" UnLimited ", None),
    ],
)
def test_rates_are_understood(text: str, rate: Rate | None) -> None:
    assert parse_rate(text, field="rate") == rate


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("fast", r'^must be a rate such as "100/60s", or "unlimited"$'),
        ("0/s", r"^must allow from 1 to 1,000,000,000 requests$"),
        ("1000000001/s", r"^must allow from 1 to 1,000,000,000 requests$"),
        ("1/999ms", r"^must be over a second to a day$"),
        ("1/86401s", r"^must be over a second to a day$"),
        ("1/x", r'^must be seconds, or a text such as "1h30m" \(w, d, h, m, s, ms\) or "PT1H30M"$'),
    ],
)
def test_other_rates_are_refused_by_field(text: str, reason: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_rate(text, field="access.rate")

    assert caught.value.field == "access.rate"
    assert caught.match(f"access.rate: {reason.strip('^$')}$")


def test_a_rate_is_shown_as_it_is_written_and_comes_to_so_many_a_second() -> None:
    assert str(Rate(100, 90.0)) == "100/1m30s"
    assert Rate(30, 60.0).per_second == 0.5
