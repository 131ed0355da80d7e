"""Several simulated databases as the shards of one installation: the map, the fence, and what each process opens.

The store of SQLite is always one shard. Here the two ports that make a database one of several, and the check of the
fence in its submissions, are written for the simulation; what is on trial is all that stands on them: the routers of
tasks and jobs, the gateway over several engines, the mover of slots and the duty that carries on with moves, jobs that
wait for jobs of other databases and the duty that tells them, the sharded store, and every process that follows the
map. Schedules, limits and drains need more of a store than SQLite's has, and are not simulated with shards.
"""

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from drumline.core.clock import Clock, Instant
from drumline.core.errors import Conflict, Moved, Unavailable
from drumline.core.ids import JobId, TaskId, made_at
from drumline.core.job import NewJob
from drumline.core.shard_map import DIRECTORY, ShardMap, SlotEntry
from drumline.core.slots import SLOTS, slot_of
from drumline.core.task import NewTask, SubmitAnswer
from drumline.engine.engine import Engine
from drumline.engine.options import EngineOptions
from drumline.ports.jobs import JobAnswer
from drumline.ports.shards import KnownKey, OwnEntry, ShardIdentity, ShardRow, ShardState, SlotOwner
from drumline.ports.store import Store
from drumline.shards.front import FrontEngine
from drumline.shards.service import ShardReach, ShardService
from drumline.shards.shard_set import Shard, ShardSet
from drumline.shards.view import shard_view
from drumline.stores.driver import Transaction
from drumline.stores.no_queue import NoQueue
from drumline.stores.parts.submit_jobs import _known as known_in
from drumline.stores.sqlite import SqliteStore
from drumline.stores.sqlite.jobs import SqliteJobs
from drumline.testing.clock import EPOCH
from drumline.testing.database import DatabaseServer, FaultyWire, SimulatedDatabase
from drumline.testing.loop import SimulatedLoop

MOVED = Moved("another shard takes new work of this slot; look at the map again")


@dataclass
class DirectoryState:
    """What the directory's database keeps of shards."""

    rows: list[ShardRow] = field(default_factory=list)
    number: int = 1
    histories: dict[int, tuple[SlotEntry, ...]] = field(default_factory=dict)


@dataclass
class SlotState:
    """What a database keeps of its own entries of the map."""

    identity: ShardIdentity
    entries: dict[tuple[int, int], OwnEntry] = field(default_factory=dict)

    def is_open(self, slot: int, version: int) -> bool:
        """Tell whether new work of a slot is taken here, by an entry."""
        entry = self.entries.get((slot, version))
        if entry is None:
            return self.identity.name == DIRECTORY and version == 0
        return entry.closed_at is None


class Databases:
    """The databases of an installation: the directory, and perhaps other shards, each with every fourth slot."""

    def __init__(self, loop: SimulatedLoop, others: Sequence[str] = ()) -> None:
        self.loop = loop
        self.main = DatabaseServer()
        self.others = {name: DatabaseServer() for name in others}
        self.directory = DirectoryState()
        self.slots = {name: SlotState(ShardIdentity(name, "simulated")) for name in (DIRECTORY, *others)}
        self.down_until: dict[str, float] = {}
        """Until when a database answers nobody."""
        for number, name in enumerate(others):
            self._share_slots(name, number)

    @property
    def servers(self) -> dict[str, DatabaseServer]:
        """Every database, the directory first."""
        return {DIRECTORY: self.main, **self.others}

    def _share_slots(self, name: str, first: int) -> None:
        """Give a shard every fourth slot, as a move before the beginning would have."""
        since = round(EPOCH * 1000) - 1000
        for slot in range(first, SLOTS, 4):
            self.slots[DIRECTORY].entries[slot, 0] = OwnEntry(
                slot=slot, version=0, since=0, closed_at=since, taker=name
            )
            self.slots[name].entries[slot, 1] = OwnEntry(slot=slot, version=1, since=since)
            self.directory.histories[slot] = (SlotEntry(DIRECTORY), SlotEntry(name, since, 1))
        row = ShardRow(name=name, store_url=b"", queue_url=None, state=ShardState.ACTIVE, added_at=Instant(since))
        self.directory.rows.append(row)


