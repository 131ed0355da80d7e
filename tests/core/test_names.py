"""Names, queues, keys and tags: what is taken, and what is said of the rest."""

import re
from collections.abc import Callable

import pytest

from drumline.core.errors import Invalid
from drumline.core.names import (
    LONGEST_NAME,
    LONGEST_QUEUE,
    LONGEST_TAG,
    MOST_TAGS,
    PHONE,
    SENDER,
    check_key,
    check_limit_key,
    check_name,
    check_queue,
    check_tags,
    check_text,
)

CHECKS = [(check_name, "name"), (check_key, "idempotency_key"), (check_limit_key, "limit_key")]


def refusal(check: Callable[[], object]) -> str:
    with pytest.raises(Invalid) as error:
        check()
    return str(error.value)


@pytest.mark.parametrize(("check", "field"), CHECKS)
def test_a_line_of_text_is_returned_as_it_is(check: Callable[..., str], field: str) -> None:
    for text in ("send mail", "émile 🎈", "x", " x ", "x" * LONGEST_NAME):
        assert check(text) == text
        assert check(text, field=f"my {field}") == text


@pytest.mark.parametrize(("check", "field"), CHECKS)
def test_a_text_that_is_refused_names_its_field_and_the_reason(check: Callable[..., str], field: str) -> None:
    for named, subject in (({}, field), ({"field": "mine"}, "mine")):
        assert refusal(lambda named=named: check(" \t", **named)) == f"{subject}: must not be blank"  # type: ignore[misc]
        assert (
            refusal(lambda named=named: check("x" * (LONGEST_NAME + 1), **named))  # type: ignore[misc]
            == f"{subject}: must be at most 255 characters"
        )
        assert (
            refusal(lambda named=named: check("a\nb", **named))  # type: ignore[misc]
            == f"{subject}: must not contain control characters"
        )


def test_a_text_may_be_as_long_as_it_is_said() -> None:
    assert check_text("abc", field="f", longest=3) == "abc"
    assert refusal(lambda: check_text("abcd", field="f", longest=3)) == "f: must be at most 3 characters"


@pytest.mark.parametrize("character", ["\x00", "\x1f", "\x7f", "\x9f", chr(0xD800), chr(0xDFFF)])
def test_what_cannot_be_shown_or_stored_is_refused(character: str) -> None:
    assert refusal(lambda: check_name(f"a{character}b")) == "name: must not contain control characters"


def test_the_neighbours_of_control_characters_are_text() -> None:
    assert check_name("a \x7e\xa0\ud7ff\ue000") == "a \x7e\xa0\ud7ff\ue000"


@pytest.mark.parametrize("queue", ["a", "7", "A-b_c.d:e@f", "x" * LONGEST_QUEUE])
def test_a_queue_is_returned_as_it_is(queue: str) -> None:
    assert check_queue(queue) == queue


@pytest.mark.parametrize("queue", ["", "-a", ".a", "a b", "a/b", "é", "a\n"])
def test_a_queue_is_part_of_keys_and_addresses(queue: str) -> None:
    reason = "must be letters, digits and _ . : @ - only, and start with a letter or digit"

    assert refusal(lambda: check_queue(queue)) == f"queue: {reason}"
    assert refusal(lambda: check_queue(queue, field="mine")) == f"mine: {reason}"


def test_a_queue_has_a_longest_name() -> None:
    long = "x" * (LONGEST_QUEUE + 1)

    assert refusal(lambda: check_queue(long)) == "queue: must be at most 128 characters"
    assert refusal(lambda: check_queue(long, field="mine")) == "mine: must be at most 128 characters"


def test_each_tag_counts_once_in_the_order_given() -> None:
    assert check_tags(("b", "a", "b")) == ("b", "a")
    assert check_tags(tuple(str(n) for n in range(MOST_TAGS))) == tuple(str(n) for n in range(MOST_TAGS))


def test_a_tag_that_is_refused_is_named_by_its_place() -> None:
    assert refusal(lambda: check_tags(("a", " "))) == "tags[1]: must not be blank"
    assert refusal(lambda: check_tags(("x" * (LONGEST_TAG + 1),))) == "tags[0]: must be at most 64 characters"
    assert refusal(lambda: check_tags(("a", "\0"), field="mine")) == "mine[1]: must not contain control characters"


def test_there_are_only_so_many_tags() -> None:
    many = tuple(str(n) for n in range(MOST_TAGS + 1))

    assert refusal(lambda: check_tags(many)) == "tags: must be at most 20"
    assert refusal(lambda: check_tags(many, field="mine")) == "mine: must be at most 20"


def test_a_phone_number_has_its_country_and_a_sender_may_be_a_name() -> None:
    assert re.search(PHONE, "+4915112345678")
    assert not any(re.search(PHONE, text) for text in ("015112345678", "+0151123456", "+491511\n", "+49 151 123"))
    assert all(re.search(SENDER, text) for text in ("+4915112345678", "Drumline 24"))
    assert not any(re.search(SENDER, text) for text in ("Twelve chars", "", "Drum\n", "+1"))
