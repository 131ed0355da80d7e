"""Shards: several databases that share the slots of one installation.

The directory keeps the list of shards and the map (`ShardDirectory`). Each database keeps the entries of the map that
concern it (`SlotEntries`), by which it decides by itself which new work it takes: the fence, `docs/adr/0042-shards.md`.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.shard_map import ShardMap


class ShardState(StrEnum):
    """What a shard is there for."""

    ACTIVE = "active"
    DRAINING = "draining"
    """It takes no new work, and what waits in it is moved to others."""


class ShardRow(Struct, frozen=True, kw_only=True):
    """A shard besides the directory, as the directory keeps it: its addresses are sealed."""

    name: str
    store_url: bytes
    queue_url: bytes | None
    state: ShardState
    added_at: Instant


class ShardIdentity(Struct, frozen=True):
    """Who a database is: its name, and the id of the installation's directory."""

    name: str
    directory: str


class OwnEntry(Struct, frozen=True, kw_only=True):
    """An entry of the map as the database that it concerns keeps it."""

    slot: int
    version: int
    since: int
    closed_at: int | None = None
    taker: str | None = None
    """Who takes new work after it."""


class SlotOwner(Struct, frozen=True, kw_only=True):
    """An entry of the map: who takes new work of a slot, and from when on."""

    slot: int
    version: int
    shard: str
    since: int


class KnownKey(Struct, frozen=True):
    """A task that an idempotency key belongs to."""

    task: TaskId
    fingerprint: bytes | None
    due_at: Instant
    is_here: bool = True
    """Whether the database that has the key has the task, too: a drain takes tasks out and leaves their keys."""


class ShardDirectory(Protocol):
    """The list of shards and the map. Only the directory's is right."""

    async def shards(self) -> list[ShardRow]:
        """Return the shards besides the directory."""
        ...

    async def add_shard(self, name: str, *, store_url: bytes, queue_url: bytes | None) -> None:
        """Add a shard; `Conflict` if there is one of this name."""
        ...

    async def change_shard(
        self,
        name: str,
        *,
        state: ShardState | None = None,
        store_url: bytes | None = None,
        queue_url: bytes | None = None,
        has_queue: bool = False,
    ) -> None:
        """Change what is given, with `has_queue` the queue's address too; `NotFound` if there is no such shard."""
        ...

    async def remove_shard(self, name: str) -> None:
        """Forget a shard; `Conflict` while the map names it, `NotFound` if there is none."""
        ...

    async def map_number(self) -> int:
        """Return a number that rises with every change of the list and the map."""
        ...

    async def shard_map(self) -> ShardMap:
        """Return the map."""
        ...

    async def add_owners(self, owners: Sequence[SlotOwner]) -> None:
        """Write entries into the map; one that exists stays as it is, one without its predecessor is left out."""
        ...

    async def rename_owners(self, name: str, owners: Mapping[int, str]) -> int:
        """Let the map name others, by slot, for what an emptied shard held, as far as these exist.

        Returns how many entries changed.
        """
        ...


class SlotEntries(Protocol):
    """A database's own entries of the map, and who it is."""

    async def identity(self) -> ShardIdentity | None:
        """Return who this database is; None for a lone one."""
        ...

    async def join(self, identity: ShardIdentity) -> None:
        """Become a part of an installation; `Conflict` if it is another's, or has work and is not the directory."""
        ...

    async def leave(self, identity: ShardIdentity) -> None:
        """Be nobody's part any more."""
        ...

    async def entries(self) -> list[OwnEntry]:
        """Return the entries that concern this database; a directory keeps its first ones when it closes them."""
        ...

    async def close_slots(self, slots: Sequence[tuple[int, int]], *, taker: str) -> list[OwnEntry]:
        """Close entries, as slot and version, so that another may take new work; return those that are closed now.

        It waits for submissions that have passed the fence. The time is after this database's clock, every id in it
        and the entry's own beginning. An entry that was closed before stays as it was: with its time, and its taker.
        """
        ...

    async def open_slots(self, entries: Sequence[OwnEntry]) -> None:
        """Take new work of slots from `since` on; an entry that exists is never changed."""
        ...

    async def find_keys(self, keys: Sequence[tuple[str, str]]) -> list[KnownKey | None]:
        """Return the tasks that idempotency keys, as tenant and key, belong to here."""
        ...

    async def forget_keys(self, keys: Sequence[tuple[str, TaskId]]) -> None:
        """Forget idempotency keys, each with the task that it belongs to, which was deleted in another database.

        One that belongs to a later task by now stays, and so does that of a task which is here.
        """
        ...


class ShardStatus(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A shard as operators see it."""

    name: str
    state: ShardState
    slots: int
    """How many of the 4096 slots of new work it has."""
    address: str
    """Its database, without the login."""
    queue_address: str | None = None
    added_at: Instant | None = None
    """None for the directory, which was there first."""
    is_away: bool = False
    """Whether it cannot be reached at the moment."""
    queued: int | None = None
    running: int | None = None
    """None if it cannot be reached."""
    left: int | None = None
    """How many tasks, jobs and schedules it still holds, while it is drained."""
    unfinished: int = 0
    """Slots that are moving away from it, and have no new owner yet."""


class ShardOperations(Protocol):
    """What operators do with shards. Each act may be repeated if it was interrupted."""

    async def list(self) -> list[ShardStatus]:
        """Return every shard, the directory first."""
        ...

    async def check(self) -> dict[str, str | None]:
        """Return what is wrong with the database of each shard besides the directory; None for one that is well."""
        ...

    async def get(self, name: str) -> ShardStatus:
        """Return one shard; `NotFound` if there is none of this name."""
        ...

    def holder(self, id: str) -> str | None:
        """Return the shard that holds a task by the map; None if there is one shard, or that one is being drained."""
        ...

    async def add(self, name: str, *, store_url: str, queue_url: str | None = None) -> ShardStatus:
        """Add a database to the installation. It gets the schema, and no slots yet."""
        ...

    async def change(
        self, name: str, *, store_url: str | None = None, queue_url: str | None = None, has_queue: bool = False
    ) -> ShardStatus:
        """Give other addresses of the same database and queue."""
        ...

    async def move(self, *, taker: str | None, giver: str | None = None, slots: int | None = None) -> int:
        """Let a shard take new work of some slots, or with no taker spread them evenly; return how many have moved."""
        ...

    async def drain(self, name: str) -> ShardStatus:
        """Take a shard's slots, and let the schedulers move what is in it to others."""
        ...

    async def keep(self, name: str) -> ShardStatus:
        """End draining: the shard stays, and may be given slots again."""
        ...

    async def remove(self, name: str) -> None:
        """Forget an empty shard; `Conflict` says what is still there."""
        ...
