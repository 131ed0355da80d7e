"""Whoever tries keys is slowed down; whoever has one is not."""

from pathlib import Path

import httpx
import pytest

from drumline.aio.events import StopEvent
from drumline.api.addresses import Addresses, group_of
from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.lockout import FREE, LONGEST_PAUSE, MOST_ADDRESSES, MOST_WRONG, Lockout
from drumline.api.operation import Info
from drumline.core.api_key import check_first_key, is_strong, make_key
from drumline.core.clock import ManualClock
from drumline.core.errors import Invalid, RateLimited
from drumline.engine.engine import Engine
from drumline.lifecycle.servers import _server_key
from drumline.settings import Settings
from drumline.settings.fields import Secret
from tests.api.conftest import KEY, problem
from tests.api.test_keys import made


async def guess(http: httpx.AsyncClient, number: int) -> httpx.Response:
    return await http.get("/api/v1/me", headers={"X-API-Key": make_key("live", number.to_bytes(32))})


async def test_many_different_wrong_keys_have_to_wait(http: httpx.AsyncClient) -> None:
    good = (await made(http))["key"]
    assert (await http.get("/api/v1/me", headers={"X-API-Key": good})).status_code == 200

    replies = [await guess(http, number) for number in range(FREE + 2)]
    slowed = await guess(http, 999)

    assert [reply.status_code for reply in replies] == [401] * (FREE + 1) + [429]
    problem(slowed, 429, "rate_limited")
    assert int(slowed.headers["retry-after"]) >= 1
    assert (await http.get("/api/v1/me", headers={"X-API-Key": good})).status_code == 200
    assert (await http.get("/api/v1/me", headers={"X-API-Key": KEY})).status_code == 200


async def test_the_same_wrong_key_over_and_over_is_no_guessing(http: httpx.AsyncClient) -> None:
    replies = [await guess(http, 7) for _ in range(FREE * 3)]

    assert {reply.status_code for reply in replies} == {401}


async def test_an_open_path_tells_nobody_whether_a_key_is_right(http: httpx.AsyncClient) -> None:
    for number in range(FREE + 5):
        key = {"X-API-Key": make_key("live", number.to_bytes(32))}
        health = await http.get("/actuator/health", headers=key)
        assert health.status_code == 200
        assert "details" not in health.text

    assert (await guess(http, 999)).status_code == 429


def test_the_pause_grows_and_ends_and_is_forgotten() -> None:
    clock = ManualClock()
    guard = Lockout(clock)
    pauses = []
    for number in range(FREE + 12):
        guard.failed("192.0.2.1", bytes([number]))
        try:
            guard.check("192.0.2.1")
        except RateLimited as error:
            pauses.append(error.retry_after)
            clock.advance(error.retry_after or 0)
            guard.check("192.0.2.1")

    assert pauses[:4] == [1.0, 2.0, 4.0, 8.0]
    assert max(pause or 0 for pause in pauses) == LONGEST_PAUSE
    guard.check("192.0.2.2")
    clock.advance(3600)
    guard.failed("192.0.2.1", b"much later")
    guard.check("192.0.2.1")


