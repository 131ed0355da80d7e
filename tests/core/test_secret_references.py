"""Secrets in payloads: found where they stand, filled in where they are meant, and nowhere else."""

import json
from typing import Any

import pytest
from msgspec import Raw

from drumline.core.errors import Invalid
from drumline.core.limits import DEFAULT_LIMITS
from drumline.core.references import fill_in
from drumline.core.secret import check_secret_name, check_secret_value
from drumline.core.secret_references import (
    LOOKED_THROUGH,
    MOST_FILLED,
    MOST_NAMES,
    any_has_secrets,
    fill_in_secrets,
    find_secrets,
    has_secrets,
)
from tests.harness.cost import within


def filled(payload: Any, **values: str) -> Any:
    return json.loads(bytes(fill_in_secrets(json.dumps(payload).encode(), values)))


def test_references_are_found_with_the_fields_that_they_stand_in() -> None:
    payload = {"a": [{"$secret": "one"}, {"b": {"$secret": "two", "format": "Bearer {}"}}], "c": "$secret"}

    assert [tuple(found) for found in find_secrets(payload)] == [
        ("payload.a[0]", "one"),
        ("payload.a[1].b", "two"),
    ]


def test_values_are_put_into_their_places() -> None:
    payload = {"a": [{"$secret": "one"}, 7], "b": {"$secret": "one", "format": "Bearer {}!"}}

    assert filled(payload, one='s3c"ret') == {"a": ['s3c"ret', 7], "b": 'Bearer s3c"ret!'}


