"""Secrets in Python: only what `secret` returns names one."""

import json
from typing import Any

import pytest

from drumline import Drumline, Invalid, secret
from drumline.sdk.arguments import encode_arguments
from drumline.sdk.placeholder import ReferenceEncoder, place

app = Drumline("shop")


@app.task
def charge(order: int, token: str, data: Any = None) -> None:
    """Do nothing."""


def payload_of(*args: Any, **kwargs: Any) -> Any:
    return json.loads(bytes(charge.request_for(args, kwargs).payload))


def test_a_secret_among_arguments_is_written_as_a_reference() -> None:
    assert payload_of(7, secret("stripe")) == {"order": 7, "token": {"$secret": "stripe"}}
    assert payload_of(7, token=secret("stripe", format="Bearer {}"))["token"] == {
        "$secret": "stripe",
        "format": "Bearer {}",
    }


def test_data_that_looks_like_a_reference_stays_data() -> None:
    """Whoever sends data through a program must not get secrets put into it."""
    data = {"x": [{"$secret": "stripe"}], "y": {"$literal": 1}}

    alone = payload_of(7, "t", data=data)
    beside = payload_of(7, secret("stripe"), data=data)

    escaped = {"x": [{"$literal": {"$secret": "stripe"}}], "y": {"$literal": {"$literal": 1}}}
    assert alone["data"] == beside["data"] == escaped
    assert beside["token"] == {"$secret": "stripe"}


def test_data_without_such_words_is_written_as_it_is() -> None:
    assert encode_arguments({"y": {"$literal": 1}}) == b'{"y":{"$literal":1}}'


def test_a_secret_cannot_hide_inside_data_that_looks_like_one() -> None:
    with pytest.raises(Invalid):
        payload_of(7, "t", data={"$secret": secret("stripe")})


@pytest.mark.parametrize(("name", "format"), [("a b", "{}"), ("", "{}"), ("a", "no slot"), ("a", "{}{}")])
def test_what_cannot_be_a_secret_is_refused_at_once(name: str, format: str) -> None:
    with pytest.raises(Invalid):
        secret(name, format=format)


def test_in_a_job_secrets_and_results_stand_side_by_side() -> None:
    job = object()
    given = {"token": secret("stripe"), "rows": place(job, "extract"), "data": {"$secret": "stripe"}}

    written = json.loads(ReferenceEncoder(job, {"extract"}).encode(given))

    assert written == {
        "token": {"$secret": "stripe"},
        "rows": {"$result": "extract"},
        "data": {"$literal": {"$secret": "stripe"}},
    }


def test_its_name_is_all_that_is_shown() -> None:
    assert repr(secret("stripe")) == "<secret stripe>"
