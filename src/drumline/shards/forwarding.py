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
            for forward in await self._forwards(name, new):
                found[forward.id] = self._places.named(forward.shard)
                asked[forward.shard].append(forward.id)
        return found

    async def _forwards(self, name: str, ids: list[str]) -> list[Forward]:
        """Return where a shard forwards to; the copies that are meant are active then."""
        if not ids:
            return []
        try:
            place = self._places.named(name)
        except NotFound:
            return []
        forwards = await place.store.drainage.forwards(ids)
        by_taker: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
        for forward in forwards:
            by_taker[forward.shard].add((forward.root, forward.version - 1))
        for taker, copies in by_taker.items():
            await self._places.named(taker).store.drainage.activate(sorted(copies))
        return forwards
