"""The list of shards, the map, and a database's own entries of it."""

from collections.abc import Mapping, Sequence

from drumline.core.clock import Instant
from drumline.core.errors import Conflict, NotFound
from drumline.core.ids import TaskId
from drumline.core.shard_map import DIRECTORY, ShardMap, SlotEntry
from drumline.ports.shards import KnownKey, OwnEntry, ShardIdentity, ShardRow, ShardState, SlotOwner
from drumline.stores.driver import Line, Part, Rows, Transaction


class ShardDirectory(Part):
    """`ports.shards.ShardDirectory` on PostgreSQL."""

    async def shards(self) -> list[ShardRow]:
        """Return the shards besides the directory."""
        rows = await self._database.fetch(Line.REQUEST, "list_shards", repeat=True)
        return [
            ShardRow(name=name, store_url=store, queue_url=queue, state=ShardState(state), added_at=Instant(added_at))
            for name, store, queue, state, added_at in rows
        ]

    async def add_shard(self, name: str, *, store_url: bytes, queue_url: bytes | None) -> None:
        """Add a shard; `Conflict` if there is one of this name."""

        async def add(transaction: Transaction) -> Rows:
            await transaction.fetch("raise_map_number")
            return await transaction.fetch(
                "add_shard", name=name, store_url=store_url, queue_url=queue_url, now=self._now()
            )

        if name == DIRECTORY or not await self._database.transact(Line.REQUEST, add):
            raise Conflict(f"there is a shard {name} already", field="name")

    async def change_shard(
        self,
        name: str,
        *,
        state: ShardState | None = None,
        store_url: bytes | None = None,
        queue_url: bytes | None = None,
        has_queue: bool = False,
    ) -> None:
        """Change what is given."""
        given = {
            "state": None if state is None else state.value,
            "store_url": store_url,
            "queue_url": queue_url,
            "has_queue": has_queue,
        }

        async def change(transaction: Transaction) -> Rows:
            await transaction.fetch("raise_map_number")
            return await transaction.fetch("change_shard", name=name, **given)

        if not await self._database.transact(Line.REQUEST, change):
            raise NotFound(f"there is no shard {name}", field="name")

    async def remove_shard(self, name: str) -> None:
        """Forget a shard; `Conflict` while the map names it."""

        async def remove(transaction: Transaction) -> Rows:
            await transaction.fetch("raise_map_number")
            return await transaction.fetch("delete_shard", name=name)

        if await self._database.transact(Line.REQUEST, remove):
            return
        if any(shard.name == name for shard in await self.shards()):
            raise Conflict(f"the map still names {name}: drain it first", field="name")
        raise NotFound(f"there is no shard {name}", field="name")

    async def map_number(self) -> int:
        """Return a number that rises with every change."""
        ((number,),) = await self._database.fetch(Line.REQUEST, "map_number", repeat=True)
        return int(number)

    async def shard_map(self) -> ShardMap:
        """Return the map."""
        # The number first: a change in between is then found by the next look, instead of being missed.
        number = await self.map_number()
        histories: dict[int, tuple[SlotEntry, ...]] = {}
        for version, shard, since, slots in await self._database.fetch(Line.REQUEST, "slot_owners", repeat=True):
            entry = SlotEntry(shard, since, version)
            histories |= {slot: (*histories.get(slot, ()), entry) for slot in slots}
        return ShardMap(number, histories)

    async def add_owners(self, owners: Sequence[SlotOwner]) -> None:
        """Write entries into the map."""

        async def add(transaction: Transaction) -> None:
            await transaction.fetch("raise_map_number")
            await transaction.fetch(
                "add_owners",
                slots=[owner.slot for owner in owners],
                versions=[owner.version for owner in owners],
                shards=[owner.shard for owner in owners],
                since=[owner.since for owner in owners],
            )

        if owners:
            await self._database.transact(Line.REQUEST, add, repeat=True)

    async def rename_owners(self, name: str, owners: Mapping[int, str]) -> int:
        """Let the map name others, by slot, for what an emptied shard held, as far as these exist."""

        async def rename(transaction: Transaction) -> int:
            await transaction.fetch("raise_map_number")
            rows = await transaction.fetch("rename_owners", name=name, slots=list(owners), owners=list(owners.values()))
            return len(rows)

        return await self._database.transact(Line.REQUEST, rename, repeat=True)


