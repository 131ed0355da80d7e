"""The box: what is sealed with a key is opened with it, for what it was sealed for, and not otherwise."""

import stat
from pathlib import Path

import pytest

from drumline.core.errors import Conflict, Invalid, Unreadable
from drumline.core.secret import purpose_of
from drumline.ports.sealing import NoBox
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.settings.secret_key import box_of
from drumline.stores.sealing import AesBox, new_key_text, parse_keys

OLD, NEW = b"o" * 32, b"n" * 32
FOR = purpose_of("acme", "api")


def test_what_is_sealed_is_opened_again_and_never_looks_the_same() -> None:
    box = AesBox([OLD])

    sealed = [box.seal("hunter2 ä", FOR) for _ in range(3)]

    assert [box.open(each, FOR) for each in sealed] == ["hunter2 ä"] * 3
    assert len(set(sealed)) == 3
    assert all(b"hunter2" not in each for each in sealed)


@pytest.mark.parametrize(
    "other",
    [purpose_of("beta", "api"), purpose_of("acme", "db"), purpose_of("acm", "eapi"), ("webhook", "acme", "api")],
)
def test_it_cannot_be_moved_to_another_tenant_or_name(other: tuple[str, ...]) -> None:
    with pytest.raises(Unreadable):
        AesBox([OLD]).open(AesBox([OLD]).seal("hunter2", FOR), other)


def test_a_flipped_bit_anywhere_is_found() -> None:
    box = AesBox([OLD])
    sealed = box.seal("hunter2", FOR)

    for place in range(len(sealed)):
        touched = bytearray(sealed)
        touched[place] ^= 1
        with pytest.raises(Unreadable):
            box.open(bytes(touched), FOR)


@pytest.mark.parametrize("text", [b"", b"\x01", b"\x01" * 21, b"plain text that somebody put there"])
def test_what_is_no_seal_is_not_opened(text: bytes) -> None:
    with pytest.raises(Unreadable):
        AesBox([OLD]).open(text, FOR)


def test_while_keys_are_changed_both_open_and_the_first_seals() -> None:
    before = AesBox([OLD]).seal("hunter2", FOR)
    both = AesBox([NEW, OLD])

    assert both.open(before, FOR) == "hunter2"
    assert both.key_of(both.seal("x", FOR)) == both.key_id == AesBox([NEW]).key_id
    with pytest.raises(Unreadable, match=AesBox([OLD]).key_id):
        AesBox([NEW]).open(before, FOR)


def test_keys_are_read_from_text_and_bad_ones_are_not_repeated() -> None:
    one, two = new_key_text(), new_key_text()

    assert len(parse_keys(one)) == 1
    assert parse_keys(f"{one}\n{two}\n") == parse_keys(f"{one}, {two}") == parse_keys(one) + parse_keys(two)
    for bad in ("", "short", f"{one} {two} {new_key_text()}", f"{one} {one}", one[:-4], "!" * 44):
        with pytest.raises(Invalid) as refused:
            parse_keys(bad)
        assert not bad or bad not in str(refused.value)


def test_without_a_key_nothing_is_sealed_and_the_reason_says_what_to_do() -> None:
    with pytest.raises(Conflict, match="DRUMLINE_SECRET_KEY"):
        NoBox().seal("x", FOR)
    with pytest.raises(Unreadable):
        NoBox().open(b"x", FOR)


def test_on_one_machine_a_key_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")

    first, again = box_of(settings), box_of(settings)

    path = tmp_path / "data" / "secret-key"
    assert first.key_id == again.key_id
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_on_a_server_there_is_a_key_if_one_is_set(tmp_path: Path) -> None:
    url = Secret("postgresql://nowhere")

    assert not box_of(Settings(data=tmp_path, store_url=url)).is_ready
    assert box_of(Settings(data=tmp_path, store_url=url, secret_key=Secret(new_key_text()))).is_ready
    with pytest.raises(Invalid, match="base64"):
        box_of(Settings(data=tmp_path, secret_key=Secret("nonsense")))
    assert list(tmp_path.iterdir()) == []
