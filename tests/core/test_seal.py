"""What a browser keeps comes back as it was, or not at all."""

import pytest
from msgspec import Struct

from drumline.core.seal import Seal

SECRET = b"0123456789abcdef"
DERIVED = "BQrb9tGquudYnmB-SElZL8-kzxlo60tuvXX1c1tu5g8"
"""Cookies of servers of other versions must open."""


class Kept(Struct, frozen=True):
    user: str
    number: int = 0


class Other(Struct, frozen=True):
    name: str


@pytest.mark.parametrize("user", ["", "a", "ab", "abc", "Ada ✓ " * 50])
def test_a_value_comes_back_as_it_was(user: str) -> None:
    seal = Seal(SECRET)

    assert seal.open("session", seal.seal("session", Kept(user, 7)), Kept) == Kept(user, 7)


def test_sealed_text_needs_no_quoting_in_a_cookie() -> None:
    text = Seal(SECRET).seal("session", Kept("?>~" * 30))

    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")


def test_every_change_of_a_character_is_noticed() -> None:
    seal = Seal(SECRET)
    text = seal.seal("session", Kept("ada"))

    for place, letter in enumerate(text[:-1]):  # of the last one only some bits count
        changed = text[:place] + ("A" if letter != "A" else "B") + text[place + 1 :]
        assert seal.open("session", changed, Kept) is None, place


@pytest.mark.parametrize("text", ["", ".", "a", "a.", ".a", "a.b", "ä.ö"])
def test_what_was_never_sealed_opens_nothing(text: str) -> None:
    assert Seal(SECRET).open("session", text, Kept) is None


def test_a_seal_of_nothing_opens_nothing() -> None:
    seal = Seal(SECRET)

    assert seal.open("session", f".{seal.derive('session', '')}", Kept) is None


def test_what_was_sealed_for_one_purpose_or_secret_is_nothing_for_another() -> None:
    text = Seal(SECRET).seal("session", Kept("ada"))

    assert Seal(SECRET).open("state", text, Kept) is None
    assert Seal(SECRET + b"x").open("session", text, Kept) is None


@pytest.mark.parametrize("body", ["e30", "!!!!", "4pyT", "_w", "a"])
def test_what_was_sealed_and_has_another_form_opens_nothing(body: str) -> None:
    seal = Seal(SECRET)

    assert seal.open("session", f"{body}.{seal.derive('session', body)}", Other) is None


def test_a_derived_text_is_the_same_for_text_and_bytes() -> None:
    seal = Seal(SECRET)

    assert seal.derive("link", "ü") == seal.derive("link", "ü".encode())
    assert seal.derive("link") == seal.derive("link", b"") != seal.derive("link", b"x")
    assert len(seal.derive("link")) == 43


def test_a_purpose_has_a_key_that_stays_the_same_over_versions() -> None:
    assert Seal(SECRET).derive("session", "text") == DERIVED


def test_a_short_secret_is_refused_and_none_is_shown() -> None:
    with pytest.raises(ValueError, match=r"^a secret of under 16 bytes protects nothing$"):
        Seal(SECRET[:15])

    assert repr(Seal(SECRET)) == "Seal(***)"
