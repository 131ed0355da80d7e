"""The part of the store that remembers what ended sign-ins before their time."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from drumline.core.clock import Instant


class SignInMark(Struct, frozen=True):
    """Something to be remembered for a while: after `lasts_ms` it could change nothing any more."""

    name: str
    lasts_ms: int


class SignIns(Protocol):
    """Marks. There are few: one for each sign-in with a provider, and one for each sign-out."""

    async def leave_marks(self, marks: Sequence[SignInMark]) -> list[bool]:
        """Leave marks at the store's time, and tell which were not there; one that was is of now from here on.

        Of those who leave the same mark at the same time, one is told that it is new. Marks that have lasted go.
        """
        ...

    async def find_marks(self, names: Sequence[str]) -> list[Instant | None]:
        """Return when each of these marks was left last; None for one that is not there."""
        ...
