"""What the guard refuses, in as many disguises as could be found, and what it lets through."""

import asyncio
from collections.abc import Sequence

import pytest

from drumline.core.errors import Invalid
from drumline.outbound.guard import AddressGuard, AddressRefused, parse_allowed
from tests.outbound import vectors

PUBLIC = "93.184.215.14"


class Resolver:
    """Answers from a table, one answer after the other, and counts how often it was asked."""

    def __init__(self, **answers: Sequence[Sequence[str]]) -> None:
        self.answers = {name: list(each) for name, each in answers.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, _port: int) -> Sequence[str]:
        self.asked.append(host)
        await asyncio.sleep(0)
        answers = self.answers.get(host)
        if answers is None:
            return [PUBLIC]
        return answers.pop(0) if len(answers) > 1 else answers[0]


def by_table(host: str) -> Sequence[str]:
    return vectors.NAMES.get(host, vectors.NAMES.get(f"{host}.", (PUBLIC,)))


class Names(Resolver):
    async def __call__(self, host: str, _port: int) -> Sequence[str]:
        self.asked.append(host)
        return by_table(host)


async def reach(guard: AddressGuard, url: str) -> tuple[str, ...]:
    place = guard.check_url(url, field="url")
    return await guard.addresses(place.host, place.port)


def test_there_are_at_least_three_hundred_disguises() -> None:
    assert len(vectors.forbidden_urls()) + len(vectors.NAMES) >= 300


def test_no_disguise_leads_inside() -> None:
    urls = list(vectors.forbidden_urls())

    assert len(urls) > 500
    assert [url for url in urls if is_let_through(url)] == []


def is_let_through(url: str) -> bool:
    try:
        AddressGuard().check_url(url, field="url")
    except (AddressRefused, Invalid):
        return False
    return True


@pytest.mark.parametrize("name", vectors.NAMES)
async def test_no_name_leads_inside(name: str) -> None:
    with pytest.raises(AddressRefused, match="resolves to"):
        await reach(AddressGuard(resolve=Names()), f"http://{name}/")


@pytest.mark.parametrize("url", vectors.OUTSIDE)
async def test_the_public_internet_is_reached(url: str) -> None:
    assert await reach(AddressGuard(resolve=Names()), url)


async def test_a_host_that_comes_by_another_way_is_judged_too() -> None:
    for host in ("127.0.0.1", "::1", "0x7f.1", "2130706433", "localhost", "::ffff:10.0.0.1", "evil example", ""):
        with pytest.raises(AddressRefused):
            await AddressGuard(resolve=Names()).addresses(host, 80)


async def test_an_answer_that_changes_is_asked_for_once() -> None:
    resolver = Resolver(**{"rebind.example": [[PUBLIC], ["127.0.0.1"]]})
    guard = AddressGuard(resolve=resolver)

    assert await guard.addresses("rebind.example", 80) == (PUBLIC,), "connected to without another question"
    assert resolver.asked == ["rebind.example"]
    with pytest.raises(AddressRefused, match=r"127\.0\.0\.1, which is a loopback address"):
        await guard.addresses("rebind.example", 80)


async def test_the_reason_names_the_address_and_what_an_operator_can_do() -> None:
    guard = AddressGuard(resolve=Names(), setting="notify.allow")

    with pytest.raises(AddressRefused) as refused:
        await reach(guard, "https://metadata.example/latest")

    assert str(refused.value) == (
        "metadata.example resolves to 169.254.169.254, which is a cloud's metadata address; "
        "an operator can allow it with notify.allow"
    )


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ("127.0.0.0/8", "http://127.0.0.1:25/"),
        ("127.0.0.1", "http://127.0.0.1/"),
        ("::1", "http://[::1]:8080/"),
        ("[::1]", "http://[::1]:8080/"),
        ("10.0.0.0/8", "http://private.example/"),
        ("private.example", "http://PRIVATE.example./"),
        ("*.example", "http://metadata.example/"),
        ("*", "http://169.254.169.254/"),
        ("*", "http://1.1.1.1:22/"),
        ("1.1.1.0/24", "http://1.1.1.1:22/"),
    ],
)
async def test_what_an_operator_allowed_is_reached_at_any_port(entry: str, url: str) -> None:
    with pytest.raises(AddressRefused):
        await reach(AddressGuard(resolve=Names()), url)

    assert await reach(AddressGuard(parse_allowed([entry], field="allow"), resolve=Names()), url)


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ("127.0.0.1", "http://127.0.0.2/"),
        ("10.0.0.0/8", "http://both6.example/"),
        ("10.0.0.0/8", "http://127.0.0.1/"),
        ("example", "http://private.example/"),
        ("*.private.example", "http://private.example/"),
        ("ivate.example", "http://private.example/"),
        ("93.184.215.0/24", "http://both.example/"),
    ],
)
async def test_nothing_else_is_reached(entry: str, url: str) -> None:
    with pytest.raises(AddressRefused):
        await reach(AddressGuard(parse_allowed([entry], field="allow"), resolve=Names()), url)


@pytest.mark.parametrize(
    "entry", ["", "10.0.0.1/8", "10.0.0.0/33", "http://a", "a b", "a/8", "0x7f.1", "*.", "**", "a..b"]
)
def test_an_entry_that_cannot_be_read_is_named(entry: str) -> None:
    with pytest.raises(Invalid) as invalid:
        parse_allowed(["10.0.0.0/8", entry], field="notify.allow")

    assert invalid.value.field == "notify.allow[1]"


async def test_a_host_without_addresses_is_no_refusal_but_may_come_back() -> None:
    with pytest.raises(OSError, match="has no address"):
        await AddressGuard(resolve=Resolver(**{"gone.example": [[]]})).addresses("gone.example", 80)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://ada:secret@hooks.example/", "must not carry a user name or password"),
        ("http://m\u00fcnchen.example/", "must have its host in ASCII; international names are written xn--…"),
        ("http://0x7f.1/", "has an address in it that is written unusually: 0x7f.1"),
        ("gopher://hooks.example/", "must start with http:// or https://"),
    ],
)
def test_a_url_that_could_be_misread_is_refused_in_words(url: str, reason: str) -> None:
    with pytest.raises(Invalid) as invalid:
        AddressGuard().check_url(url, field="webhook")

    assert (invalid.value.field, invalid.value.message) == ("webhook", reason)
