"""Finds tasks, jobs and schedules that were moved from the shard which the map names."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from drumline.core.errors import NotFound
from drumline.ports.drain import Forward
from drumline.ports.store import Store


class Place(Protocol):
    """A shard, as far as it is asked."""

    @property
    def name(self) -> str:
        """Its name in the map."""
        ...

    @property
    def store(self) -> Store:
        """Its database."""
        ...


P_co = TypeVar("P_co", bound=Place, covariant=True)


class Places(Protocol[P_co]):
    """The shards by name, and by the map."""

    def named(self, name: str) -> P_co:
        """Return a shard; `Unavailable` if it cannot be reached, `NotFound` if there is none."""
        ...

    def of(self, id: str) -> P_co:
        """Return the shard that holds what has this id, by the map."""
        ...


class Forwarding(Generic[P_co]):
    """Follows forwarding rows, which a shard keeps of what was taken out of it."""

    def __init__(self, places: Places[P_co]) -> None:
        self._places = places

    async def forwarded(self, ids: Sequence[str]) -> dict[str, P_co]:
        """Return the shards that have what is not where the map says, by id; the others are left out.

        An inactive copy that a forwarding row means is activated, so that requests find the unit itself there.
        `Unavailable` if a shard on the way cannot be reached.
        """
        found: dict[str, P_co] = {}
        asked: defaultdict[str, list[str]] = defaultdict(list)
        for id_ in ids:
            asked[self._places.of(id_).name].append(id_)
        seen: set[tuple[str, str]] = set()
        while asked:
            name, here = asked.popitem()
            new = [id_ for id_ in here if (name, id_) not in seen]
            seen |= {(name, id_) for id_ in new}
            for forward, place in await self._forwards(name, new):
                found[forward.id] = place
                asked[forward.shard].append(forward.id)
        return found

    async def _forwards(self, name: str, ids: list[str]) -> list[tuple[Forward, P_co]]:
        """Return where a shard forwards to; the copies that are meant are active then.

        Rows lead past a shard before it is removed, except those of what was deleted there: these are left out.
        """
        place = self._known(name) if ids else None
        if place is None:
            return []
        found: list[tuple[Forward, P_co]] = []
        by_taker: defaultdict[str, list[Forward]] = defaultdict(list)
        for forward in await place.store.drainage.forwards(ids):
            by_taker[forward.shard].append(forward)
        for taker_name, forwards in by_taker.items():
            taker = self._known(taker_name)
            if taker is not None:
                copies = {(forward.root, forward.version - 1) for forward in forwards}
                await taker.store.drainage.activate(sorted(copies))
                found += [(forward, taker) for forward in forwards]
        return found

    def _known(self, name: str) -> P_co | None:
        """Return a shard; None if it was removed."""
        try:
            return self._places.named(name)
        except NotFound:
            return None
