"""Names, tags, patterns, URLs, headers, keys and cookies."""

from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import httptools
import httpx
import msgspec
import pytest
import urllib3
from hypothesis import assume, example, given
from hypothesis import strategies as st

from drumline.api.addresses import Addresses, parse_networks
from drumline.api.browser_sessions import read_cookie, write_cookie
from drumline.core.api_key import check_first_key, is_mistyped, make_key, prefix_of
from drumline.core.codec import decode, encode
from drumline.core.errors import Invalid
from drumline.core.globs import Globs
from drumline.core.http_headers import FRAMING, check_header, signs_in_connection
from drumline.core.names import LONGEST_TAG, MOST_TAGS, check_name, check_queue, check_tags
from drumline.core.priority import HIGHEST, LOWEST, parse_priority
from drumline.core.retry import Backoff
from drumline.core.seal import Seal
from drumline.core.secret import check_secret_name
from drumline.core.url import parse_host, parse_url
from tests.fuzz.properties import accepted, fuzz, outcome, steps

SEAL: Final = Seal(b"sixteen bytes or more")
near_url = st.from_regex(
    r"[hH][tT]{2}[pP][sS]?://[A-Za-z0-9.\-_\[\]:@%\\]{0,20}(:[0-9]{0,6})?([/?#][!-~]{0,12})?", fullmatch=True
)
hosts = st.from_regex(r"[a-z0-9_]([a-z0-9_-]{0,8})(\.[a-z0-9_]([a-z0-9_-]{0,5})){0,3}\.?", fullmatch=True)
addresses = st.ip_addresses().map(str)
header_names = st.text(max_size=20) | st.from_regex(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,20}", fullmatch=True)
header_values = st.text(max_size=30) | st.from_regex(r"[\t\x20-\x7e]{0,30}", fullmatch=True)


class Sealed(msgspec.Struct, frozen=True):
    """A value to seal."""

    text: str
    number: int


class SeenHeaders:
    """What a server reads of a request."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.requests = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header."""
        self.headers.append((name, value))

    def on_message_complete(self) -> None:
        """Count a request."""
        self.requests += 1


def seen_by_a_server(name: str, value: str) -> SeenHeaders:
    """Return what a server reads of a request that has a header."""
    seen = SeenHeaders()
    head = f"GET / HTTP/1.1\r\nHost: a\r\n{name}: {value}\r\n\r\n"
    httptools.HttpRequestParser(seen).feed_data(head.encode("latin-1"))
    return seen


@fuzz()
@given(st.text(max_size=300))
@example("\ud800")
@example("a\x85b")
def test_names_and_queues_can_be_stored_and_stay_as_they_are(text: str) -> None:
    for check in (check_name, check_queue, check_secret_name):
        checked = accepted(partial(check, text))
        assert checked is None or checked == text
        assert checked is None or (checked.encode() and "\0" not in checked and "\n" not in checked)


@fuzz()
@given(st.lists(st.text(max_size=70), max_size=25).map(tuple))
def test_tags_are_few_short_and_each_there_once(tags: tuple[str, ...]) -> None:
    checked = accepted(lambda: check_tags(tags))

    if checked is not None:
        assert len(tags) <= MOST_TAGS
        assert checked == tuple(dict.fromkeys(tags)) == check_tags(checked)
        assert all(0 < len(tag) <= LONGEST_TAG for tag in checked)


@fuzz()
@given(st.text(max_size=10) | st.integers() | st.integers(-150, 150).map(str))
@example("+\u0663")
def test_a_priority_is_a_number_between_its_bounds(value: int | str) -> None:
    number = accepted(lambda: parse_priority(value))

    if number is not None:
        assert LOWEST <= number <= HIGHEST
        assert parse_priority(str(number)) == parse_priority(number) == number


@fuzz()
@given(st.lists(st.text(alphabet="ab*", max_size=30), min_size=1, max_size=10), st.text(alphabet="ab", max_size=200))
@example(["*a" * 40 + "b"], "a" * 2000)
def test_each_part_of_a_pattern_is_looked_for_once(patterns: list[str], text: str) -> None:
    globs = Globs(patterns)
    parts = sum(len(pattern.split("*")) for pattern in patterns)

    assert steps(lambda: globs.match(text)) <= 4 * parts + 8 * len(patterns) + 8


@fuzz(200)
@given(st.text(max_size=60) | near_url | st.builds("http://{}:{}/".format, hosts, st.integers(0, 70_000)))
@example("http://a%2eb/")
@example("http://1.2.3/")
@example("http://0x7f.1/")
@example("http://[::ffff:1.2.3.4%25eth0]/")
@example("http://a..b/")
@example("HTTP://A.:080?x")
def test_every_reader_of_a_url_finds_the_same_host_and_port(url: str) -> None:
    parts = accepted(lambda: parse_url(url, field="url"))

    if parts is not None:
        port = {"http": 80, "https": 443}[parts.scheme]
        split, client, pool = urlsplit(url), httpx.URL(url), urllib3.util.parse_url(url)
        others = [
            (split.scheme, split.hostname, split.port),
            (client.scheme, client.host, client.port),
            (pool.scheme, pool.host, pool.port),
        ]
        for scheme, host, found in others:
            assert scheme == parts.scheme
            assert parse_host(_bracketed(host), field="url") == parts.host
            assert (found or port) == parts.port


