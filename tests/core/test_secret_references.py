"""Secrets in payloads: found where they stand, filled in where they are meant, and nowhere else."""

import json
from typing import Any

import pytest
from msgspec import Raw

from drumline.core.errors import Invalid
from drumline.core.limits import DEFAULT_LIMITS
from drumline.core.references import fill_in
from drumline.core.secret import check_secret_name, check_secret_value
from drumline.core.secret_references import fill_in_secrets, find_secrets
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
