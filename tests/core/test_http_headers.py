"""Which headers an `http` task may set, when it is submitted and when it runs."""

import msgspec
import pytest

from drumline.core.errors import Invalid
from drumline.core.http_headers import FRAMING, check_given_headers, check_header, signs_in_connection
from drumline.core.ids import TaskId
from drumline.core.task import TaskRequest, accept
from drumline.worker.executors.http import HttpPayload, _check


def submit(headers: object, *, name: str = "http") -> None:
    payload = msgspec.json.encode({"url": "http://example.com", "headers": headers})
    accept(TaskRequest(name=name, payload=msgspec.Raw(payload)), id=TaskId("1"))


@pytest.mark.parametrize("name", sorted(FRAMING))
def test_what_says_where_a_message_ends_is_not_for_a_task_to_set(name: str) -> None:
    for written in (name, name.upper(), name.title()):
        with pytest.raises(Invalid, match="not for a task to set"):
            submit({written: "1"})
        with pytest.raises(Invalid, match="not for a task to set"):
            _check(HttpPayload(url="http://example.com", headers={written: "1"}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("a b", "c"), ("a:", "c"), ("", "c"), ("a\r\nx", "c"), ("é", "c"), ("a\0", "c"), ("x" * 300, "c"),
        ("a", "b\r\nx: y"), ("a", "b\nx: y"), ("a", "b\0"), ("a", "é"), ("a", "\x1b[0m"), ("content-length ", "0"),
    ],
)  # fmt: skip
def test_a_header_is_a_name_and_one_line_of_printable_text(name: str, value: str) -> None:
    with pytest.raises(Invalid, match="one line of printable text"):
        submit({name: value})
    with pytest.raises(Invalid, match="one line of printable text"):
        _check(HttpPayload(url="http://example.com", headers={name: value}))


def test_other_headers_and_values_that_are_filled_in_later_are_accepted() -> None:
    submit({"Accept": "text/plain", "Authorization": {"$secret": "token"}, "X-Id": {"$result": "first"}})
    submit("these are no headers, which the worker will say")
    submit({"Host": "x"}, name="another name")


def test_a_refusal_names_the_header() -> None:
    with pytest.raises(Invalid) as refused:
        check_header("a b" + "x" * 200, "c", field="mine")
    assert str(refused.value) == (f"mine.a b{'x' * 97}: must be a header's name and one line of printable text")
    with pytest.raises(Invalid) as refused:
        check_header("HOST", "c", field="mine")
    assert str(refused.value) == "mine.host: is not for a task to set: the URL, the body and the client say it"


def test_the_headers_of_a_payload_are_looked_at_one_by_one() -> None:
    with pytest.raises(Invalid) as refused:
        check_given_headers({"headers": {"Accept": "x", "Te": "y"}})

    assert str(refused.value) == "payload.headers.te: is not for a task to set: the URL, the body and the client say it"
    others: tuple[object, ...] = (None, [], "x", {}, {"headers": None}, {"headers": [1]}, {"other": {"te": "y"}})
    for payload in others:
        check_given_headers(payload)


def test_a_value_may_have_tabs_and_a_name_a_bounded_length() -> None:
    check_header("x" * 256, "a\tb ~", field="mine")
    check_header("!#$%&'*+-.^_`|~0Az", "", field="mine")
    with pytest.raises(Invalid):
        check_header("x" * 257, "", field="mine")


@pytest.mark.parametrize(
    ("headers", "is_so"),
    [
        ({}, False),
        ({"X": "NTLM abc"}, False),
        ({"Authorization": "NTLM abc"}, True),
        ({"x": "y", "AUTHORIZATION": " Negotiate abc"}, True),
        ({"authorization": "Bearer abc"}, False),
        ({"authorization": "  BASIC abc"}, False),
        ({"authorization": "Digest"}, False),
        ({"authorization": "bearerabc"}, True),
        ({"authorization": ""}, True),
    ],
)
def test_only_what_holds_for_one_request_leaves_the_connection_alone(headers: dict[str, str], is_so: bool) -> None:
    assert signs_in_connection(headers) is is_so
