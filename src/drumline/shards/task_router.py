"""The way of new tasks to their shards.

A task goes to the shard that takes new work of its slot. If that refuses it, because the slot has moved, the map is
read again and the task sent with a new id; nothing was stored. What was sent and not answered is never sent elsewhere:
it may be stored.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from msgspec.structs import replace

from drumline.core.errors import DrumlineError, KeyReused, Moved, NotFound, Unavailable
from drumline.core.ids import IdSource
from drumline.core.shard_map import SlotEntry
from drumline.core.slots import ALL_OPEN, OpenSlots, slot_of
from drumline.core.task import NewTask, SubmitAnswer, Submitted
from drumline.ports.shards import KnownKey
from drumline.shards.keys import KeyOwners
from drumline.shards.shard_set import WAITS_FOR_MOVE, ShardSet

MOST_RUNS: Final = 16
"""Runs of tasks with one slot in a list, up to which it is sent as they are."""

Answer = SubmitAnswer | DrumlineError


class TaskRouter:
    """Stores tasks in the shards that take new work of their slots."""

    def __init__(self, shards: ShardSet, ids: IdSource) -> None:
        self._shards = shards
        self._ids = ids
        self._keys = KeyOwners(shards)
        self._directory = shards.directory.engine.submissions.batches
        self._on_the_way: Counter[str] = Counter()

    async def join(self, task: NewTask, /) -> SubmitAnswer:
        """Store one task."""
        stored = await (self._directory.joined(task) if self._shards.is_lone else self._send_one(task))
        if not isinstance(stored, Moved):
            return stored
        (answer,) = await self.join_each([task])
        if isinstance(answer, Submitted | KeyReused | Moved):
            return answer
        raise answer

    async def join_each(self, tasks: Iterable[NewTask], /) -> list[Answer]:
        """Store many; each has its own answer, in order."""
        answers: dict[int, Answer] = {}
        found: list[Answer] | None
        if self._shards.is_lone:
            # As they come: the first are being stored while the next are checked.
            sent: list[NewTask] = []
            found = await self._directory.join_each(_noted(tasks, sent))
            tasks = sent
        else:
            tasks = list(tasks)
            found = await self._send_plain(tasks)
        if found is not None:
            if not any(isinstance(answer, Unavailable) for answer in found):
                return found
            answers = dict(enumerate(found))
        waiting = {n: task for n, task in enumerate(tasks) if isinstance(answers.get(n), Moved | None)}
        for seconds in WAITS_FOR_MOVE if waiting else ():
            looks = self._shards.looks
            refused = {n for n in waiting if isinstance(answers.get(n), Moved)}
            answers |= await self._send_all(waiting, refused)
            waiting = {n: task for n, task in waiting.items() if isinstance(answers[n], Moved)}
            if not waiting:
                break
            await self._shards.await_move(looks, at_most=seconds)
            waiting = {n: self._placed(task) for n, task in waiting.items()}
        told = [answers[n] for n in range(len(answers))]
        failed = [answer for answer in told if isinstance(answer, Unavailable)]
        if failed and len(failed) == len(told):
            raise failed[0]  # nothing is known to be stored
        return told

    async def _send_one(self, task: NewTask) -> SubmitAnswer:
        """Send a task to its shard if nothing else has to be asked before: at a fraction of what a list costs."""
        name = self._entry(task).shard
        if task.is_placed or self._shards.is_away(name):
            return Moved("it has to be looked for elsewhere first")
        self._on_the_way[name] += 1
        try:
            with self._shards.reaching(name):
                return await self._shards.named(name).engine.submissions.storing.join(task)
        except Moved as refused:
            return refused
        finally:
            self._on_the_way[name] -= 1

    async def _send_plain(self, tasks: Sequence[NewTask]) -> list[Answer] | None:
        """Send tasks in the runs that have one slot, if nothing else has to be asked before; None if it has.

        As for a lone task, this is a fraction of the work: most lists have no keys, and a few long runs.
        """
        if any(task.is_placed for task in tasks):
            return None
        placed = groupby(tasks, lambda task: (task.id[20:23], task.slot_version))
        runs = [(self._entry(run[0]).shard, run) for run in (list(alike) for _, alike in placed)]
        if len(runs) > MOST_RUNS or any(self._shards.is_away(name) for name, _ in runs):
            return None
        answers = await asyncio.gather(*(self._store(name, run) for name, run in runs))
        return [answer for stored in answers for answer in stored]

    async def _send_all(self, tasks: dict[int, NewTask], refused: Collection[int]) -> dict[int, Answer]:
        """Send tasks to their shards, all at once; the answer is `Moved` for those that are worth another try.

        For those that were refused before, the owner of the slot is asked about the key first, as former owners are:
        it may know it for a task that was moved away, or is on its way there.
        """
        answers = await self._known_before(tasks, refused)
        by_shard: defaultdict[str, dict[int, NewTask]] = defaultdict(dict)
        for n, task in tasks.items():
            if n not in answers:
                by_shard[self._entry(task).shard][n] = task
        for sent in await asyncio.gather(*(self._send(name, part) for name, part in by_shard.items())):
            answers |= sent
        return answers

    async def _send(self, name: str, tasks: dict[int, NewTask]) -> dict[int, Answer]:
        if self._shards.is_away(name):
            return self._answer_for_absent(name, tasks)
        return dict(zip(tasks, await self._store(name, list(tasks.values())), strict=True))

    async def _store(self, name: str, tasks: Sequence[NewTask]) -> list[Answer]:
        """Store tasks in a shard, and note it if it is away."""
        shard = self._shards.named(name)
        self._on_the_way[name] += len(tasks)
        try:
            stored: list[Answer] = await shard.engine.submissions.storing.join_each(tasks)
        except DrumlineError as error:
            stored = [error] * len(tasks)
        finally:
            self._on_the_way[name] -= len(tasks)
        if any(isinstance(answer, Unavailable) and not isinstance(answer, Moved) for answer in stored):
            self._shards.note_away(name)
        return stored

    def _answer_for_absent(self, name: str, tasks: dict[int, NewTask]) -> dict[int, Answer]:
        """Return the answers for tasks of a shard that is away: those without a key go elsewhere, for none was sent."""
        away = Unavailable(f"shard {name}, which has tasks with this key, cannot be reached")
        elsewhere = Moved(f"shard {name} cannot be reached")
        return {n: away if task.is_placed else elsewhere for n, task in tasks.items()}

    async def _known_before(self, tasks: dict[int, NewTask], refused: Collection[int]) -> dict[int, Answer]:
        """Return the answers for tasks whose key belongs to a task of a former owner of its slot."""
        asked: defaultdict[str, list[int]] = defaultdict(list)
        for n, task in tasks.items():
            if task.idempotency_key is not None:
                history = self._shards.map.history(slot_of(task.id))[: task.slot_version]
                owner = {self._entry(task).shard}
                former = {entry.shard for entry in history}
                for name in former | owner if n in refused else former - owner:
                    asked[name].append(n)
        answers: dict[int, Answer] = {}
        for name, numbers in asked.items():
            found = await self._find_keys(name, [tasks[n] for n in numbers])
            answers |= {n: answer for n, answer in zip(numbers, found, strict=True) if answer is not None}
        return answers

    async def _find_keys(self, name: str, tasks: Sequence[NewTask]) -> list[Answer | None]:
        keys = [(task.lane.tenant, task.idempotency_key or "") for task in tasks]
        try:
            found = await self._keys.known(name, keys)
        except NotFound:  # the shard has been removed, with every key in it: the map that names it is old
            return [Moved("the map has changed") for _ in tasks]
        except DrumlineError as error:
            return [error for _ in tasks]
        return [None if known is None else _repeated(task, known) for task, known in zip(tasks, found, strict=True)]

    def _entry(self, task: NewTask) -> SlotEntry:
        """Return the entry of the map by which a task was placed."""
        return self._shards.map.history(slot_of(task.id))[task.slot_version]

    def _placed(self, task: NewTask) -> NewTask:
        """Return a task with a new id, by the map as it is now."""
        new = self._ids.next(slot_of(task.id) if task.is_placed else None)
        return replace(task, id=new, slot_version=self._ids.version(new))

    def open_slots(self) -> OpenSlots:
        """Return the slots of all shards that are open here."""
        if self._shards.is_lone:
            return ALL_OPEN
        entries = self._shards.map.entries()
        missing = set(self._shards.missing)
        return OpenSlots(
            tuple(slot for slot, entry in enumerate(entries) if entry.shard not in missing),
            {slot: entry.version for slot, entry in enumerate(entries) if entry.version},
            {slot: entry.since for slot, entry in enumerate(entries) if entry.since},
            self._better,
        )

    def _better(self, one: int, other: int) -> int:
        """Return the one of two slots whose shard is there, and has fewer tasks on their way."""
        entry = self._shards.map.entry
        return min((one, other), key=lambda slot: self._load(entry(slot).shard))

    def _load(self, name: str) -> tuple[bool, int]:
        return self._shards.is_away(name), self._on_the_way[name]


def _repeated(task: NewTask, known: KnownKey | Unavailable) -> Answer:
    """Return the answer for a task whose key is known, or may be."""
    if isinstance(known, Unavailable):
        return known
    if known.fingerprint != task.fingerprint:
        return KeyReused(f"belongs to task {known.task}, which was submitted differently", field="idempotency_key")
    return Submitted(known.task, known.due_at, created=False)


def _noted(tasks: Iterable[NewTask], sent: list[NewTask]) -> Iterator[NewTask]:
    """Yield tasks, and note each as sent."""
    for task in tasks:
        sent.append(task)
        yield task
