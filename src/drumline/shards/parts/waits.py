"""Waits between jobs: each is kept with the waiting job, and its ripple with the awaited one."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from drumline.ports.hint import Effects
from drumline.ports.store import Store
from drumline.ports.waits import FarRipple, FarWait
from drumline.shards.parts.merging import Part

MOST_SHARDS: Final = 1024


class Waits(Part):
    """`ports.waits.Waits`. Each shard numbers its ripples; here the place of the shard is a part of the number."""

    async def unregistered(self, *, limit: int, after: FarWait | None = None) -> list[FarWait]:
        """Return waits that are not marked as registered, in the order of their jobs, above one of them."""
        found = await self._router.each(lambda store: store.waits.unregistered(limit=limit, after=after))
        return sorted((wait for waits in found for wait in waits), key=lambda wait: (wait.job, wait.needs))[:limit]

    async def register(self, waits: Sequence[FarWait], *, final: bool = False) -> list[FarWait]:
        """Let the jobs that are awaited know of the waits, and return those for jobs that do not exist."""

        async def register(store: Store, part: list[FarWait]) -> list[FarWait | None]:
            missing = await store.waits.register(part, final=final)
            return [wait if wait in missing else None for wait in part]

        found = await self._router.split(waits, register, key=lambda wait: wait.needs)
        return [wait for wait in found if wait is not None]

    async def mark_registered(self, waits: Sequence[FarWait]) -> None:
        """Mark waits; one whose job was resumed since stays unregistered."""
        await self._router.tell(waits, lambda store, part: store.waits.mark_registered(part), key=lambda wait: wait.job)

    async def ripples(self, *, limit: int, after: int = 0) -> list[FarRipple]:
        """Return ripples in the order of their numbers, above one of these."""
        found: list[FarRipple] = []
        for place, member in enumerate(self._router.shards):
            last = max(after - place, 0) // MOST_SHARDS
            ripples = await member.store.waits.ripples(limit=limit, after=last)
            found += [replace(ripple, number=ripple.number * MOST_SHARDS + place) for ripple in ripples]
        return sorted(found, key=lambda ripple: ripple.number)[:limit]

    async def tell(self, ripples: Sequence[FarRipple]) -> list[Effects | None]:
        """Tell waiting jobs how those that they wait for have ended; return what that led to, None without a job."""
        return await self._router.split(
            ripples, lambda store, part: store.waits.tell(part), key=lambda ripple: ripple.job
        )

    async def delete_ripples(self, numbers: Sequence[int]) -> None:
        """Delete ripples that have been told."""
        for place, member in enumerate(self._router.shards):
            own = [number // MOST_SHARDS for number in numbers if number % MOST_SHARDS == place]
            if own:
                await member.store.waits.delete_ripples(own)
