"""What operators do with shards: list, add, move, drain, remove."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final
from uuid import uuid4

from msgspec import Struct

from drumline.core.errors import Conflict, DrumlineError, Invalid, NotFound, Unavailable
from drumline.core.shard_map import DIRECTORY
from drumline.ports.sealing import Box, Purpose
from drumline.ports.shards import ShardIdentity, ShardRow, ShardState, ShardStatus
from drumline.ports.store import Store
from drumline.shards.drain import Drain
from drumline.shards.limits import share_mover
from drumline.shards.move import Mover
from drumline.shards.plan import hand_over, spread, take_over
from drumline.shards.shard_set import ShardSet

LONGEST_NAME: Final = 32
CHECK_SECONDS: Final = 2.0
"""How long a database may take to answer the health page."""
_NAME: Final = re.compile(r"[a-z][a-z0-9-]*")

OpenStore = Callable[[str], Awaitable[Store]]
"""Reaches a database by its URL, or raises `Unavailable` or `Invalid`."""
AddressOf = Callable[[str], str]
"""Returns where a URL leads, without its login."""


class ShardReach(Struct, frozen=True):
    """How this process reaches databases that it does not know yet, and names them."""

    open_store: OpenStore
    address_of: AddressOf
    directory_url: str
    queue_url: str | None = None


class ShardService:
    """Acts on shards. Each may be repeated, also by another process, if it was interrupted."""

    def __init__(self, shards: ShardSet, box: Box, reach: ShardReach) -> None:
        self._shards = shards
        self._box = box
        self._reach = reach
        self._drain = Drain(shards)
        self.mover = Mover(shards)
        self._share_mover = share_mover(shards)

    async def list(self) -> list[ShardStatus]:
        """Return every shard, the directory first."""
        await self._shards.refresh()
        rows: list[ShardRow | None] = [None, *await self._shards.directory.store.shards.shards()]
        unfinished = await self._unfinished()
        return list(await asyncio.gather(*(self._status(row, unfinished) for row in rows)))

    async def check(self) -> dict[str, str | None]:
        """Return what is wrong with the database of each shard besides the directory; None for one that is well."""
        names = [name for name in self._shards.names if name != DIRECTORY]
        return dict(zip(names, await asyncio.gather(*map(self._fault_of, names)), strict=True))

    async def _fault_of(self, name: str) -> str | None:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await self._shards.named(name).store.check()
        except DrumlineError as error:
            return error.message
        except TimeoutError:
            return "it does not answer"
        return None

    async def get(self, name: str) -> ShardStatus:
        """Return one shard; `NotFound` if there is none of this name."""
        for status in await self.list():
            if status.name == name:
                return status
        raise NotFound(f"there is no shard {name}", field="name")

    def holder(self, id: str) -> str | None:
        """Return the shard that holds a task by the map; None if there is one shard, or that one is being drained."""
        if self._shards.is_lone:
            return None
        name = self._shards.map.holder(id)
        return None if self._shards.is_draining(name) else name

    async def add(self, name: str, *, store_url: str, queue_url: str | None = None) -> ShardStatus:
        """Add a database to the installation. It gets the schema, and no slots yet."""
        check_shard_name(name)
        sealed = seal_urls(self._box, name, store_url, queue_url)
        await self._join(name, store_url)
        directory = self._shards.directory.store.shards
        await directory.add_shard(name, store_url=sealed[0], queue_url=sealed[1])
        return await self.get(name)

    async def change(
        self, name: str, *, store_url: str | None = None, queue_url: str | None = None, has_queue: bool = False
    ) -> ShardStatus:
        """Give other addresses of the same database and queue; processes use them when they start."""
        if store_url is not None:
            await self._join(name, store_url)
        sealed = seal_urls(self._box, name, store_url or "", queue_url)
        await self._shards.directory.store.shards.change_shard(
            name, store_url=None if store_url is None else sealed[0], queue_url=sealed[1], has_queue=has_queue
        )
        return await self.get(name)

    async def move(self, *, taker: str | None, giver: str | None = None, slots: int | None = None) -> int:
        """Let a shard take new work of some slots, or with no taker spread them evenly; return how many have moved."""
        await self._shards.refresh()
        active = self._active()
        if taker is None:
            if giver is not None or slots is not None:
                raise Invalid("is needed with giver or slots", field="taker")
            return await self._move(spread(self._shards.map, active))
        for name, field in ((taker, "taker"), (giver, "giver")):
            if name is not None and name not in self._shards.names:
                raise NotFound(f"there is no shard {name}", field=field)
        if taker not in active:
            raise Conflict(f"shard {taker} is being drained", field="taker")
        if giver is not None:
            held = self._shards.map.counts().get(giver, 0)
            moves = hand_over(self._shards.map, taker=taker, giver=giver, slots=held if slots is None else slots)
        else:
            moves = take_over(self._shards.map, taker=taker, shards=active, slots=slots)
        return await self._move(moves)

    async def drain(self, name: str) -> ShardStatus:
        """Take a shard's slots, and let the schedulers move what is in it to others."""
        if name == DIRECTORY:
            raise Conflict("the directory cannot be drained: it keeps the list of shards", field="name")
        await self._shards.directory.store.shards.change_shard(name, state=ShardState.DRAINING)
        await self._shards.refresh()
        held = self._shards.map.counts().get(name, 0)
        if held:
            moves = spread(self._shards.map, self._active())
            entry = self._shards.map.entry
            await self._move({slot: taker for slot, taker in moves.items() if entry(slot).shard == name})
        return await self.get(name)

    async def keep(self, name: str) -> ShardStatus:
        """End draining: the shard stays, with what is still in it, and may be given slots again."""
        await self._shards.directory.store.shards.change_shard(name, state=ShardState.ACTIVE)
        return await self.get(name)

    async def remove(self, name: str) -> None:
        """Forget an empty shard; `Conflict` says what is still there."""
        status = await self.get(name)
        if name == DIRECTORY:
            raise Conflict("the directory cannot be removed: it keeps the list of shards", field="name")
        if status.slots or status.unfinished:
            raise Conflict(f"shard {name} still takes new work of {status.slots} slots: drain it first", field="name")
        shard = self._shards.named(name)
        left = await self._drain.remaining(shard)
        if left:
            raise Conflict(f"shard {name} still holds {left:,} tasks, jobs and schedules: drain it first", field="name")
        await self._share_mover.release(name)
        owners = await self._drain.hand_over(shard)
        directory = self._shards.directory.store.shards
        await directory.rename_owners(name, owners)
        await directory.remove_shard(name)
        # If this is where it ends, the database still bears its name: it can be added under that one only.
        identity = await shard.store.slots.identity()
        if identity is not None:
            await shard.store.slots.leave(identity)
        await self._shards.refresh()

    async def _move(self, moves: Mapping[int, str]) -> int:
        """Move slots to shards that have heard of all limits; `Unavailable` if one of them cannot be reached."""
        late = set(await self._share_mover.changed()) & set(moves.values())
        if late:
            raise Unavailable(f"shard {', '.join(sorted(late))} cannot be reached, and has to hear of all limits first")
        return await self.mover.move(moves)

    def _active(self) -> Sequence[str]:
        """Return the shards that may be given slots."""
        return [name for name in self._shards.names if not self._shards.is_draining(name)]

    async def _join(self, name: str, store_url: str) -> None:
        """Let a database become a shard: with the schema of this version, and with the name by which it is known."""
        directory = self._shards.directory.store
        identity = await directory.slots.identity()
        if identity is None:
            await directory.slots.join(ShardIdentity(DIRECTORY, str(uuid4())))
            identity = await directory.slots.identity()
        if identity is None:
            raise Unavailable("the directory has just been emptied; try again")
        store = await self._reach.open_store(store_url)
        try:
            await store.migrate()
            await store.slots.join(ShardIdentity(name, identity.directory))
            # Before it has tasks: it has to know the limits that they are under.
            await self._share_mover.admit(name, store.limit_shares)
        finally:
            await store.close()

    async def _unfinished(self) -> dict[str, int]:
        """Return how many slots of each shard have no owner yet; a shard that is away is passed over."""
        shard_map, counts = self._shards.map, dict.fromkeys(self._shards.names, 0)
        for shard in self._shards:
            try:
                entries = await shard.store.slots.entries()
            except Unavailable:
                self._shards.note_away(shard.name)
                continue
            counts[shard.name] = sum(
                entry.closed_at is not None and len(shard_map.history(entry.slot)) == entry.version + 1
                for entry in entries
            )
        return counts

    async def _status(self, row: ShardRow | None, unfinished: dict[str, int]) -> ShardStatus:
        name = DIRECTORY if row is None else row.name
        queued = running = left = None
        is_away = False
        try:
            shard = self._shards.named(name)
            queues = await shard.store.queries.queues()
            queued = sum(queue.pending + queue.queued for queue in queues)
            running = sum(queue.processing for queue in queues)
            left = await self._drain.remaining(shard) if row is not None and row.state is ShardState.DRAINING else None
        except (Unavailable, NotFound):
            is_away = True
        store, queue = self._urls(row)
        return ShardStatus(
            name=name,
            state=ShardState.ACTIVE if row is None else row.state,
            slots=self._shards.map.counts().get(name, 0),
            address=store,
            queue_address=queue,
            added_at=None if row is None else row.added_at,
            is_away=is_away,
            queued=queued,
            running=running,
            left=left,
            unfinished=unfinished.get(name, 0),
        )

    def _urls(self, row: ShardRow | None) -> tuple[str, str | None]:
        """Return where a shard's database and queue are, without the logins."""
        address_of = self._reach.address_of
        if row is None:
            queue = self._reach.queue_url
            return address_of(self._reach.directory_url), None if queue is None else address_of(queue)
        try:
            store_url, queue_url = open_urls(self._box, row)
        except DrumlineError:
            return "sealed with another key", None
        return address_of(store_url), None if queue_url is None else address_of(queue_url)


def check_shard_name(name: str) -> str:
    """Return a shard's name, or raise `Invalid`: it is part of keys in Redis and of labels of metrics."""
    if len(name) > LONGEST_NAME or _NAME.fullmatch(name) is None:
        raise Invalid(
            f"must be at most {LONGEST_NAME} lower-case letters, digits and -, and begin with a letter", field="name"
        )
    if name == DIRECTORY:
        raise Conflict("main is the directory, which is there already", field="name")
    return name


def seal_urls(box: Box, name: str, store_url: str, queue_url: str | None) -> tuple[bytes, bytes | None]:
    """Return a shard's addresses sealed, as the directory keeps them."""
    return (
        box.seal(store_url, _purpose(name, "store")),
        None if queue_url is None else box.seal(queue_url, _purpose(name, "queue")),
    )


def open_urls(box: Box, row: ShardRow) -> tuple[str, str | None]:
    """Return a shard's addresses; `Unreadable` if they were sealed with a key that this process has not."""
    return (
        box.open(row.store_url, _purpose(row.name, "store")),
        None if row.queue_url is None else box.open(row.queue_url, _purpose(row.name, "queue")),
    )


def _purpose(name: str, what: str) -> Purpose:
    return ("shard", name, what)
