"""How much workers say of themselves: kept in memory up to a number of bytes, and limited for each tenant.

A session carries the names and schemas of all tasks that its worker can run, up to some megabytes. What is kept here is
what this process was told; sessions that it has not heard of for a while are dropped.
"""

from collections import OrderedDict
from typing import Final

from msgspec import Struct

from drumline.core.clock import Clock
from drumline.core.errors import QuotaExceeded
from drumline.core.ids import SessionId
from drumline.core.session import SESSION_TTL, SessionSpec

MOST_CACHED: Final = 20_000
"""Sessions whose specification is kept in memory, and the bytes of all of them."""
MOST_BYTES: Final = 64 * 1024 * 1024
FORGET_SECONDS: Final = 4 * SESSION_TTL


class SpecCache:
    """What sessions can run, those used last, up to a number of bytes."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._specs: OrderedDict[SessionId, tuple[SessionSpec, int]] = OrderedDict()
        self._bytes = 0

    def get(self, session: SessionId) -> SessionSpec | None:
        """Return what a session can run, if it is known."""
        known = self._specs.get(session)
        return None if known is None else known[0]

    def put(self, session: SessionId, spec: SessionSpec, size: int) -> None:
        """Keep what a session can run, unless that is larger than all that may be kept."""
        self.pop(session)
        if size > self._most:
            return
        self._specs[session] = (spec, size)
        self._bytes += size
        while self._bytes > self._most or len(self._specs) > MOST_CACHED:
            self.pop(next(iter(self._specs)))

    def pop(self, session: SessionId) -> None:
        """Forget a session."""
        known = self._specs.pop(session, None)
        if known is not None:
            self._bytes -= known[1]


class _Open(Struct):
    owner: str | None
    size: int
    seen_at: float


class SessionBounds:
    """Limits the bytes that the open sessions of one tenant have together."""

    def __init__(self, most_bytes: int, clock: Clock) -> None:
        self._most = most_bytes
        self._clock = clock
        self._open: dict[SessionId, _Open] = {}
        self._by_owner: dict[str | None, int] = {}

    def check(self, owner: str | None, size: int) -> None:
        """Raise `QuotaExceeded` if a tenant has no room for one more session of this size."""
        if self._by_owner.get(owner, 0) + size <= self._most:
            return
        self._drop_silent()
        if self._by_owner.get(owner, 0) + size > self._most:
            raise QuotaExceeded(f"the open sessions of this tenant have {self._most:,} bytes, as many as they may have")

    def opened(self, session: SessionId, owner: str | None, size: int) -> None:
        """Note a session that was opened, or opened again."""
        self.closed(session)
        self._open[session] = _Open(owner, size, self._clock.monotonic())
        self._by_owner[owner] = self._by_owner.get(owner, 0) + size

    def seen(self, session: SessionId) -> None:
        """Note a sign of life of a session."""
        known = self._open.get(session)
        if known is not None:
            known.seen_at = self._clock.monotonic()

    def closed(self, session: SessionId) -> None:
        """Note that a session has ended."""
        known = self._open.pop(session, None)
        if known is not None:
            left = self._by_owner.pop(known.owner) - known.size
            if left:
                self._by_owner[known.owner] = left

    def _drop_silent(self) -> None:
        before = self._clock.monotonic() - FORGET_SECONDS
        for session in [session for session, known in self._open.items() if known.seen_at < before]:
            self.closed(session)
