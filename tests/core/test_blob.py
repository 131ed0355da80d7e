"""References to blobs: nothing that a caller sends is taken for one."""

from hashlib import sha256

import pytest
from msgspec import Raw

from drumline.core.blob import (
    BlobReference,
    blob_name,
    full_size,
    is_reference,
    read_reference,
    task_of,
    without_space,
    write_reference,
)
from drumline.core.ids import TaskId

TASK = TaskId("01890a5d-ac96-774b-bcce-b302099a8057")
DATA = b'"' + b"x" * 5000 + b'"'
NAME = f"default/{TASK}/{sha256(DATA).hexdigest()}"
STORED = f' {{"blob":"{NAME}","size":5002}}'.encode()


def test_a_blob_is_named_by_its_home_its_task_and_the_digest_of_its_bytes() -> None:
    assert blob_name("default", TASK, DATA) == NAME
    assert task_of(NAME) == TASK


@pytest.mark.parametrize(
    "name",
    ["", "a/b", f"/{TASK}/{'0' * 64}", f"de fault/{TASK}/{'0' * 64}", f"{'d' * 65}/{TASK}/{'0' * 64}", f"{NAME}0",
     f"default/{TASK}/{'g' * 64}", f"default/{TASK}0/{'0' * 64}", f"../{NAME}"],
)  # fmt: skip
def test_a_name_that_is_no_blobs_has_no_task(name: str) -> None:
    assert task_of(name) is None


def test_a_reference_is_read_as_it_was_written() -> None:
    assert write_reference(NAME, len(DATA)) == STORED
    assert read_reference(STORED) == BlobReference(NAME, 5002)
    assert read_reference(Raw(STORED)) == BlobReference(NAME, 5002)


@pytest.mark.parametrize("stored", [b"null", b'{"blob":"x","size":1}', b"", b" ", b' {"blot":"x"}'])
def test_what_is_stored_itself_is_no_reference(stored: bytes) -> None:
    assert not is_reference(stored)
    assert read_reference(stored) is None
    assert full_size(stored) == len(stored)


def test_a_reference_counts_with_the_bytes_of_its_blob() -> None:
    assert is_reference(STORED)
    assert full_size(STORED) == 5002


@pytest.mark.parametrize(
    ("data", "fits"), [(DATA, True), (DATA[:-1], False), (DATA[:-1] + b"y", False), (DATA + b" ", False)]
)
def test_only_the_bytes_that_were_kept_fit_a_reference(data: bytes, fits: bool) -> None:
    reference = read_reference(STORED)
    assert reference is not None
    assert reference.fits(data) is fits


def test_bytes_of_another_number_do_not_fit_even_if_their_digest_does() -> None:
    assert not BlobReference(NAME, len(DATA) + 1).fits(DATA)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (b" \t\r\n{}", b"{}"),
        (b"{} ", b"{} "),
        (b"", b""),
        (b" ", b""),
        (b"\n1", b"1"),
        (b'"  "', b'"  "'),
        (b" \x0b1", b"\x0b1"),
    ],
)
def test_white_space_in_front_is_removed_so_that_no_payload_is_a_reference(given: bytes, kept: bytes) -> None:
    assert without_space(given) == kept


def test_a_payload_that_looks_like_a_reference_is_none_without_its_space() -> None:
    assert not is_reference(without_space(STORED))
