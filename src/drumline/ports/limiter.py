"""The limiter: how often each key may ask, across all servers that share it."""

from typing import Protocol

from msgspec import Struct

from drumline.core.rate import Rate


class Taken(Struct, frozen=True):
    """The answer to one request for a turn."""

    is_allowed: bool
    remaining: int
    """How many more there are right now."""
    seconds: float
    """When it was refused, how long until there is a turn; else how long until there are more than now."""


class KeyTurns(Protocol):
    """The turns of one key that this process may still give."""

    def take_unreported(self, now: float) -> bool:
        """Give a turn if enough are left that the response need not report the rest; False decides nothing."""
        ...


class Limiter(Protocol):
    """Gives turns. It never raises: one that cannot reach what it shares limits by itself."""

    def turns(self, key: str, rate: Rate) -> KeyTurns:
        """Return the turns that a key has in hand."""
        ...

    def take_now(self, key: str, rate: Rate) -> Taken | None:
        """Answer at once, where that can be done without asking another process."""
        ...

    async def take(self, key: str, rate: Rate) -> Taken:
        """Answer."""
        ...

    async def close(self) -> None:
        """Let go of every connection."""
        ...