@fuzz()
@given(st.sampled_from(["http", "https"]), hosts | addresses, st.integers(1, 65_535))
def test_a_url_made_of_its_parts_has_those_parts(scheme: str, host: str, port: int) -> None:
    parts = accepted(lambda: parse_url(f"{scheme}://{_bracketed(host)}:{port}/", field="url"))

    if parts is not None:
        assert (parts.scheme, parts.port) == (scheme, port)
        assert parse_url(f"{scheme}://{_bracketed(parts.host)}:{port}", field="url") == parts


def _bracketed(host: str | None) -> str:
    host = (host or "").strip("[]")
    return f"[{host}]" if ":" in host else host


@fuzz()
@given(header_names, header_values)
@example("X-A", "b\r\nContent-Length: 5")
@example("Transfer-Encoding ", "chunked")
@example("X-A", "")
def test_a_header_that_is_accepted_is_one_header_to_a_server(name: str, value: str) -> None:
    if outcome(partial(check_header, name, value, field="headers")) is None:
        seen = seen_by_a_server(name, value)

        assert name.lower() not in FRAMING
        assert seen.requests == 1
        assert [(key, text.strip()) for key, text in seen.headers[1:]] == [(name.encode(), value.strip().encode())]
        signs_in_connection({name: value})


@fuzz()
@given(st.text(max_size=40) | st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=40))
def test_a_first_key_travels_in_a_header_as_it_is(text: str) -> None:
    key = accepted(lambda: check_first_key(text))

    if key is not None:
        assert seen_by_a_server("X-API-Key", key).headers[1:] == [(b"X-API-Key", key.encode())]


@fuzz()
@given(st.binary(max_size=80), st.binary(min_size=32, max_size=32), st.from_regex(r"[a-z0-9]{1,16}", fullmatch=True))
def test_a_key_shows_its_beginning_only_and_other_text_is_no_mistake(data: bytes, secret: bytes, place: str) -> None:
    key = make_key(place, secret)

    assert key.startswith(prefix_of(key))
    assert len(key) - len(prefix_of(key)) >= 40
    assert is_mistyped(data) in {True, False}
    assert not is_mistyped(key.encode())
    assert is_mistyped(key[:-1].encode())


@fuzz()
@given(st.text(max_size=20), st.integers(-(2**63), 2**63 - 1), st.text(alphabet=st.characters(max_codepoint=255)))
def test_only_what_was_sealed_is_opened(text: str, number: int, other: str) -> None:
    assume(text.isprintable())
    sealed = SEAL.seal("test", Sealed(text, number))
    name, written = write_cookie("session", sealed, secure=True)
    cookie = (b"cookie", b"a=b; " + written.split(b";")[0])

    assert name == b"set-cookie"
    assert read_cookie([cookie], "session") == sealed
    assert read_cookie([cookie, cookie], "session") is None
    assert SEAL.open("test", sealed, Sealed) == Sealed(text, number)
    assert SEAL.open("other", sealed, Sealed) is None
    assert SEAL.open("test", other, Sealed) is None
    assert SEAL.open("test", sealed[:-1], Sealed) is None


@fuzz()
@given(st.lists(addresses | st.text(max_size=20), max_size=5), st.sampled_from(["10.0.0.1", "::1", "192.0.2.7"]))
@example(["1.2.3.4", "::ffff:10.0.0.1", "[::1]:80"], "10.0.0.1")
def test_the_address_of_a_request_is_never_one_that_a_stranger_made_up(passed: list[str], peer: str) -> None:
    header = (b"x-forwarded-for", ", ".join(passed).encode("utf-8", "replace"))
    scope: dict[str, Any] = {"client": (peer, 1), "headers": [header]}

    found = Addresses(("10.0.0.0/8", "::1/128")).of(scope)

    if peer == "192.0.2.7":
        assert found == peer  # it is no trusted proxy, so nothing that it passes on counts
    assert accepted(lambda: parse_networks((found,), field="address")) is not None


backoffs = st.fixed_dictionaries(
    {}, optional={name: st.floats() | st.integers(-2, 200) for name in ("base", "factor", "cap", "jitter")}
)


@fuzz()
@given(backoffs | st.dictionaries(st.text(max_size=6), st.none() | st.text(max_size=3), max_size=2))
@example({"base": 1e308, "factor": 100})
@example({"cap": float("nan")})
def test_a_backoff_waits_longer_each_time_and_is_written_as_it_is_read(parts: dict[str, Any]) -> None:
    backoff = accepted(lambda: decode(encode(parts), Backoff).check())

    if backoff is not None:
        waits = [backoff.delay(retry, lambda: 0.0).total_seconds() for retry in (1, 2, 3, 64, 65, 66, 1000)]
        assert waits == sorted(waits)
        assert waits[0] >= 0
        assert waits[-1] <= backoff.cap
        assert backoff.delay(5, lambda: 1.0) <= backoff.delay(5, lambda: 0.0)
        assert decode(encode(backoff), Backoff) == backoff


def test_what_a_key_may_not_be_is_said_by_field() -> None:
    with pytest.raises(Invalid, match="at least 8 characters") as caught:
        check_first_key("short")

    assert caught.value.field == "api_key"
