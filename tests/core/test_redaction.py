"""Redaction: what stands under telling names is not shown, and comes back when somebody edits around it."""

import json
from typing import Any

import pytest
from msgspec import Raw

from drumline.core.errors import Invalid
from drumline.core.redaction import DEFAULT_REDACTION, REDACTED, Redaction
from tests.harness.cost import within


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


@pytest.mark.parametrize(
    "name",
    [
        "password", "Password", "db_password", "PASSWORD_HASH", "passwd", "passphrase", "secret", "client-secret",
        "clientSecret", "token", "access_token", "accessToken", "authorization", "Authorization", "Proxy-Authorization",
        "cookie", "Set-Cookie", "api_key", "apiKey", "X-API-Key", "aws_access_key_id", "private_key", "credentials",
    ],
)  # fmt: skip
def test_telling_names_hide_what_stands_under_them(name: str) -> None:
    assert json.loads(bytes(DEFAULT_REDACTION.payload(raw({"a": [{name: "hunter2"}]})))) == {"a": [{name: REDACTED}]}


@pytest.mark.parametrize("name", ["name", "max_tokens", "tokens", "author", "key", "passenger", "cookies_eaten"])
def test_other_names_do_not(name: str) -> None:
    payload = raw({name: "plain"})

    assert DEFAULT_REDACTION.payload(payload) is payload


def test_nothing_and_references_are_shown_as_they_are() -> None:
    payload = {"password": None, "token": "", "secret": {"$secret": "api"}, "cookie": {}}

    assert json.loads(bytes(DEFAULT_REDACTION.payload(raw(payload)))) == payload


def test_whole_objects_are_hidden() -> None:
    assert json.loads(bytes(DEFAULT_REDACTION.payload(raw({"credentials": {"user": "a", "x": [1]}})))) == {
        "credentials": REDACTED
    }


def test_the_rules_can_be_others_or_none() -> None:
    payload = raw({"iban": "DE89", "password": "hunter2"})

    assert json.loads(bytes(Redaction(["iban"]).payload(payload))) == {"iban": REDACTED, "password": "hunter2"}
    assert Redaction([]).payload(payload) is payload


def test_what_was_not_shown_comes_back_when_the_rest_was_edited() -> None:
    original = raw({"to": "a", "auth": [{"password": "one"}, {"password": "two"}]})

    edited = raw({"to": "b", "auth": [{"password": REDACTED}, {"password": "three"}]})

    assert json.loads(bytes(DEFAULT_REDACTION.restored(edited, original))) == {
        "to": "b",
        "auth": [{"password": "one"}, {"password": "three"}],
    }


def test_what_was_never_there_cannot_come_back() -> None:
    with pytest.raises(Invalid) as refused:
        DEFAULT_REDACTION.restored(raw({"a": {"password": REDACTED}}), raw({"a": {}}))

    assert refused.value.field == "payload.a.password"


def test_a_long_name_above_many_values_is_not_copied_when_they_are_restored() -> None:
    name = "n" * 400_000
    shown = Raw(json.dumps({name: [0] * 100_000 + [{"password": REDACTED}]}).encode())
    original = Raw(json.dumps({name: [0] * 100_000 + [{"password": "x"}]}).encode())

    restored = within(3, lambda: DEFAULT_REDACTION.restored(shown, original))

    assert json.loads(bytes(restored)) == json.loads(bytes(original))
