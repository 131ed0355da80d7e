"""What ended sign-ins before their time."""

from collections.abc import Sequence

from drumline.core.clock import Instant
from drumline.ports.sign_ins import SignInMark
from drumline.stores.driver import Line, Part, Transaction


class SignIns(Part):
    """`ports.sign_ins.SignIns`."""

    async def leave_marks(self, marks: Sequence[SignInMark]) -> list[bool]:
        """Leave marks at the store's time, and tell which were not there."""
        lasts = {mark.name: mark.lasts_ms for mark in sorted(marks, key=lambda mark: mark.name)}

        async def act(transaction: Transaction) -> set[str]:
            await transaction.fetch("prune_marks", now=self._now())
            given = {"names": list(lasts), "lasts": list(lasts.values()), "now": self._now()}
            new = {name for (name,) in await transaction.fetch("leave_marks", **given)}
            await transaction.fetch("renew_marks", **given)
            return new

        new = await self._database.transact(Line.REQUEST, act)
        return [mark.name in new for mark in marks]

    async def find_marks(self, names: Sequence[str]) -> list[Instant | None]:
        """Return when each of these marks was left last."""
        rows = await self._database.fetch(Line.REQUEST, "find_marks", repeat=True, names=list(names))
        found = {name: Instant(left_at) for name, left_at in rows}
        return [found.get(name) for name in names]
