"""How many bytes of bodies are in memory, of all requests together, and how many each tenant may have of them."""

from typing import Final

from drumline.api.refusals import Refusals
from drumline.core.errors import Overloaded
from drumline.core.metrics import Metrics

RETRY_SECONDS: Final = 2.0
TENANT_SHARE: Final = 2
"""A tenant may have one part in so many; callers without a key have one in `VISITOR_SHARE`."""
VISITOR_SHARE: Final = 8


class RequestBytes:
    """Counts the bytes of bodies from when they come until their requests are answered."""

    def __init__(self, most: int, *, metrics: Metrics, refusals: Refusals) -> None:
        self._most = most
        self._refusals = refusals
        self._held = 0
        self._by_owner: dict[str | None, int] = {}
        metrics.before_reading.append(lambda: metrics.http_request_bytes.set(self._held))

    def holding(self, owner: str | None) -> "HeldBytes":
        """Return a count of what one request holds; an owner of None has no key."""
        return HeldBytes(self, owner)

    def check(self, owner: str | None, count: int) -> None:
        """Raise `Overloaded` if there is no room for so many bytes more."""
        share = self._most // (VISITOR_SHARE if owner is None else TENANT_SHARE)
        if self._held + count > self._most or self._by_owner.get(owner, 0) + count > share:
            self._refusals.note("request_bytes", owner or "")
            raise Overloaded(
                "the server holds as many bytes of requests as it may; try again", retry_after=RETRY_SECONDS
            )

    def change(self, owner: str | None, count: int) -> None:
        """Note that so many bytes more, or less, are held."""
        self._held += count
        left = self._by_owner.get(owner, 0) + count
        if left:
            self._by_owner[owner] = left
        else:
            self._by_owner.pop(owner, None)


class HeldBytes:
    """The bytes that one request holds."""

    __slots__ = ("_all", "_count", "_owner")

    def __init__(self, all_: RequestBytes, owner: str | None) -> None:
        self._all = all_
        self._owner = owner
        self._count = 0

    def expect(self, count: int) -> None:
        """Raise `Overloaded` if a body of this size has no room."""
        self._all.check(self._owner, count)

    def add(self, count: int) -> None:
        """Hold so many bytes more, or raise `Overloaded`."""
        self._all.check(self._owner, count)
        self._all.change(self._owner, count)
        self._count += count

    def release(self) -> None:
        """Hold nothing any more."""
        if self._count:
            self._all.change(self._owner, -self._count)
            self._count = 0
