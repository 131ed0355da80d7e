"""URLs that others write are read in one way only, or refused."""

import pytest

from drumline.core.errors import Invalid
from drumline.core.target import Target, TargetKind, check_email, check_webhook, target_of
from drumline.core.url import UrlParts, ends_in_number, parse_host, parse_url

BLANKS = "url: must not have blanks, control characters or backslashes in it"
SCHEME = "url: must start with http:// or https://"
AUTHORITY = "url: must have a host after //, and after that nothing but a port"
PORT = "url: must have a port from 1 to 65535"
MAIL = "email: must be one mail address such as ada@example.org"


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("http://example.org", UrlParts("http", "example.org", 80)),
        ("HTTPS://Example.ORG./a?b#c", UrlParts("https", "example.org", 443)),
        ("https://example.org:1/", UrlParts("https", "example.org", 1)),
        ("http://example.org:65535?q=ä", UrlParts("http", "example.org", 65535)),
        ("http://192.0.2.7/", UrlParts("http", "192.0.2.7", 80)),
        ("http://[2001:DB8::0:1]:8080/", UrlParts("http", "2001:db8::1", 8080)),
        ("http://a_b-c.x#@", UrlParts("http", "a_b-c.x", 80)),
        ("http://example.org/" + "a" * (2048 - 19), UrlParts("http", "example.org", 80)),
    ],
)
def test_a_url_leads_where_it_says(url: str, parts: UrlParts) -> None:
    assert parse_url(url, field="url") == parts


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://example.org/" + "a" * (2049 - 19), "url: must be at most 2048 characters"),
        ("http://example.org/ x", BLANKS),
        ("http://example.org\\x", BLANKS),
        ("http://example.org/\x7f", BLANKS),
        ("http://example.org/\u2028", BLANKS),
        ("ftp://example.org", SCHEME),
        ("httpx://example.org", SCHEME),
        ("example.org", SCHEME),
        ("http:/example.org", SCHEME),
        ("", SCHEME),
        ("http://", AUTHORITY),
        ("http:///x", AUTHORITY),
        ("http://a%62.org/", AUTHORITY),
        ("http://example.org:80:80/", AUTHORITY),
        ("http://example.org:123456/", AUTHORITY),
        ("http://example.org:/", AUTHORITY),
        ("http://example.org:0/", PORT),
        ("http://example.org:65536/", PORT),
        ("http://ada@example.org/", "url: must not carry a user name or password"),
        ("http://ada:x@example.org/", "url: must not carry a user name or password"),
        ("http://exämple.org/", "url: must have its host in ASCII; international names are written xn--…"),
        ("http://[::g]/", AUTHORITY),
        ("http://[:::]/", "url: has [:::] in it, which is no IPv6 address"),
        ("http://127.1/", "url: has an address in it that is written unusually: 127.1"),
        ("http://0x7f000001/", "url: has an address in it that is written unusually: 0x7f000001"),
        ("http://a..b/", "url: has a..b in it, which is no host name"),
        ("http://-a.b/", "url: has -a.b in it, which is no host name"),
    ],
)
def test_what_programs_read_differently_is_refused_with_the_reason(url: str, told: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_url(url, field="url")

    assert str(caught.value) == told


@pytest.mark.parametrize("prefix", ["", "[", "1."])
def test_a_long_host_is_told_shortened(prefix: str) -> None:
    text = prefix + "9" * 300

    with pytest.raises(Invalid) as caught:
        parse_host(text, field="host")

    assert text[:100] in str(caught.value)
    assert text[:101] not in str(caught.value)
    assert caught.value.field == "host"


@pytest.mark.parametrize(
    ("host", "is_number"),
    [("127.0.0.1", True), ("1", True), ("a.0x", True), ("a.0x7f", True), ("a.1b", False), ("1.a", False), ("", False)],
)
def test_a_host_whose_last_part_is_a_number_may_be_taken_for_an_address(host: str, is_number: bool) -> None:
    assert ends_in_number(host) is is_number


@pytest.mark.parametrize("length", [253, 254])
def test_a_host_name_has_at_most_253_characters(length: int) -> None:
    name = ".".join(["a" * 49] * 5) + "." + "b" * (length - 250)

    if length == 253:
        assert parse_host(name, field="host") == name
    else:
        with pytest.raises(Invalid, match="which is no host name"):
            parse_host(name, field="host")


def test_a_target_is_a_webhook_or_a_mail_address() -> None:
    hook = "https://example.org/x?y=1"

    assert target_of(hook, None) == Target(TargetKind.WEBHOOK, hook)
    assert target_of(None, "ada@example.org") == Target(TargetKind.EMAIL, "ada@example.org")
    assert [kind.word for kind in TargetKind] == ["webhook", "email"]


@pytest.mark.parametrize(
    ("webhook", "email", "field", "told"),
    [
        (None, None, "", "webhook: must have either webhook or email"),
        ("https://a.b", "a@b", "", "webhook: must have either webhook or email"),
        (None, None, "notify[0]", "notify[0]: must have either webhook or email"),
        ("x", None, "", "webhook: must start with http:// or https://"),
        ("x", None, "notify[0]", "notify[0].webhook: must start with http:// or https://"),
        (None, "x", "notify[0]", "notify[0].email: must be one mail address such as ada@example.org"),
        (None, "", "", MAIL),
    ],
)
def test_a_wrong_target_is_refused_by_its_field(webhook: str | None, email: str | None, field: str, told: str) -> None:
    with pytest.raises(Invalid) as caught:
        target_of(webhook, email, field=field)

    assert str(caught.value) == told


def test_a_webhook_is_written_in_ascii() -> None:
    with pytest.raises(Invalid) as caught:
        check_webhook("https://example.org/ä", field="webhook")

    assert str(caught.value) == "webhook: must be written in ASCII; escape the rest with %"


@pytest.mark.parametrize("address", ["a@b", "ada.l+x@mail.example.org", f"{'a' * 64}@{'b' * 189}"])
def test_one_mail_address_is_accepted(address: str) -> None:
    assert check_email(address, field="email") == address


@pytest.mark.parametrize(
    "address", ["a@b, c@d", "a@b\n", "Ada <a@b>", "@b", "a@", "a@b..c", f"{'a' * 65}@b", f"{'a' * 64}@{'b' * 190}"]
)
def test_everything_else_is_no_mail_address(address: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_email(address, field="email")

    assert str(caught.value) == MAIL
