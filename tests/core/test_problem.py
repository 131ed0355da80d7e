"""A reply that refuses something becomes the error that it tells of, whoever wrote it."""

import json

import pytest

from drumline.core.errors import (
    Conflict,
    DrumlineError,
    Fenced,
    Forbidden,
    Invalid,
    KeyReused,
    NotFound,
    Overloaded,
    QuotaExceeded,
    RateLimited,
    Unauthorized,
    Unavailable,
    Unreadable,
)
from drumline.core.problem import Problem, error_of


def reply(**fields: object) -> bytes:
    return json.dumps(fields).encode()


@pytest.mark.parametrize(
    "kind",
    [
        Conflict, Fenced, Forbidden, KeyReused, NotFound, Overloaded, QuotaExceeded, RateLimited, Unauthorized,
        Unavailable, Unreadable,
    ],
)  # fmt: skip
def test_a_code_names_the_error(kind: type[DrumlineError]) -> None:
    error = error_of(400, reply(code=kind.code, detail="no", field="name"))

    assert (type(error), error.message, error.field) == (kind, "no", "name")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, Unauthorized),
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (429, Overloaded),
        (400, Invalid),
        (422, Invalid),
        (499, Invalid),
        (500, Unavailable),
        (502, Unavailable),
    ],
)
def test_without_a_known_code_the_status_decides(status: int, kind: type[DrumlineError]) -> None:
    error = error_of(status, reply(code="new", detail="no", field="f", status=200))

    assert (type(error), error.message, error.field) == (kind, "no", "f")


def test_an_unknown_code_of_a_refused_input_is_kept() -> None:
    assert error_of(422, reply(code="new", detail="no")).code == "new"
    assert error_of(422, reply(detail="no")).code == "invalid"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"detail": "name: must not be blank", "field": "name", "title": "t"}, "must not be blank"),
        ({"title": "Refused"}, "Refused"),
        ({}, "the server answered 422"),
    ],
)
def test_the_message_is_the_detail_or_the_title_without_its_field(fields: dict[str, object], message: str) -> None:
    assert error_of(422, reply(**fields)).message == message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b" <html>bad gateway\xff ",
            "the server answered 502: a web page (bad gateway\ufffd); check the address, and any proxy before it",
        ),
        (b"", "the server answered 502"),
        (b"  \n", "the server answered 502"),
        (b"x" * 300, "the server answered 502: " + "x" * 200),
    ],
)
def test_a_reply_of_something_in_between_is_told_by_its_beginning(body: bytes, message: str) -> None:
    error = error_of(502, body)

    assert (type(error), error.message) == (Unavailable, message)


def test_a_problem_has_no_field_where_there_is_none() -> None:
    assert Problem(status=404, detail="None: x").error().field is None
