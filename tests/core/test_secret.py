"""A secret: which names and values it may have, and what is said of it."""

from collections.abc import Callable

import pytest

from drumline.core.errors import Invalid
from drumline.core.event import Fact
from drumline.core.secret import (
    LONGEST_NAME,
    LONGEST_VALUE,
    check_secret_name,
    check_secret_value,
    purpose_of,
    secret_fact,
)


def refusal(check: Callable[[], object]) -> Invalid:
    with pytest.raises(Invalid) as error:
        check()
    return error.value


@pytest.mark.parametrize("name", ["a", "7", "STRIPE_KEY-2.old", "x" * LONGEST_NAME])
def test_a_name_is_returned_as_it_is(name: str) -> None:
    assert check_secret_name(name) == name


@pytest.mark.parametrize("name", ["", "-a", ".a", "_a", "a b", "a/b", "é", "a\n"])
def test_a_name_is_part_of_addresses(name: str) -> None:
    reason = "must be letters, digits and _ . - only, and start with a letter or digit"

    assert str(refusal(lambda: check_secret_name(name))) == f"name: {reason}"
    assert str(refusal(lambda: check_secret_name(name, field="mine"))) == f"mine: {reason}"


def test_a_name_has_a_longest_length() -> None:
    long = "x" * (LONGEST_NAME + 1)

    assert str(refusal(lambda: check_secret_name(long))) == "name: must be at most 128 characters"
    assert str(refusal(lambda: check_secret_name(long, field="mine"))) == "mine: must be at most 128 characters"


@pytest.mark.parametrize("value", ["four", "ä" * (LONGEST_VALUE // 2), "x" * LONGEST_VALUE, "two\nlines"])
def test_a_value_is_returned_as_it_is(value: str) -> None:
    assert check_secret_value(value) == value


def test_a_value_that_would_mask_everything_is_refused() -> None:
    reason = "must have at least 4 characters: it is masked wherever it appears, and less would mask half of everything"

    assert str(refusal(lambda: check_secret_value("abc"))) == f"value: {reason}"
    assert str(refusal(lambda: check_secret_value("abc", field="mine"))) == f"mine: {reason}"


@pytest.mark.parametrize("value", ["x" * (LONGEST_VALUE + 1), "ä" * (LONGEST_VALUE // 2 + 1)])
def test_a_value_is_as_large_as_its_bytes(value: str) -> None:
    error = refusal(lambda: check_secret_value(value))

    assert (str(error), error.code) == ("value: must be at most 65,536 bytes", "too_large")
    assert str(refusal(lambda: check_secret_value(value, field="mine"))) == "mine: must be at most 65,536 bytes"


@pytest.mark.parametrize(
    ("value", "reason"), [("abc\ud800", "must be valid Unicode"), ("abc\x00", "must not contain NUL")]
)
def test_a_value_that_cannot_be_kept_is_refused_without_telling_it(value: str, reason: str) -> None:
    error = refusal(lambda: check_secret_value(value))

    assert (str(error), error.__suppress_context__) == (f"value: {reason}", "Unicode" in reason)
    assert str(refusal(lambda: check_secret_value(value, field="mine"))) == f"mine: {reason}"


def test_a_sealed_value_is_bound_to_its_tenant_and_name() -> None:
    assert purpose_of("acme", "key") == ("secret", "acme", "key")


def test_an_event_of_a_secret_has_its_name_and_not_its_value() -> None:
    assert secret_fact("set", "acme", "key") == Fact("drumline.secret.set", "key", "acme")