def test_memory_is_bounded() -> None:
    guard = Lockout(ManualClock())

    for number in range(MOST_ADDRESSES + 100):
        guard.failed(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", number.to_bytes(4))

    assert len(guard._records) == MOST_ADDRESSES
    assert len(guard._wrong) == MOST_WRONG


def test_all_of_an_ipv6_network_is_one_guesser() -> None:
    assert group_of("2001:db8::1") == group_of("2001:db8::ffff:1") != group_of("2001:db8:0:1::1")
    assert group_of("192.0.2.1") == "192.0.2.1"
    assert group_of("unknown") == "unknown"


@pytest.mark.parametrize(
    ("peer", "passed", "address"),
    [
        ("198.51.100.7", "203.0.113.9", "198.51.100.7"),  # nobody whom we believe
        ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "1.1.1.1, 203.0.113.9", "203.0.113.9"),  # what stands before may be invented
        ("10.0.0.1", "1.1.1.1, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "nonsense", "10.0.0.1"),
        ("10.0.0.1", "[2001:db8::1]:443", "2001:db8::1"),
        ("10.0.0.1", "203.0.113.9:5555", "203.0.113.9"),
        ("::ffff:10.0.0.1", "::ffff:203.0.113.9", "203.0.113.9"),  # as a socket for both kinds of addresses has them
        ("::ffff:198.51.100.7", "203.0.113.9", "198.51.100.7"),
    ],
)
def test_proxies_that_are_believed_pass_the_address_on(peer: str, passed: str, address: str) -> None:
    scope = {"client": (peer, 1), "headers": [(b"x-forwarded-for", passed.encode())]}

    assert Addresses(("10.0.0.0/8",)).of(scope) == address


def test_neighbours_on_a_socket_for_both_kinds_of_addresses_are_not_one_guesser() -> None:
    one, other = (Addresses(()).of({"client": (f"::ffff:192.0.2.{n}", 1), "headers": []}) for n in (1, 2))

    assert group_of(one) != group_of(other)


def test_without_proxies_the_peer_is_it() -> None:
    scope = {"client": ("10.0.0.1", 1), "headers": [(b"x-forwarded-for", b"203.0.113.9")]}

    assert Addresses(()).of(scope) == "10.0.0.1"
    assert Addresses(()).of({"client": None, "headers": []}) == "unknown"
    with pytest.raises(Invalid):
        Addresses(("nowhere",))


async def test_the_first_key_is_not_found_by_trying(engine: Engine) -> None:
    weak, strong = "hunter2-hunter2", "sk_of_the_first_administrator_3141592653"
    for first, is_found in ((weak, False), (strong, True)):
        guarded = create_app(engine, keys=ConfiguredKeys([first]), info=Info(version="1"), stop=StopEvent())
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=guarded, client=("192.0.2.7", 1)), base_url="http://drumline"
        ) as guesser:
            wrong = [await guesser.get("/api/v1/me", headers={"X-API-Key": f"guess-{n}"}) for n in range(FREE + 30)]
            signed_in = await guesser.post("/api/v1/sign-in", json={"key": first})
            right = await guesser.get("/api/v1/me", headers={"X-API-Key": first})

        assert [reply.status_code for reply in wrong] == [401] * (FREE + 1) + [429] * 29
        assert (right.status_code == 200) is is_found
        assert (signed_in.status_code == 429) is not is_found


async def test_whoever_was_in_with_the_first_key_is_not_locked_out_by_a_neighbour(http: httpx.AsyncClient) -> None:
    assert not is_strong(KEY)
    assert (await http.get("/api/v1/me", headers={"X-API-Key": KEY})).status_code == 200

    for number in range(FREE + 5):
        await guess(http, number)

    assert (await guess(http, 999)).status_code == 429
    assert (await http.get("/api/v1/me", headers={"X-API-Key": KEY})).status_code == 200


@pytest.mark.parametrize(
    "key", ["", "abc", "1234567", "aaaaaaaaaaaaaaaaaaaaaaaa", "abababab", "clé-du-serveur", "x\ty z 1 2 3"]
)
def test_a_server_does_not_start_with_a_key_that_is_guessed_in_no_time(key: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid):
        check_first_key(key)
    with pytest.raises(Invalid):
        _server_key(Settings(api_key=Secret(key)))
    (tmp_path / "api-key").write_text(key, encoding="utf-8")
    with pytest.raises(Invalid):
        _server_key(Settings(data=tmp_path))


def test_a_key_that_was_made_by_chance_is_strong() -> None:
    assert is_strong(make_key("live", bytes(range(32))))
    assert check_first_key("correct horse battery staple")
    assert not is_strong("a" * 100)
