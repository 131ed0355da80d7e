"""Asks several stores: by id the one that holds it, and for lists and counts all of them at once."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from operator import not_
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from drumline.core.errors import NotFound, Unavailable
from drumline.core.shard_map import ShardMap
from drumline.engine.incomplete import note_missing, noting_missing
from drumline.ports.store import Store
from drumline.shards.forwarding import Forwarding

T = TypeVar("T")
K = TypeVar("K")

REFRESH_SECONDS: Final = 1.0
"""How often the map is read again for ids that are not found, at most."""

ANSWER_SECONDS: Final = 10.0
"""After so long a list does without a shard that has not answered."""

Ask = Callable[[Store], Awaitable[T]]


class Member(Protocol):
    """A shard, as far as it is asked."""

    @property
    def name(self) -> str:
        """Its name in the map."""
        ...

    @property
    def store(self) -> Store:
        """Its database."""
        ...


class Members(Protocol):
    """The shards that a process has opened, and the map."""

    @property
    def directory(self) -> Member:
        """The shard that also keeps what is not a task."""
        ...

    def __iter__(self) -> Iterator[Member]:
        """Return every shard that is open."""
        ...

    def of(self, id: str) -> Member:
        """Return the shard that holds what has this id, by the map."""
        ...

    @property
    def map(self) -> ShardMap:
        """The map as it is known here."""
        ...

    def named(self, name: str) -> Member:
        """Return a shard; `Unavailable` if it is not open, `NotFound` if there is none."""
        ...

    async def refresh(self) -> None:
        """Read the map again."""
        ...

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of shards that could not be opened yet."""
        ...

    def note_away(self, name: str) -> None:
        """Note that a shard could not be reached."""
        ...


class _Outcome(NamedTuple, Generic[T]):
    """What came of asking a shard: an answer, or an error."""

    shard: str
    answer: list[T]
    error: Exception | None = None


def is_not_found(answer: object) -> bool:
    """Tell whether an answer says that there is no such thing."""
    return isinstance(answer, NotFound)


