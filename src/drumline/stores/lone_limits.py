"""What a store that is always one database says about shares of limits."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from drumline.core.errors import Invalid
from drumline.core.limit_shares import Ceiling, Gift, Holding, LimitDefinitions, ShareKey, Transfer


class LoneLimitShares:
    """`ports.limit_shares.LimitShares` of SQLite, which has the whole of each limit: nothing is ever given or taken."""

    async def version(self) -> int:
        """Return 0: nobody else has to know."""
        return 0

    async def installed(self) -> int:
        """Return that there is no directory."""
        return -1

    async def holdings(self, about: Sequence[ShareKey]) -> list[Holding]:  # noqa: ARG002
        """Return none: no limit is split."""
        return []

    async def short(self, *, most: int, thorough: bool) -> list[ShareKey]:  # noqa: ARG002
        """Return nothing: what tasks wait for is here."""
        return []

    async def given(self, *, most: int, idle: bool) -> list[Holding]:  # noqa: ARG002
        """Return none."""
        return []

    async def transfers(self, *, most: int) -> list[Transfer]:  # noqa: ARG002
        """Return none."""
        return []

    async def definitions(self) -> LimitDefinitions:
        """Refuse."""
        _refuse()

    async def install(self, definitions: LimitDefinitions) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def give(self, gifts: Sequence[Gift]) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def ask(self, ceilings: Sequence[Ceiling]) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def take(self, giver: str, transfers: Sequence[Transfer]) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def finish(self, taker: str, numbers: Sequence[int]) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def close(self) -> NoReturn:
        """Refuse."""
        _refuse()

    async def wipe(self) -> NoReturn:
        """Refuse."""
        _refuse()

    async def disown(self, taker: str, *, applied: int) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def admit(self, peer: str) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def number_after(self, numbers: Mapping[str, int]) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()


def _refuse() -> NoReturn:
    raise Invalid("shards need PostgreSQL: SQLite is always one database", field="store_url")
