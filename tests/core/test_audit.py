"""Whoever touches a chain of audit rows is found out."""

from collections.abc import Callable
from hashlib import sha256

import msgspec
import pytest

from drumline.core.audit import (
    BEGINNING,
    AuditEntry,
    AuditHead,
    AuditRow,
    Fault,
    Phase,
    Verifier,
    link,
    parse_head,
    side,
)
from drumline.core.clock import Instant
from drumline.core.errors import Invalid


def entry(number: int, *, tenant: str = "acme", **more: object) -> AuditEntry:
    return msgspec.structs.replace(
        AuditEntry(
            id=f"id-{number}",
            tenant=tenant,
            act="queue.pause",
            phase=Phase.ASKED,
            target="/api/v1/queues/mail/pause",
            key="first",
            key_name="ada",
        ),
        **more,
    )


def chain(count: int) -> tuple[list[AuditRow], AuditHead]:
    rows, head = [], AuditHead("acme")
    for number in range(1, count + 1):
        row, head = link(head, entry(number, asks="id-1" if number == 2 else None), Instant(1000 + number))
        rows.append(row)
    return rows, head


def verdict(rows: list[AuditRow], kept: AuditHead | None, *, expected: AuditHead | None = None) -> Fault | None:
    verifier = Verifier("acme", expected=expected)
    verifier.follow(rows)
    return verifier.close(kept)


def test_a_chain_that_nobody_touched_is_whole() -> None:
    rows, head = chain(3)

    assert verdict(rows, head) is None
    assert verdict(rows, head, expected=head) is None
    assert verdict(rows, head, expected=AuditHead("acme", 2, rows[1].hash)) is None
    assert verdict([], None) is None
    assert [(row.tenant, row.seq, row.id, row.asks) for row in rows] == [
        ("acme", 1, "id-1", None),
        ("acme", 2, "id-2", "id-1"),
        ("acme", 3, "id-3", None),
    ]
    assert (rows[1].content.at, rows[1].content.seq, rows[1].content.act) == (1002, 2, "queue.pause")


def test_hashes_are_those_of_versions_before() -> None:
    rows, _ = chain(1)

    assert rows[0].text == (
        '{"id":"id-1","tenant":"acme","act":"queue.pause","phase":"asked","target":"/api/v1/queues/mail/pause",'
        '"key":"first","key_name":"ada","seq":1,"at":1001}'
    )
    assert rows[0].hash.hex() == "e45b2d5122d37f2c66b2940e1b1f70e10bbf65d61a7f1e3f9929721c67fc3bd7"


CHANGES: dict[str, tuple[Callable[[list[AuditRow]], list[AuditRow]], Fault]] = {
    "a text changed": (
        lambda rows: [rows[0], msgspec.structs.replace(rows[1], text=rows[1].text.replace("ada", "eve")), rows[2]],
        Fault(2, "the row was changed"),
    ),
    "a hash changed": (
        lambda rows: [rows[0], msgspec.structs.replace(rows[1], hash=BEGINNING), rows[2]],
        Fault(2, "the row was changed"),
    ),
    "a row taken out": (lambda rows: [rows[0], rows[2]], Fault(2, "row 2 is missing")),
    "the first row taken out": (lambda rows: rows[1:], Fault(1, "row 1 is missing")),
    "a row put in twice": (lambda rows: [rows[0], rows[1], rows[1], rows[2]], Fault(3, "a row stands twice")),
    "rows swapped": (lambda rows: [rows[0], rows[2], rows[1]], Fault(2, "row 2 is missing")),
    "the end cut off": (lambda rows: rows[:2], Fault(3, "the chain ends after 2 rows; its head says 3")),
    "an id changed": (
        lambda rows: [rows[0], msgspec.structs.replace(rows[1], id="other"), rows[2]],
        Fault(2, "the row's columns were changed"),
    ),
    "a first row changed": (
        lambda rows: [rows[0], msgspec.structs.replace(rows[1], asks="other"), rows[2]],
        Fault(2, "the row's columns were changed"),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_found_at_the_first_row_that_shows_it(change: str) -> None:
    rows, head = chain(3)
    touch, fault = CHANGES[change]

    assert verdict(touch(rows), head) == fault


def test_a_row_of_another_tenant_does_not_fit_into_a_chain() -> None:
    foreign, head = link(AuditHead("acme"), entry(1, tenant="other"), Instant(1))

    assert verdict([foreign], head) == Fault(1, "the row's columns were changed")


def test_a_row_that_cannot_be_read_is_a_fault() -> None:
    row, _ = link(AuditHead("acme"), entry(1), Instant(1))
    text = "{}"
    forged = msgspec.structs.replace(row, text=text, hash=_sha(BEGINNING + text.encode()))

    assert verdict([forged], AuditHead("acme", 1, forged.hash)) == Fault(1, "the row cannot be read")


def test_a_head_that_was_changed_is_found() -> None:
    rows, _ = chain(2)

    assert verdict(rows, AuditHead("acme", 2, BEGINNING)) == Fault(2, "the chain does not end as its head says")
    assert verdict(rows, None) == Fault(3, "the chain ends after 2 rows; its head says 0")


def test_a_forged_chain_does_not_pass_through_a_head_that_was_kept_elsewhere() -> None:
    rows, head = chain(3)

    other = AuditHead("acme", 2, BEGINNING)
    later = AuditHead("acme", 4, BEGINNING)

    assert verdict(rows, head, expected=other) == Fault(2, "the row is not the one that was kept elsewhere")
    assert verdict(rows, head, expected=later) == Fault(4, "the chain ends here; it once had 4 rows")


def test_the_first_fault_is_kept_however_many_rows_follow() -> None:
    rows, head = chain(3)
    verifier = Verifier("acme")

    verifier.follow(rows[1:])
    verifier.follow(rows)

    assert verifier.close(head) == Fault(1, "row 1 is missing")


def test_a_nul_is_left_out_of_what_is_kept() -> None:
    row, _ = link(AuditHead("acme"), entry(1, after={"a": "x\x00y"}), Instant(1))

    assert "\\u0000" not in row.text
    assert row.hash == _sha(BEGINNING + row.text.encode())


def test_a_head_is_written_and_read() -> None:
    _, head = chain(2)

    assert str(head) == f"2:{head.hash.hex()}"
    assert parse_head(f" {head}\n", "acme", field="head") == head
    assert parse_head("9" * 18 + ":" + "0" * 64, "acme", field="head") == AuditHead("acme", int("9" * 18), BEGINNING)


@pytest.mark.parametrize("text", ["", "1", "x:" + "0" * 64, "1:" + "0" * 63, "1:" + "0" * 65, "1:" + "G" * 64])
def test_what_is_no_head_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_head(text, "acme", field="head")

    assert str(caught.value) == "head: must be a head such as 42:9f86d0…, with 64 digits behind the colon"


def test_of_something_large_only_its_size_is_kept() -> None:
    assert side(None) is None
    assert side("x" * (16 * 1024 - 2)) == "x" * (16 * 1024 - 2)
    assert side("x" * (16 * 1024 - 1)) == {"too_large": True, "bytes": 16 * 1024 + 1}


def _sha(data: bytes) -> bytes:
    return sha256(data).digest()