class Router:
    """Splits questions by shard, asks at once, and puts the answers together."""

    def __init__(self, members: Members) -> None:
        self.members = members
        self._forwarding = Forwarding(members)
        self._refreshed_at = float("-inf")
        self._refreshing = asyncio.Lock()

    @property
    def directory(self) -> Store:
        """The directory's store."""
        return self.members.directory.store

    @property
    def shards(self) -> list[Member]:
        """The shards that are open: the directory, then the others by name."""
        directory = self.members.directory
        others = [member for member in self.members if member.name != directory.name]
        return [directory, *sorted(others, key=lambda member: member.name)]

    async def one(self, id: str, ask: Ask[T], *, is_absent: Callable[[T], bool] = not_) -> T:
        """Ask the shard that holds an id; once more elsewhere, if it is not found and the map has changed.

        What is not found is told by `is_absent` of the answer, or by `NotFound`.
        """
        member = self.members.of(id)
        try:
            answer = await self._ask(member, ask)
        except NotFound:
            other = (await self._elsewhere({id: member})).get(id)
            if other is None:
                raise
            return await self._ask(other, ask)
        if is_absent(answer):
            other = (await self._elsewhere({id: member})).get(id)
            if other is not None:
                return await self._ask(other, ask)
        return answer

    async def split(
        self,
        items: Sequence[K],
        ask: Callable[[Store, list[K]], Awaitable[Sequence[T]]],
        *,
        key: Callable[[K], str] = str,
        is_absent: Callable[[T], bool] | None = None,
    ) -> list[T]:
        """Ask each shard about the items that it holds, and return the answers in the order of the items."""
        answers: dict[int, T] = {}
        places = {number: self.members.of(key(item)) for number, item in enumerate(items)}
        await self._fill(answers, items, places, ask)
        if is_absent is not None:
            absent = {number: key(items[number]) for number in places if is_absent(answers[number])}
            moved = await self._elsewhere({id_: places[number] for number, id_ in absent.items()})
            await self._fill(answers, items, {n: moved[id_] for n, id_ in absent.items() if id_ in moved}, ask)
        return [answers[number] for number in range(len(items))]

    async def tell(
        self, items: Sequence[K], ask: Callable[[Store, list[K]], Awaitable[None]], *, key: Callable[[K], str] = str
    ) -> None:
        """Give each shard the items that it holds; no answer tells of what was moved, so that is asked for before."""

        async def given(store: Store, part: list[K]) -> list[None]:
            await ask(store, part)
            return [None] * len(part)

        places = await self.places([key(item) for item in items])
        await self._fill({}, items, {number: places[key(item)] for number, item in enumerate(items)}, given)

    async def places(self, ids: Sequence[str]) -> dict[str, Member]:
        """Return the shard of each id: by the map, or where it was moved to."""
        if len(self.shards) == 1:
            return {id_: self.members.of(id_) for id_ in ids}
        return {id_: self.members.of(id_) for id_ in ids} | await self._forwarding.forwarded(list(ids))

    async def each(self, ask: Ask[T]) -> list[T]:
        """Return the answers of all shards that can be reached; those that are missing are noted in the reply.

        Raises `Unavailable` if none can be reached, or if the caller does not show what is missing.
        """
        return [answer for _, answer in await self.each_by_name(ask)]

    async def each_by_name(self, ask: Ask[T]) -> list[tuple[str, T]]:
        """Return what `each` does, with the names of the shards."""
        found = await self._gather([(member, _in_time(ask, ANSWER_SECONDS)) for member in self.shards])
        answers = [(each.shard, answer) for each in found for answer in each.answer]
        away = {each.shard: each.error for each in found if isinstance(each.error, Unavailable)}
        for name, error in (away | {name: _not_open(name) for name in self.members.missing}).items():
            if not answers:
                raise error
            note_missing(name, error)
        return answers

    async def reached(self, ask: Ask[T], *, seconds: float) -> dict[str, T]:
        """Return the answers of the shards that answer in time, by name; raises `Unavailable` if none does."""
        found = await self._gather([(member, _in_time(ask, seconds)) for member in self.shards])
        answers = {each.shard: answer for each in found for answer in each.answer}
        if not answers:
            raise next(each.error for each in found if each.error is not None)
        return answers

    async def first(self, ask: Ask[T | None]) -> T | None:
        """Return the answer of the shard that has one; None if no shard has, `Unavailable` if one might have."""
        with noting_missing() as missing:
            answers = await self.each(ask)
        found = next((answer for answer in answers if answer is not None), None)
        if found is None and missing:
            raise _not_open(", ".join(sorted(missing)))
        return found

    async def all(self, ask: Ask[T]) -> list[T]:
        """Do something in every shard; raises `Unavailable` if one cannot be reached, once it is done in the others."""
        found = await self._gather([(member, ask) for member in self.shards])
        away = [each.shard for each in found if each.error is not None]
        away += self.members.missing
        if away:
            raise Unavailable(f"shard {', '.join(away)} cannot be reached; repeat the request when it is back")
        return [answer for each in found for answer in each.answer]

    async def others(self, ask: Ask[object]) -> None:
        """Do something in every shard but the directory, as far as they can be reached."""
        name = self.members.directory.name
        await self._gather([(member, ask) for member in self.members if member.name != name])

    async def in_turn(
        self, limit: int, ask: Callable[[Store, int], Awaitable[T]], *, count: Callable[[T], int]
    ) -> list[T]:
        """Ask one shard after the other, each with what its predecessors have left of a limit."""
        answers: list[T] = []
        for member in self.shards:
            if limit <= 0 and answers:
                break
            answers.append(await self._ask(member, _limited(ask, limit)))
            limit -= count(answers[-1])
        return answers

    async def _fill(
        self,
        answers: dict[int, T],
        items: Sequence[K],
        places: dict[int, Member],
        ask: Callable[[Store, list[K]], Awaitable[Sequence[T]]],
    ) -> None:
        groups: dict[str, tuple[Member, list[int]]] = {}
        for number, member in places.items():
            groups.setdefault(member.name, (member, []))[1].append(number)

        def asking(numbers: list[int]) -> Ask[Sequence[T]]:
            return lambda store: ask(store, [items[number] for number in numbers])

        found = await self._gather([(member, asking(numbers)) for member, numbers in groups.values()])
        for (_, numbers), each in zip(groups.values(), found, strict=True):
            if each.error is not None:
                raise each.error
            answers.update(zip(numbers, each.answer[0], strict=True))

    async def _gather(self, questions: Sequence[tuple[Member, Ask[T]]]) -> "list[_Outcome[T]]":
        """Ask at once and wait for all; a shard that is away has `Unavailable`, every other error is raised."""
        found = await asyncio.gather(*(self._try(member, ask) for member, ask in questions))
        for each in found:
            if isinstance(each.error, Exception) and not isinstance(each.error, Unavailable):
                raise each.error
        return found

    async def _try(self, member: Member, ask: Ask[T]) -> "_Outcome[T]":
        try:
            return _Outcome(member.name, [await self._ask(member, ask)])
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised once the others have ended
            return _Outcome(member.name, [], error)

    async def _ask(self, member: Member, ask: Ask[T]) -> T:
        try:
            return await ask(member.store)
        except Unavailable:
            self.members.note_away(member.name)
            raise

    async def _elsewhere(self, asked: Mapping[str, Member]) -> dict[str, Member]:
        """Return where else things may be, by id, that were not found where they were asked for.

        That is where a newer map leads to, or the forwarding row of what was moved.
        """
        if not asked:
            return {}
        await self._refresh()
        if len(self.shards) == 1 and not self.members.missing:
            return {}
        found = {id_: self.members.of(id_) for id_ in asked} | await self._forwarding.forwarded(list(asked))
        return {id_: member for id_, member in found.items() if member.name != asked[id_].name}

    async def _refresh(self) -> None:
        now = asyncio.get_running_loop().time()
        async with self._refreshing:
            if now < self._refreshed_at + REFRESH_SECONDS:
                return
            await self.members.refresh()
            self._refreshed_at = now


def _not_open(name: str) -> Unavailable:
    return Unavailable(f"shard {name} cannot be reached")


def _in_time(ask: Ask[T], seconds: float) -> Ask[T]:
    async def in_time(store: Store) -> T:
        try:
            async with asyncio.timeout(seconds):
                return await ask(store)
        except TimeoutError as error:
            raise Unavailable("a shard does not answer in time") from error

    return in_time


def _limited(ask: Callable[[Store, int], Awaitable[T]], limit: int) -> Ask[T]:
    return lambda store: ask(store, limit)