class ShardWire:
    """The way of a process to one of several databases: its own wire, if the database answers at all."""

    def __init__(self, wire: FaultyWire, databases: Databases, name: str) -> None:
        self._wire = wire
        self._databases = databases
        self._name = name

    async def send(self) -> None:
        """Bring a request there."""
        await self._reach()
        await self._wire.send()

    async def receive(self) -> None:
        """Bring the answer back."""
        await self._reach()
        await self._wire.receive()

    async def _reach(self) -> None:
        if self._databases.loop.time() < self._databases.down_until.get(self._name, 0.0):
            await asyncio.sleep(self._wire.timeout * self._wire.random.random())
            raise Unavailable(f"the database {self._name} cannot be reached")


async def open_front(databases: Databases, wire: FaultyWire, options: EngineOptions, clock: Clock) -> FrontEngine:
    """Return the engine of a process over all shards."""

    def open_store(name: str) -> FencedStore:
        database = SimulatedDatabase(databases.servers[name], ShardWire(wire, databases, name))
        return FencedStore(database, clock, slots=databases.slots[name], directory=databases.directory)

    own = open_store(DIRECTORY)

    async def open_shard(row: ShardRow) -> Shard:
        store: Store = open_store(row.name)
        await store.slots.identity()
        of_shard = replace(options, metrics=options.metrics.of_shard(row.name))
        return Shard(row.name, Engine(shard_view(store, own), NoQueue(), of_shard), store)

    async def refuse(url: str) -> Store:
        raise Unavailable(f"{url} is not a part of the simulation")

    shards = ShardSet(
        Shard(DIRECTORY, Engine(own, NoQueue(), options), own), open_shard=open_shard, clock=options.clock
    )
    reach = ShardReach(refuse, str, "simulated")
    front = FrontEngine(shards, options, SimulatedShardService(shards, options.box, reach))
    while True:
        try:
            await shards.refresh()
        except Unavailable:
            await asyncio.sleep(0.5)  # a process that starts waits for its database
        else:
            return front


class SimulatedDirectory:
    """`ports.shards.ShardDirectory` of a process."""

    def __init__(self, database: SimulatedDatabase, state: DirectoryState) -> None:
        self._database = database
        self._state = state

    async def shards(self) -> list[ShardRow]:
        """Return the shards besides the directory."""
        return await self._database.read(lambda _: list(self._state.rows))

    async def map_number(self) -> int:
        """Return a number that rises with every change."""
        return await self._database.read(lambda _: self._state.number)

    async def shard_map(self) -> ShardMap:
        """Return the map."""
        return await self._database.read(lambda _: ShardMap(self._state.number, dict(self._state.histories)))

    async def add_owners(self, owners: Sequence[SlotOwner]) -> None:
        """Write entries into the map; one that exists stays as it is, one without its predecessor is left out."""

        def add(_: sqlite3.Connection) -> None:
            for owner in owners:
                history = self._state.histories.get(owner.slot, (SlotEntry(DIRECTORY),))
                if len(history) == owner.version:
                    entry = SlotEntry(owner.shard, owner.since, owner.version)
                    self._state.histories[owner.slot] = (*history, entry)
            self._state.number += 1

        await self._database.write(add)

    async def add_shard(self, name: str, *, store_url: bytes, queue_url: bytes | None) -> None:
        """Refuse: all shards are there from the beginning."""
        raise Conflict(f"{name}, {store_url!r} and {queue_url!r} cannot be added to a simulation", field="name")

    async def change_shard(self, name: str, *, state: ShardState | None = None, **_: Any) -> None:
        """Refuse, likewise."""
        raise Conflict(f"{name} cannot become {state} in a simulation", field="name")

    async def remove_shard(self, name: str) -> None:
        """Refuse, likewise."""
        raise Conflict(f"{name} cannot be removed from a simulation", field="name")

    async def rename_owners(self, name: str, owners: Mapping[int, str]) -> int:
        """Refuse, likewise."""
        raise Conflict(f"{name} cannot hand {len(owners)} slots over in a simulation", field="name")


