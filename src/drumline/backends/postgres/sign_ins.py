"""What ended sign-ins before their time."""

from collections.abc import Sequence

from drumline.backends.postgres.access import Access
from drumline.backends.postgres.database import Line, Transaction
from drumline.core.clock import Instant
from drumline.ports.sign_ins import Mark


class SignIns(Access):
    """`ports.sign_ins.SignIns` on PostgreSQL."""

    async def leave_marks(self, marks: Sequence[Mark]) -> list[bool]:
        """Leave marks at the store's time, and tell which were not there."""
        lasts = {mark.name: mark.lasts_ms for mark in sorted(marks, key=lambda mark: mark.name)}

        async def act(transaction: Transaction) -> dict[str, bool]:
            await transaction.fetch("prune_marks", now=self._now())
            rows = await transaction.fetch(
                "leave_marks", names=list(lasts), lasts=list(lasts.values()), now=self._now()
            )
            return {name: bool(is_new) for name, is_new in rows}

        told = await self._database.transact(Line.DESK, act)
        return [told[mark.name] for mark in marks]

    async def find_marks(self, names: Sequence[str]) -> list[Instant | None]:
        """Return when each of these marks was left last."""
        rows = await self._database.fetch(Line.DESK, "find_marks", repeat=True, names=list(names))
        found = {name: Instant(left_at) for name, left_at in rows}
        return [found.get(name) for name in names]
