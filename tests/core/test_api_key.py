"""What keys look like, and what their holders may do."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from drumline.core.access import Caller, Permission, Role, are_within, is_any, permissions_of
from drumline.core.api_key import (
    ApiKey,
    KeyId,
    KeySpec,
    check_first_key,
    digest_of,
    is_mistyped,
    is_strong,
    key_fact,
    make_key,
    prefix_of,
)
from drumline.core.clock import Instant
from drumline.core.errors import Forbidden, Invalid
from drumline.core.event import Fact
from drumline.core.rate import Rate

SECRET = bytes(range(32))
KEY = make_key("live", SECRET)


def test_a_key_has_its_environment_256_random_bits_and_a_checksum() -> None:
    assert re.fullmatch(r"sk_live_[0-9A-Za-z]{43}[0-9A-Za-z]{6}", KEY)
    assert make_key("test", SECRET).startswith("sk_test_")
    assert make_key("live", bytes(32)) != make_key("live", b"\xff" * 32)
    assert len(make_key("live", bytes(32))) == len(make_key("live", b"\xff" * 32)) == len(KEY)


@given(st.binary(min_size=32, max_size=32))
def test_a_key_as_it_was_made_is_not_mistyped(secret: bytes) -> None:
    assert not is_mistyped(make_key("live", secret).encode())


@given(place=st.integers(8, len(KEY) - 1), sign=st.sampled_from("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij"))
def test_any_one_sign_that_is_wrong_is_noticed(place: int, sign: str) -> None:
    typed = KEY[:place] + sign + KEY[place + 1 :]

    assert is_mistyped(typed.encode()) is (typed != KEY)


@pytest.mark.parametrize(
    "typed",
    [KEY[:-1], KEY + "x", KEY[:20] + KEY[21:], KEY[:10] + KEY[11] + KEY[10] + KEY[12:], "sk_test_" + KEY[8:]],
)
def test_a_sign_too_few_or_too_many_and_two_in_the_wrong_order_are_noticed(typed: str) -> None:
    assert is_mistyped(typed.encode())


@pytest.mark.parametrize(
    "words", [b"", b"let me in", b"sk_", b"sk_test", b"sk_test_key", b"\xff\x00", KEY.upper().encode()]
)
def test_what_is_nothing_like_a_key_is_not_called_mistyped(words: bytes) -> None:
    assert not is_mistyped(words)


def test_a_prefix_shows_too_little_to_guess_from() -> None:
    assert prefix_of(KEY) == KEY[:14]
    assert len(KEY) - len(prefix_of(KEY)) > 40


def test_the_digest_is_sha_256() -> None:
    assert digest_of(b"abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("shop.*", "shop.mail", True),
        ("shop.*", "shop.", True),
        ("shop.*", "shopXmail", False),
        ("*", "", True),
        ("a*c*e", "abcde", True),
        ("a*c*e", "abcdef", False),
        ("a.b", "axb", False),
        ("mail", "mail\n", False),
        ("*.send", "x\ny.send", True),
        ("[a-z]+", "abc", False),
    ],
)
def test_a_star_stands_for_anything_and_nothing_else_does(pattern: str, text: str, *, fits: bool) -> None:
    assert is_any((pattern,), text) is fits


@given(
    narrow=st.text("ab*", max_size=6),
    wide=st.text("ab*", max_size=6),
    text=st.text("ab", max_size=8),
)
def test_what_lies_within_matches_nothing_more(narrow: str, wide: str, text: str) -> None:
    if are_within((narrow,), (wide,)) and is_any((narrow,), text):
        assert is_any((wide,), text)


def test_only_nothing_is_as_wide_as_everything() -> None:
    assert are_within((), ())
    assert are_within(("a",), ())
    assert not are_within((), ("a",))
    assert not are_within(("a", "b"), ("a",))


def test_scopes_narrow_a_role_and_never_widen_it() -> None:
    viewer = permissions_of(Role.VIEWER, (Permission.TASKS_READ, Permission.KEYS_MANAGE), "acme")

    assert viewer == {Permission.TASKS_READ}
    assert Permission.TENANTS_MANAGE in permissions_of(Role.ADMIN, (), None)
    assert Permission.TENANTS_MANAGE not in permissions_of(Role.ADMIN, (), "acme")


@pytest.mark.parametrize(
    ("caller", "said"),
    [
        (
            Caller("v", "acme", "k", Role.VIEWER, permissions_of(Role.VIEWER, (), "acme")),
            "this key lacks the permission keys:manage: its role is viewer; admin may",
        ),
        (
            Caller("a", "acme", "k", Role.ADMIN, frozenset({Permission.TASKS_READ})),
            "this key lacks the permission keys:manage: its scopes leave that out",
        ),
    ],
)
def test_a_refusal_says_what_is_missing_and_why(caller: Caller, said: str) -> None:
    with pytest.raises(Forbidden) as error:
        caller.check(Permission.KEYS_MANAGE)

    assert error.value.message == said


def test_a_key_for_one_tenant_is_told_so() -> None:
    caller = Caller("a", "acme", "k", Role.ADMIN, permissions_of(Role.ADMIN, (), "acme"))

    with pytest.raises(Forbidden, match="this key is for one tenant only"):
        caller.check(Permission.TENANTS_MANAGE)


def test_a_worker_serves_the_queues_that_its_key_allows() -> None:
    exact = Caller("w", queues=("mail", "reports"))
    wide = Caller("w", queues=("mail*",))

    assert Caller("w").narrow_queues(()) == ()
    assert exact.narrow_queues(()) == ("mail", "reports")
    assert wide.narrow_queues(("mail-1", "mail")) == ("mail-1", "mail")
    for caller, queues in ((wide, ()), (wide, ("other",)), (exact, ("mail", "other"))):
        with pytest.raises(Forbidden):
            caller.narrow_queues(queues)


SPEC = KeySpec(
    name="mine",
    role=Role.VIEWER,
    prefix="sk_live_abc",
    scopes=(Permission.TASKS_READ, Permission.QUEUES_READ),
    names=("mail.*",),
    queues=("slow",),
    replaces=KeyId("old"),
)
STORED = ApiKey(id=KeyId("k"), tenant="acme", digest=b"d", spec=SPEC, created_at=Instant(0), expires_at=Instant(90_000))


@pytest.mark.parametrize(
    ("key", "now", "refusal"),
    [
        (STORED, 89_999, None),
        (STORED, 90_000, "the API key has expired"),
        (replace(STORED, expires_at=None), 90_000, None),
        (replace(STORED, is_enabled=False), 90_000, "the API key is disabled"),
        (replace(STORED, is_enabled=False, revoked_at=Instant(1)), 90_000, "the API key was revoked"),
    ],
)
def test_a_key_that_opens_nothing_says_why(key: ApiKey, now: int, refusal: str | None) -> None:
    assert key.refusal(Instant(now)) == refusal


def test_who_comes_with_a_key_may_do_what_it_was_made_for() -> None:
    own = replace(STORED, spec=replace(SPEC, is_own=True, rate="5/10s"))
    caller = Caller(
        name="mine",
        tenant="acme",
        id="k",
        role=Role.VIEWER,
        permissions=frozenset({Permission.TASKS_READ, Permission.QUEUES_READ}),
        names=("mail.*",),
        queues=("slow",),
        rate=Rate(5, 10.0),
        ends_at=Instant(90_000),
        replaces="old",
        is_of_tenant=True,
    )

    assert STORED.caller(Rate(5, 10.0), Rate(50, 10.0)) == caller
    assert own.caller(Rate(5, 10.0), Rate(50, 10.0)) == replace(caller, shared=Rate(50, 10.0), is_bounded=True)


def test_a_key_for_every_tenant_may_do_what_is_the_installations() -> None:
    every = replace(STORED, tenant=None, spec=KeySpec(name="ops", role=Role.VIEWER, prefix="p"))

    caller = every.caller(None)

    assert (caller.tenant, caller.is_of_tenant, caller.rate) == (None, False, None)
    assert caller.permissions == permissions_of(Role.VIEWER, (), None)
    assert Permission.SYSTEM_READ in caller.permissions
    assert Permission.SYSTEM_READ not in replace(every, tenant="acme").caller(None).permissions


def test_a_fact_about_a_key_tells_what_it_is_and_opens_nothing() -> None:
    data = {
        "id": "k",
        "name": "mine",
        "prefix": "sk_live_abc",
        "role": "viewer",
        "tenant": "acme",
        "expires_at": "1970-01-01T00:01:30.000Z",
        "replaces": "old",
    }

    assert key_fact("revoked", STORED) == Fact("drumline.key.revoked", "k", "acme", data)
    assert key_fact("created", replace(STORED, tenant=None, expires_at=None)) == Fact(
        "drumline.key.created", "k", "", {**data, "tenant": "*", "expires_at": None}
    )


EASY = (
    "api_key: is too easy to guess: it must have at least 8 characters, 4 of them different; leave it out to have one "
    "made, or take the output of `openssl rand -hex 32`"
)
FOREIGN = "api_key: must be printable ASCII characters, since it travels in a header"


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("abcdefg", EASY),
        ("aaabbccc", EASY),
        ("pass word ä", FOREIGN),
        (" abcdefgh", FOREIGN),
        ("abcdefgh\n", FOREIGN),
        ("abcd\tefgh", FOREIGN),
    ],
)
def test_a_first_key_that_could_be_guessed_or_cannot_be_sent_is_refused(key: str, told: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_first_key(key)

    assert str(caught.value) == told


def test_a_first_key_of_eight_characters_with_four_different_ones_is_taken_as_it_is() -> None:
    assert [check_first_key(key) for key in ("abcdabcd", "abc dabc")] == ["abcdabcd", "abc dabc"]


def test_a_long_key_of_many_different_characters_is_strong() -> None:
    assert is_strong("abcdefghij" + "a" * 14)
    assert not is_strong("abcdefghi" + "a" * 15)
    assert not is_strong("abcdefghij" + "a" * 13)