class SimulatedSlots:
    """`ports.shards.SlotEntries` of a process."""

    def __init__(self, database: SimulatedDatabase, state: SlotState, clock: Clock) -> None:
        self._database = database
        self._state = state
        self._clock = clock

    async def identity(self) -> ShardIdentity | None:
        """Return who this database is."""
        return await self._database.read(lambda _: self._state.identity)

    async def join(self, identity: ShardIdentity) -> None:
        """Refuse: all shards have joined from the beginning."""
        raise Conflict(f"{identity.name} has joined", field="name")

    async def leave(self, identity: ShardIdentity) -> None:
        """Refuse, likewise."""
        raise Conflict(f"{identity.name} cannot leave", field="name")

    async def entries(self) -> list[OwnEntry]:
        """Return the entries that concern this database; a directory keeps its first ones when it closes them."""
        return await self._database.read(lambda _: list(self._state.entries.values()))

    async def close_slots(self, slots: Sequence[tuple[int, int]], *, taker: str) -> list[OwnEntry]:
        """Close entries after this database's clock, every id in it and the entry's own beginning."""

        def close(connection: sqlite3.Connection) -> list[OwnEntry]:
            (newest,) = connection.execute("SELECT max(id) FROM task").fetchone()
            at = max(self._clock.now(), 0 if newest is None else made_at(newest)) + 1
            closed = []
            for slot, version in slots:
                entry = self._state.entries.get((slot, version))
                if entry is None and self._state.is_open(slot, version):
                    entry = OwnEntry(slot=slot, version=version, since=0)
                if entry is None:
                    continue
                if entry.closed_at is None:
                    entry = replace(entry, closed_at=max(at, entry.since + 1), taker=taker)
                self._state.entries[slot, version] = entry
                closed.append(entry)
            return closed

        return await self._database.write(close)

    async def open_slots(self, entries: Sequence[OwnEntry]) -> None:
        """Take new work of slots from a time on; an entry that exists is never changed."""

        def open_(_: sqlite3.Connection) -> None:
            for entry in entries:
                self._state.entries.setdefault((entry.slot, entry.version), entry)

        await self._database.write(open_)

    async def find_keys(self, keys: Sequence[tuple[str, str]]) -> list[KnownKey | None]:
        """Return the tasks that idempotency keys belong to here."""

        def find(connection: sqlite3.Connection) -> list[KnownKey | None]:
            return [_known(connection, tenant, key) for tenant, key in keys]

        return await self._database.read(find)


def _known(connection: sqlite3.Connection, tenant: str, key: str) -> KnownKey | None:
    row = connection.execute(
        "SELECT task_id, fingerprint, due_at FROM idempotency WHERE tenant = ? AND key = ?", (tenant, key)
    ).fetchone()
    return None if row is None else KnownKey(TaskId(row[0]), row[1], Instant(row[2]))


class FencedStore(SqliteStore):
    """SQLite's store as one of several: it takes new work of its own slots alone, as PostgreSQL's does."""

    def __init__(
        self, database: SimulatedDatabase, clock: Clock, *, slots: SlotState, directory: DirectoryState
    ) -> None:
        super().__init__(database, clock)
        self._slots = slots
        self.shards = SimulatedDirectory(database, directory)  # type: ignore[assignment]  # SQLite's own has one shard
        self.slots = SimulatedSlots(database, slots, clock)  # type: ignore[assignment]  # likewise
        self.jobs = FencedJobs(database, clock, self._lanes, self._following)
        self.jobs.fence = slots

    def _submit(self, connection: sqlite3.Connection, tasks: Sequence[NewTask]) -> list[SubmitAnswer]:
        """Store the tasks whose slots are open; of the others those with a key that is known have their answer."""
        taken = [self._is_taken(connection, task) for task in tasks]
        own = [task for task, is_taken in zip(tasks, taken, strict=True) if is_taken]
        stored = iter(super()._submit(connection, own))
        return [next(stored) if is_taken else MOVED for is_taken in taken]

    def _is_taken(self, connection: sqlite3.Connection, task: NewTask) -> bool:
        if self._slots.is_open(slot_of(task.id), task.slot_version):
            return True
        key = task.idempotency_key
        return key is not None and _known(connection, task.lane.tenant, key) is not None


class FencedJobs(SqliteJobs):
    """SQLite's jobs as those of one of several databases."""

    fence: SlotState

    async def submit_in(self, transaction: Transaction, jobs: Sequence[NewJob]) -> dict[JobId, JobAnswer]:
        """Store the jobs whose slots are open; of the others those with a key that is known have their answer."""
        own = [job for job in jobs if self.fence.is_open(slot_of(job.id), job.slot_version)]
        others = [job for job in jobs if job not in own]
        known = await known_in(transaction, others) if others else {}
        return {**await super().submit_in(transaction, own), **{job.id: known.get(job.id) or MOVED for job in others}}


class SimulatedShardService(ShardService):
    """What operators do with shards, without what limits need."""

    async def _move(self, moves: Mapping[int, str]) -> int:
        return await self.mover.move(moves)