def test_what_is_marked_as_data_stays_data() -> None:
    payload = {"a": {"$literal": {"$secret": "one"}}, "b": {"$secret": "one"}}

    assert [found.name for found in find_secrets(payload)] == ["one"]
    assert filled(payload, one="value") == {"a": {"$secret": "one"}, "b": "value"}


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ({"a": {"$secret": 7}}, "payload.a"),
        ({"a": {"$secret": "one", "b": 1}}, "payload.a"),
        ({"a": {"$secret": "one", "format": "Bearer"}}, "payload.a.format"),
        ({"a": {"$secret": "one", "format": "{} {}"}}, "payload.a.format"),
        ({"a": {"$secret": "one", "format": 7}}, "payload.a.format"),
        ({"a": [{"$secret": "../etc"}]}, "payload.a[0].$secret"),
        ({"a": {"$secret": ""}}, "payload.a.$secret"),
    ],
)
def test_what_cannot_be_meant_so_is_refused_by_its_field(payload: Any, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        find_secrets(payload)

    assert refused.value.field == field


def test_a_result_that_looks_like_a_reference_is_given_as_data() -> None:
    """Whoever decides what a parent gives back must not be able to have secrets put into its child."""
    stored = b'{"key":{"$secret":"db"},"rows":{"$result":"extract"},"n":{"$result":"extract.n"}}'
    forged = Raw(b'{"n":7,"x":{"$secret":"db"},"y":{"$literal":{"$secret":"db"}}}')

    claimed = fill_in(stored, ["extract"], {"extract": forged}, DEFAULT_LIMITS)
    ready = json.loads(bytes(fill_in_secrets(bytes(claimed), {"db": "hunter2"})))

    assert ready == {"key": "hunter2", "rows": json.loads(bytes(forged)), "n": 7}


def test_results_come_bare_where_no_secret_is_to_be_filled_in() -> None:
    forged = Raw(b'{"$secret":"db"}')

    claimed = fill_in(b'{"rows":{"$result":"extract"}}', ["extract"], {"extract": forged}, DEFAULT_LIMITS)

    assert bytes(claimed) == b'{"rows":{"$secret":"db"}}'


@pytest.mark.parametrize("name", ["", "-a", "a b", "a/b", "ä", "a" * 129, "a\n", "."])
def test_names_that_cannot_stand_in_urls_are_refused(name: str) -> None:
    with pytest.raises(Invalid):
        check_secret_name(name)


@pytest.mark.parametrize("value", ["", "abc", "a\x00bcd", "x" * 70_000, "ab\ud800cd"])
def test_a_value_that_cannot_be_kept_is_refused_without_a_word_of_it(value: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_secret_value(value)

    assert not value or value not in str(refused.value)


def test_a_long_name_above_many_values_is_not_copied_for_each_of_them() -> None:
    payload = {"n" * 400_000: [[], {"$secret": "one"}, *({} for _ in range(100_000)), {"$secret": 7}]}

    with pytest.raises(Invalid) as refused:
        within(3, lambda: find_secrets(payload))

    assert len(refused.value.field or "") < 500


def test_a_payload_refers_to_as_many_secrets_as_there_may_be() -> None:
    with pytest.raises(Invalid, match="more than 1,000 secrets"):
        find_secrets([{"$secret": f"s{number}"} for number in range(1001)])


def test_a_small_payload_cannot_ask_for_a_large_secret_without_end() -> None:
    payload = json.dumps([{"$secret": "one"}] * 10_000).encode()

    with pytest.raises(Invalid, match="with the secrets in it"):
        fill_in_secrets(payload, {"one": "x" * 60_000})


MARKED = Raw(b'{"a":{"$secret":"one"}}')
PLAIN = Raw(b'{"a":1}')


@pytest.mark.parametrize("place", [0, 1, LOOKED_THROUGH - 1, LOOKED_THROUGH, 2 * LOOKED_THROUGH + 3])
def test_one_of_many_payloads_that_may_refer_to_secrets_is_found(place: int) -> None:
    payloads = [PLAIN] * (2 * LOOKED_THROUGH + 4)
    assert not any_has_secrets(payloads)
    payloads[place] = MARKED
    assert any_has_secrets(payloads)
    assert any_has_secrets([MARKED])
    assert not any_has_secrets([])


def test_two_payloads_do_not_make_a_mark_together() -> None:
    first, second = Raw(b'"$sec'), Raw(b'ret"')
    assert has_secrets(bytes(first) + bytes(second))
    assert not any_has_secrets([first, second])


def test_a_mark_is_found_wherever_it_stands() -> None:
    assert has_secrets(b'"$secret"')
    assert has_secrets(b' {"$secret":1}')
    assert not has_secrets(b'"secret"')


def test_a_secret_more_than_there_may_be_is_refused() -> None:
    many = [{"$secret": f"s{number}"} for number in range(MOST_NAMES)]
    assert len(find_secrets([*many, many[0]])) == MOST_NAMES
    with pytest.raises(Invalid) as caught:
        find_secrets([*many, {"$secret": "one-more"}], field="tasks[1].payload")
    assert (caught.value.field, caught.value.code) == ("tasks[1].payload", "too_many")
    assert caught.value.message == "refers to more than 1,000 secrets"


MISSHAPEN = (
    'must be {"$secret": name} and nothing else but format; write {"$literal": …} around data that only looks so'
)


@pytest.mark.parametrize(
    ("reference", "field", "message"),
    [
        (
            {"$secret": "one", "more": 1},
            "payload.a",
            MISSHAPEN,
        ),
        (
            {"$secret": "one", "format": "no slot"},
            "payload.a.format",
            "must be a text with one {} in it, where the secret goes",
        ),
    ],
)
def test_what_a_reference_must_be_is_told(reference: Any, field: str, message: str) -> None:
    with pytest.raises(Invalid) as caught:
        find_secrets({"a": reference})
    assert (caught.value.field, caught.value.message) == (field, message)


def test_a_name_that_no_secret_can_have_is_refused_as_it_is_elsewhere() -> None:
    with pytest.raises(Invalid) as of_name:
        check_secret_name("no name!")
    with pytest.raises(Invalid) as caught:
        find_secrets({"a": {"$secret": "no name!"}})
    assert caught.value.field == "payload.a.$secret"
    assert (caught.value.message, caught.value.code) == (of_name.value.message, of_name.value.code)


def test_values_fill_a_payload_up_to_a_bound() -> None:
    half = "x" * (MOST_FILLED // 2)
    two = [{"$secret": "one"}, {"$secret": "one"}]
    assert len(filled(two, one=half)) == 2
    with pytest.raises(Invalid) as caught:
        filled([*two, {"$secret": "two"}], one=half, two="y")
    assert (caught.value.field, caught.value.code) == ("payload", "too_large")
    assert caught.value.message == "is more than 16,777,216 characters with the secrets in it"


def test_data_beside_a_reference_is_looked_through() -> None:
    payload = {"$literal": {"$secret": "data"}, "other": {"$secret": "one"}}
    assert [found.name for found in find_secrets(payload)] == ["data", "one"]
