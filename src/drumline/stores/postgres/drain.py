"""Units that move from one database to another: `ports.drain.Drainage` on PostgreSQL."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import json

from drumline.core.clock import Instant
from drumline.core.codec import encode
from drumline.core.ids import TaskId
from drumline.core.state import State
from drumline.core.task import Lane
from drumline.ports.drain import Activated, Copy, Forward, Held, TakeOut, Trace, Unit
from drumline.ports.hint import Hint
from drumline.stores.driver import Line, Part, Rows, Transaction
from drumline.stores.postgres.dead_letters import drop_dead_letters

UNREAD_LOOKED_AT: Final = 10_000
"""Rows of the log; if a consumer is further behind, nothing moves."""

MOST_COUNTED: Final = 1_000_000
"""Tasks, and jobs: to count ten million takes as long as to move some thousands."""

Tables = dict[str, list[dict[str, Any]]]
"""Rows by table."""


class Drainage(Part):
    """`ports.drain.Drainage`."""

    async def movable(self, *, limit: int, schedules_only: bool = False) -> list[str]:
        """Return units of which no task runs, schedules before jobs before tasks."""
        found = _ids(await self._database.fetch(Line.PRUNE, "movable_schedules", repeat=True, limit=limit))
        if schedules_only or len(found) >= limit:
            return found
        ((busy,),) = await self._database.fetch(Line.BROAD, "unread_tasks", repeat=True, limit=UNREAD_LOOKED_AT)
        ((has_bulk,),) = await self._database.fetch(Line.BROAD, "has_bulk", repeat=True)
        if busy is None or has_bulk:
            return found
        for name in ("movable_jobs", "movable_tasks"):
            if len(found) < limit:
                rows = await self._database.fetch(Line.PRUNE, name, repeat=True, busy=busy, limit=limit - len(found))
                found += _ids(rows)
        return found

    async def read(self, ids: Sequence[str]) -> list[Unit]:
        """Return those of these units that are here and of which no task runs."""
        rows = await self._database.fetch(Line.PRUNE, "read_units", repeat=True, ids=list(ids), whole=True)
        return [
            Unit(id=str(id_), version=version, digest=digest, document=document.encode())
            for id_, version, digest, document in rows
        ]

    async def put_copies(self, giver: str, units: Sequence[Unit]) -> list[str]:
        """Keep inactive copies with their idempotency keys; return which of these very copies are there now."""
        ids, versions = [unit.id for unit in units], [unit.version for unit in units]
        digests = [unit.digest for unit in units]
        documents = {unit.id: unit.document for unit in units}

        async def put(transaction: Transaction) -> list[str]:
            if [bool(takes) for (takes,) in await transaction.fetch("takes_copies")] != [True]:
                return []
            await transaction.fetch("lock_units", ids=ids)
            await transaction.fetch(
                "put_copies",
                ids=ids,
                versions=versions,
                digests=digests,
                documents=[document.decode() for document in documents.values()],
                giver=giver,
                now=self._now(),
            )
            kept = _ids(
                await transaction.fetch("same_copies", ids=ids, versions=versions, digests=digests, giver=giver)
            )
            keys = _keys(documents[id_] for id_ in kept)
            if keys:
                await transaction.fetch("keep_keys", rows=encode(keys).decode())
            return kept

        return await self._database.transact(Line.PRUNE, put, repeat=True) if units else []

    async def take_copies(self, *, takes: bool) -> None:
        """Take copies of units from now on, or take no more: copies that are on their way are there then."""
        await self._database.fetch(Line.REQUEST, "take_copies", repeat=True, takes=takes)

    async def copies(self, *, limit: int) -> list[Copy]:
        """Return inactive copies."""
        rows = await self._database.fetch(Line.REQUEST, "list_copies", repeat=True, limit=limit)
        return [Copy(str(id_), giver, version, digest) for id_, giver, version, digest in rows]

    async def count_copies(self, giver: str) -> int:
        """Return how many inactive copies there are of units that come from a shard."""
        ((count,),) = await self._database.fetch(Line.REQUEST, "count_copies", repeat=True, giver=giver)
        return int(count)

    async def take_out(self, taker: str, copies: Sequence[Copy]) -> Mapping[str, TakeOut]:
        """Delete units that are still as they were copied to a taker, and leave forwarding rows."""
        wanted = {copy.id: copy for copy in copies}

        async def take(transaction: Transaction) -> dict[str, TakeOut]:
            free = await self._free_of_bulks(transaction, list(wanted))
            await self._lock(transaction, free)
            rows = await transaction.fetch("read_units", ids=free, whole=False)
            same = [
                str(id_)
                for id_, version, digest, _ in rows
                if (version, digest) == (wanted[str(id_)].version, wanted[str(id_)].digest)
            ]
            if same:
                await self._delete(transaction, same, taker, wanted)
            gone = {
                forward.root
                for forward in _forwards(await transaction.fetch("forwards", ids=list(wanted)))
                if (forward.shard, forward.version) == (taker, wanted[forward.root].version + 1)
            }
            left = dict.fromkeys(wanted, TakeOut.POSTPONED) | dict.fromkeys(free, TakeOut.REFUSED)
            return left | dict.fromkeys(gone, TakeOut.DONE)

        return await self._database.transact(Line.PRUNE, take, repeat=True) if wanted else {}

    async def activate(self, copies: Sequence[tuple[str, int]]) -> Activated:
        """Make units of inactive copies, as id and version, of those that it finds."""
        named: dict[str, Any] = {"ids": [id_ for id_, _ in copies], "versions": [version for _, version in copies]}
        before = await self._database.fetch(Line.PRUNE, "copied_documents", repeat=True, **named) if copies else []
        lanes = await self._lanes_of(_tables(document) for _, _, document in before)

        async def activate(transaction: Transaction) -> Activated:
            await transaction.fetch("lock_units", ids=named["ids"])
            found = await transaction.fetch("copied_documents", **named)
            if not found:
                return Activated()
            rows = defaultdict[str, list[dict[str, Any]]](list)
            for id_, version, document in found:
                for table, given in _arriving(str(id_), version, _tables(document), lanes).items():
                    rows[table] += given
            await self._name_causes(transaction, rows["dead_letter"])
            ids = _ids(found)
            await transaction.fetch("drop_forwards", roots=ids)
            await transaction.fetch("insert_units", rows=encode(rows).decode())
            await transaction.fetch("keep_keys", rows=encode(rows["idempotency"]).decode())
            await transaction.fetch("delete_copies", **named)
            return Activated(tuple(ids), _hints(rows["task_live"], lanes))

        return await self._database.transact(Line.PRUNE, activate, repeat=True) if before else Activated()

    async def discard(self, copies: Sequence[Copy]) -> None:
        """Delete these very copies, if they are inactive, with the keys that came with them."""
        ids = [copy.id for copy in copies]

        async def discard(transaction: Transaction) -> None:
            await transaction.fetch("lock_units", ids=ids)
            found = await transaction.fetch(
                "discard_copies",
                ids=ids,
                versions=[copy.version for copy in copies],
                digests=[copy.digest for copy in copies],
            )
            keys = _keys(document for (document,) in found)
            if keys:
                await transaction.fetch("drop_keys", rows=encode(keys).decode())

        if copies:
            await self._database.transact(Line.PRUNE, discard, repeat=True)

    async def forwards(self, ids: Sequence[str]) -> list[Forward]:
        """Return the forwarding rows of tasks, jobs and schedules, of those that have one."""
        return _forwards(await self._database.fetch(Line.REQUEST, "forwards", repeat=True, ids=list(ids)))

    async def traces(self, ids: Sequence[str]) -> list[Trace]:
        """Return what is known here of tasks outside jobs."""
        rows = await self._database.fetch(Line.REQUEST, "traces", repeat=True, ids=list(ids))
        return [
            Trace(id=str(id_), is_here=is_here, shard=shard, version=version, giver=giver, copied=copied)
            for id_, is_here, shard, version, giver, copied in rows
        ]

    async def reserved(self, names: Sequence[str]) -> Mapping[str, str]:
        """Return the jobs and schedules that were taken out here, and that reserved names belong to."""
        rows = await self._database.fetch(Line.REQUEST, "reserved_forwards", repeat=True, names=list(names))
        return {name: str(root) for name, root in rows}

    async def all_forwards(self, *, limit: int, after: str | None = None, shard: str | None = None) -> list[Forward]:
        """Return all forwarding rows, or those to one shard, in the order of their ids."""
        rows = await self._database.fetch(
            Line.PRUNE, "all_forwards", repeat=True, limit=limit, after=after, shard=shard
        )
        return _forwards(rows)

    async def add_forwards(self, forwards: Sequence[Forward]) -> None:
        """Take over forwarding rows: over older ones, and not beside what they are about."""

        async def add(transaction: Transaction) -> None:
            await transaction.fetch("lock_units", ids=sorted({forward.root for forward in forwards}))
            await _add_forwards(transaction, forwards)

        if forwards:
            await self._database.transact(Line.PRUNE, add, repeat=True)

    async def held(self) -> Held:
        """Return what is here."""
        ((tasks, jobs, schedules, running, copies, ripples, unread),) = await self._database.fetch(
            Line.BROAD, "held", repeat=True, most=MOST_COUNTED
        )
        return Held(
            tasks=tasks,
            jobs=jobs,
            schedules=schedules,
            running=running,
            copies=copies,
            ripples=ripples,
            unread=unread,
        )

    async def _free_of_bulks(self, transaction: Transaction, ids: list[str]) -> list[str]:
        """Return the units that no bulk operation can be about, and let none begin in this transaction."""
        ((is_excluded,),) = await transaction.fetch("exclude_bulks")
        ((has_bulk,),) = await transaction.fetch("has_bulk")
        return ids if is_excluded and not has_bulk else _ids(await transaction.fetch("own_schedules", ids=ids))

    async def _lock(self, transaction: Transaction, ids: list[str]) -> None:
        """Lock units in the order in which all others do: jobs, tasks, live rows."""
        await transaction.fetch("lock_units", ids=ids)
        await transaction.fetch("lock_unit_schedules", ids=ids)
        await transaction.fetch("lock_unit_jobs", ids=ids)
        tasks = [task for _, task in await transaction.fetch("unit_tasks", ids=ids)]
        await transaction.fetch("lock_tasks", ids=tasks)
        await transaction.fetch("lock_live", ids=tasks)

    async def _delete(self, transaction: Transaction, ids: list[str], taker: str, copies: Mapping[str, Copy]) -> None:
        """Delete units, which are locked, and say where they went."""
        members = [(str(root), str(task)) for root, task in await transaction.fetch("unit_tasks", ids=ids)]
        tasks = sorted({task for _, task in members})
        names = {str(id_): name for id_, name in await transaction.fetch("reserved_names", ids=ids)}
        await drop_dead_letters(transaction, [TaskId(task) for task in tasks])
        await transaction.fetch("delete_units", ids=ids, tasks=tasks)
        await transaction.fetch("part_waits", ids=ids)
        roots = {(id_, id_) for id_ in ids} | {(root, task) for root, task in members}
        forwards = [
            Forward(id_, root, taker, copies[root].version + 1, names.get(root) if id_ == root else None)
            for root, id_ in sorted(roots)
        ]
        await _add_forwards(transaction, forwards)

    async def _lanes_of(self, documents: Iterable[Tables]) -> dict[tuple[str, str, str, int], int]:
        """Return the numbers that the lanes of documents have here, by their words."""
        lanes = sorted({_lane(row) for tables in documents for row in tables["lane"]})
        numbers = await self._lanes.numbers_in_order([Lane(*words) for words in lanes])
        return dict(zip(lanes, numbers, strict=True))

    async def _name_causes(self, transaction: Transaction, letters: list[dict[str, Any]]) -> None:
        """Let dead letters name the causes that they have here."""
        if not letters:
            return
        rows = await transaction.fetch(
            "count_causes",
            lanes=[letter["lane"] for letter in letters],
            fingerprints=[letter["fingerprint"] for letter in letters],
            kinds=[letter["kind"] for letter in letters],
            messages=[letter["cause_message"] for letter in letters],
            at=[letter["at"] for letter in letters],
        )
        causes = {(lane, fingerprint): cause for cause, lane, fingerprint in rows}
        for letter in letters:
            letter["cause"] = causes[letter["lane"], letter["fingerprint"]]


def _arriving(id_: str, version: int, tables: Tables, lanes: Mapping[tuple[str, str, str, int], int]) -> Tables:
    """Return the rows of a copy as they are here: with this database's lanes, and waits for jobs that are elsewhere."""
    numbers = {row["id"]: lanes[_lane(row)] for row in tables.pop("lane")}
    for table in ("task", "task_live", "attempt", "dead_letter"):
        for row in tables[table]:
            row["lane"] = numbers.get(row["lane"], row["lane"])
    failed_by = {row["id"]: row["failed_by"] for row in tables["job"]}
    for row in tables["job_dep"]:
        if not row["is_far"] and (not row["is_done"] or row["needs_job"] == failed_by[row["job_id"]]):
            row.update(is_far=True, is_registered=False, is_done=False)
    moves = tables["arrival"][0]["moves"] if tables["arrival"] else 0
    tables["arrival"] = [{"id": id_, "version": version + 1, "moves": moves + 1}]
    return tables


