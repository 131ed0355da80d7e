"""The audit log: who did what, from where and why, in a chain that shows whether anybody has touched it.

Each tenant has a chain of its own. A row's hash covers the row and the hash before it, so a row that was changed, put
in, taken out or moved breaks every hash that follows. The head keeps how long the chain is and how it ends, so that a
tail that was cut off is missed too. An attacker who can write both rows and head can forge a whole chain: to detect
that, keep `<count>:<hash>` of a head somewhere else and compare.

An act is written twice: *asked* before it is done, and *done* or *refused* after it. A row that was asked and never
answered is an act that was under way when its server died.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.codec import NUL, decode, encode_canonical, without_nul
from drumline.core.errors import Invalid
from drumline.core.field_schema import line

BEGINNING: Final = bytes(32)
"""The hash before the first row."""
LARGEST_SIDE: Final = 16 * 1024
"""Bytes of JSON that are kept of what was before, and of what was after."""
LONGEST_REASON: Final = 500
REASON: Final = line(LONGEST_REASON, "Why, for the audit log; the header `X-Reason` does as well.")

_HEAD: Final = re.compile(r"(\d{1,18}):([0-9a-f]{64})")


class Phase(StrEnum):
    """How far an act had come when its row was written."""

    ASKED = "asked"
    DONE = "done"
    REFUSED = "refused"


class AuditEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An entry of the audit log."""

    id: str
    tenant: str
    """The tenant in whose chain it stands: the one that the caller acted for."""
    act: str
    """Such as `queue.pause`."""
    phase: Phase
    target: str
    """The path that it was about."""
    key: str
    """The id of the caller's key."""
    key_name: str
    address: str = ""
    request_id: str = ""
    reason: str | None = None
    asks: str | None = None
    """For the second row of an act: the id of its first."""
    before: Any = None
    after: Any = None
    problem: str | None = None
    """Why it was refused."""


class AuditRow(Struct, frozen=True, kw_only=True):
    """An entry in its chain. `text` is what was hashed: the entry with its place and time, as JSON."""

    tenant: str
    seq: int
    id: str
    asks: str | None
    text: str
    hash: bytes

    @property
    def content(self) -> "AuditContent":
        """What the row says."""
        return decode(self.text, AuditContent)


class AuditContent(AuditEntry, frozen=True, kw_only=True, omit_defaults=True):
    """An entry with its place in the chain and the store's time."""

    seq: int
    at: Instant


class AuditHead(Struct, frozen=True):
    """How long a chain is, and the hash that it ends with."""

    tenant: str
    count: int = 0
    hash: bytes = BEGINNING

    def __str__(self) -> str:
        return f"{self.count}:{self.hash.hex()}"


def parse_head(text: str, tenant: str, *, field: str) -> AuditHead:
    """Return an audit head given as `<count>:<hash>`, or raise `Invalid` naming `field`."""
    match = _HEAD.fullmatch(text.strip())
    if match is None:
        raise Invalid("must be a head such as 42:9f86d0…, with 64 digits behind the colon", field=field)
    return AuditHead(tenant, int(match[1]), bytes.fromhex(match[2]))


class Fault(Struct, frozen=True):
    """What is wrong with a chain: the first row at which it shows, and how."""

    seq: int
    what: str


def link(head: AuditHead, entry: AuditEntry, at: Instant) -> tuple[AuditRow, AuditHead]:
    """Return an entry as the next row of its chain, and the head after it."""
    seq = head.count + 1
    fields = {name: getattr(entry, name) for name in entry.__struct_fields__}
    text = encode_canonical(AuditContent(**fields, seq=seq, at=at))
    if NUL in text:
        text = encode_canonical(without_nul(decode(text, object)))
    digest = _hash(head.hash, text)
    row = AuditRow(tenant=head.tenant, seq=seq, id=entry.id, asks=entry.asks, text=text.decode(), hash=digest)
    return row, AuditHead(head.tenant, seq, digest)


class Verifier:
    """Follows a chain from its beginning; it must pass through `expected`, a head that was kept elsewhere."""

    def __init__(self, tenant: str, *, expected: AuditHead | None = None) -> None:
        self.head = AuditHead(tenant)
        self.fault: Fault | None = None
        self._expected = expected

    def follow(self, rows: Iterable[AuditRow]) -> None:
        """Check rows that come next, in the order of their places; the first fault is kept."""
        for row in rows:
            if self.fault is not None:
                return
            what = self._fault_of(row)
            if what is not None:
                self.fault = Fault(self.head.count + 1, what)
                return
            self.head = AuditHead(self.head.tenant, row.seq, row.hash)

    def close(self, kept: AuditHead | None) -> Fault | None:
        """Return the fault of the whole chain, if any: it must end as its head says."""
        kept = kept or AuditHead(self.head.tenant)
        following = self.head.count + 1
        if self.fault is None and self.head.count != kept.count:
            self.fault = Fault(following, f"the chain ends after {self.head.count} rows; its head says {kept.count}")
        elif self.fault is None and self.head != kept:
            self.fault = Fault(self.head.count, "the chain does not end as its head says")
        if self.fault is None and self._expected is not None and self.head.count < self._expected.count:
            self.fault = Fault(following, f"the chain ends here; it once had {self._expected.count} rows")
        return self.fault

    def _fault_of(self, row: AuditRow) -> str | None:
        if row.seq != self.head.count + 1:
            return f"row {self.head.count + 1} is missing" if row.seq > self.head.count else "a row stands twice"
        if row.hash != _hash(self.head.hash, row.text.encode()):
            return "the row was changed"
        try:
            said = row.content
        except Invalid:
            return "the row cannot be read"
        if (said.tenant, said.seq, said.id, said.asks) != (self.head.tenant, row.seq, row.id, row.asks):
            return "the row's columns were changed"
        if self._expected is not None and row.seq == self._expected.count and row.hash != self._expected.hash:
            return "the row is not the one that was kept elsewhere"
        return None


def side(value: Any) -> Any:
    """Return the state before or after an act as it is stored: whole, or if it is large, only a note."""
    if value is None:
        return None
    size = len(encode_canonical(value))
    return value if size <= LARGEST_SIDE else {"too_large": True, "bytes": size}


def _hash(before: bytes, text: bytes) -> bytes:
    return sha256(before + text).digest()
