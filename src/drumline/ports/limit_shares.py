"""The part of a store that has a share of each limit, where an installation has several databases.

A share moves in steps, each a transaction of one database, and any process may stop between two of them: `give` at the
giver, `take` at the taker, `finish` at the giver. Whoever finds a transfer carries on with it.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from drumline.core.limit_shares import Ceiling, Gift, Holding, LimitDefinitions, ShareKey, Transfer


class LimitShares(Protocol):
    """What this database has of limits. A lone database has all of each, and is never asked."""

    async def version(self) -> int:
        """Return how often limits were set or deleted in this database. Only the directory's counts."""
        ...

    async def installed(self) -> int:
        """Return the version of the directory's limits that this database has; below 0 if it never had any."""
        ...

    async def definitions(self) -> LimitDefinitions:
        """Return all limits as they are now. Only the directory's are right."""
        ...

    async def install(self, definitions: LimitDefinitions) -> bool:
        """Have the directory's limits, and no others; return whether some have gone, and with them the limits of tasks.

        An older state than the one that is known is left aside. A limit that is new here begins with a share of
        nothing: tasks that run already count, and no other is started.
        """
        ...

    async def short(self, *, most: int, thorough: bool) -> list[ShareKey]:
        """Return up to `most` of what tasks wait for here without room, or less than nothing is left of.

        Unless it is `thorough`, the latter is looked for among limits without keys only.
        """
        ...

    async def holdings(self, about: Sequence[ShareKey]) -> list[Holding]:
        """Return what this database has of limits and keys; those that it has not heard of are left out."""
        ...

    async def given(self, *, most: int, idle: bool) -> list[Holding]:
        """Return up to `most` shares that this database was given; `idle` means those not needed for a minute.

        The directory was given none: what it has is the rest of each limit.
        """
        ...

    async def give(self, gifts: Sequence[Gift]) -> int:
        """Lower shares, none under what is in use, and write a transfer for each; return how many were written."""
        ...

    async def ask(self, ceilings: Sequence[Ceiling]) -> None:
        """Use no more than this of limits until some of it was given, or until a few seconds have passed."""
        ...

    async def transfers(self, *, most: int) -> list[Transfer]:
        """Return the oldest transfers to each taker, in order."""
        ...

    async def take(self, giver: str, transfers: Sequence[Transfer]) -> list[int]:
        """Raise shares by the transfers of a giver, each once; return the numbers of those that are applied.

        They are in the order of their numbers, without gaps: what `transfers` returned. The first one about a limit of
        which this database has not heard yet, and all after it, are left for later. What was deleted is dropped.
        """
        ...

    async def finish(self, taker: str, numbers: Sequence[int]) -> None:
        """Delete transfers that the taker has applied."""
        ...

    async def close(self) -> Mapping[str, int]:
        """Take no more transfers from now on; return the last number that was applied of each giver's."""
        ...

    async def wipe(self) -> None:
        """Forget the directory's limits, and all that was given and taken: the database is no part of it any more."""
        ...

    async def disown(self, taker: str, *, applied: int) -> None:
        """Give no more to a database that was closed, and take back the transfers to it after the last one applied."""
        ...

    async def admit(self, peer: str) -> int:
        """Give to a database that has joined, in case one of its name has left; return that one's last number."""
        ...

    async def number_after(self, numbers: Mapping[str, int]) -> None:
        """Number transfers to these databases above what they have had from one of this database's name before."""
        ...