class SlotEntries(Part):
    """`ports.shards.SlotEntries` on PostgreSQL."""

    async def identity(self) -> ShardIdentity | None:
        """Return who this database is; None for a lone one."""
        return _identity(await self._database.fetch(Line.REQUEST, "shard_identity", repeat=True))

    async def join(self, identity: ShardIdentity) -> None:
        """Become a part of an installation."""

        async def join(transaction: Transaction) -> None:
            await transaction.fetch("lock_slots")  # no submission of a lone database comes in between
            before = _identity(await transaction.fetch("shard_identity"))
            if before is None and identity.name != DIRECTORY:
                ((has_work,),) = await transaction.fetch("has_work")
                if has_work:
                    raise Conflict("the database has tasks, jobs or schedules of its own", field="store_url")
            if before is not None and before != identity:
                raise Conflict(f"the database is a shard already, {before.name}", field="store_url")
            await transaction.fetch("join_installation", name=identity.name, directory=identity.directory)

        await self._database.transact(Line.REQUEST, join, repeat=True)

    async def leave(self, identity: ShardIdentity) -> None:
        """Be nobody's part any more, and forget what was moved elsewhere."""

        async def leave(transaction: Transaction) -> None:
            if await transaction.fetch("leave_installation", name=identity.name, directory=identity.directory):
                await transaction.fetch("forget_moved")

        await self._database.transact(Line.REQUEST, leave, repeat=True)

    async def entries(self) -> list[OwnEntry]:
        """Return the entries that concern this database."""
        rows = await self._database.fetch(Line.REQUEST, "own_entries", repeat=True)
        return [
            OwnEntry(slot=slot, version=version, since=since, closed_at=closed_at, taker=taker)
            for slot, version, since, closed_at, taker in rows
        ]

    async def close_slots(self, slots: Sequence[tuple[int, int]], *, taker: str) -> list[OwnEntry]:
        """Close entries, so that another may take new work; return those that are closed now."""
        named = {"slots": [slot for slot, _ in slots], "versions": [version for _, version in slots]}

        async def close(transaction: Transaction) -> Rows:
            await transaction.fetch("lock_slots")
            ((at,),) = await transaction.fetch("closing_time", now=self._now())
            await transaction.fetch("close_slots", **named, at=at, taker=taker)
            return await transaction.fetch("closed_slots", **named)

        rows = await self._database.transact(Line.REQUEST, close, repeat=True)
        return [
            OwnEntry(slot=slot, version=version, since=since, closed_at=closed_at, taker=taken_by)
            for slot, version, since, closed_at, taken_by in rows
        ]

    async def open_slots(self, entries: Sequence[OwnEntry]) -> None:
        """Take new work of slots from a time on, and with it what is moved there."""

        async def open_(transaction: Transaction) -> None:
            await transaction.fetch(
                "open_entries",
                slots=[entry.slot for entry in entries],
                versions=[entry.version for entry in entries],
                since=[entry.since for entry in entries],
            )
            await transaction.fetch("take_copies", takes=True)

        await self._database.transact(Line.REQUEST, open_, repeat=True)

    async def find_keys(self, keys: Sequence[tuple[str, str]]) -> list[KnownKey | None]:
        """Return the tasks that idempotency keys belong to here."""
        rows = await self._database.fetch(
            Line.SUBMIT,
            "known_keys",
            repeat=True,
            tenants=[tenant for tenant, _ in keys],
            keys=[key for _, key in keys],
        )
        found = {
            (tenant, key): KnownKey(TaskId(str(task)), fingerprint, Instant(due_at), is_here)
            for tenant, key, task, fingerprint, due_at, is_here in rows
        }
        return [found.get(key) for key in keys]

    async def forget_keys(self, keys: Sequence[tuple[str, TaskId]]) -> None:
        """Forget idempotency keys of tasks that were deleted in another database."""
        await self._database.fetch(
            Line.SUBMIT,
            "forget_keys",
            repeat=True,
            keys=[key for key, _ in keys],
            tasks=[task for _, task in keys],
        )


def _identity(rows: Rows) -> ShardIdentity | None:
    return ShardIdentity(rows[0][0], str(rows[0][1])) if rows else None