def _hints(rows: list[dict[str, Any]], lanes: Mapping[tuple[str, str, str, int], int]) -> tuple[Hint, ...]:
    """Return hints at the tasks that wait to be claimed."""
    by_number = {number: Lane(*words) for words, number in lanes.items()}
    queued = [row for row in rows if row["state"] == State.QUEUED]
    return tuple(Hint(TaskId(row["id"]), by_number[row["lane"]], Instant(row["due_at"])) for row in queued)


def _tables(document: str) -> Tables:
    return {table: rows or [] for table, rows in json.decode(document, type=dict[str, Any]).items()}


def _keys(documents: Iterable[str | bytes]) -> list[dict[str, Any]]:
    return [row for document in documents for row in json.decode(document, type=dict[str, Any])["idempotency"] or []]


def _lane(row: Mapping[str, Any]) -> tuple[str, str, str, int]:
    return row["tenant"], row["queue"], row["name"], row["priority"]


def _ids(rows: Rows) -> list[str]:
    return [str(row[0]) for row in rows]


def _forwards(rows: Rows) -> list[Forward]:
    return [Forward(str(id_), str(root), shard, version, name) for id_, root, shard, version, name in rows]


async def _add_forwards(transaction: Transaction, forwards: Sequence[Forward]) -> None:
    await transaction.fetch(
        "add_forwards",
        ids=[forward.id for forward in forwards],
        roots=[forward.root for forward in forwards],
        shards=[forward.shard for forward in forwards],
        versions=[forward.version for forward in forwards],
        reserved=[forward.reserved for forward in forwards],
    )
