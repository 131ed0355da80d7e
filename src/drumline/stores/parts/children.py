"""Children of durable tasks: started under the lease of their parent, cancelled and retried by notes in batches."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple

from drumline.core.children import ChildLink, NewChildren, NoteKind, OnEnd, OutcomePage, ParentTask
from drumline.core.clock import Clock, Instant
from drumline.core.errors import Fenced, Moved, NotFound
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.state import State
from drumline.core.task import NewTask, decode_options
from drumline.ports.changed import Changed
from drumline.ports.children import NOTED_AT_ONCE, LinkPage, NotesDone, SlotLeft, StartedChildren
from drumline.ports.hint import Hint
from drumline.stores.driver import Database, Lanes, Line, Part, Transaction
from drumline.stores.parts.child_waits import page_of
from drumline.stores.parts.control import Answer, Control

NOT_CURRENT: Final = "the lease is not the task's current one"
MOST_NOTES: Final = 100
"""Notes that one pass looks at."""

SubmitIn = Callable[[Transaction, Sequence[NewTask]], Awaitable[list[Instant]]]
"""Stores tasks as part of a transaction, and returns when each is due."""


class ChildNote(NamedTuple):
    """Something to do about the children of a task; the order is that of `child_notes`."""

    parent: TaskId
    kind: NoteKind
    name: str
    key: str


class Children(Part):
    """`ports.children.Children`."""

    def __init__(
        self, database: Database, clock: Clock | None, lanes: Lanes, *, control: Control, submit: SubmitIn
    ) -> None:
        super().__init__(database, clock, lanes)
        self._control = control
        self._submit = submit

    async def parent(self, lease: Lease) -> ParentTask | None:
        """Return what children of the task of a lease inherit; None if the lease is not current."""
        rows = await self._database.fetch(
            Line.SETTLE, "parent_of_lease", repeat=True, id=lease.task, epoch=lease.epoch, nonce=lease.nonce
        )
        if not rows:
            return None
        ((lane, options),) = rows
        return ParentTask((await self._lanes.lanes([lane]))[lane], decode_options(options))

    async def start(self, children: NewChildren) -> StartedChildren | Fenced | Moved | SlotLeft:
        """Store children of the task of a current lease, with the links to them, in one transaction."""

        async def store(transaction: Transaction) -> StartedChildren | Fenced:
            lease = children.lease
            # As a record: the live row where epoch and nonce match is locked, and a later statement looks.
            held = await transaction.fetch(
                "lock_lease", id=lease.task, epoch=lease.epoch, nonce=lease.nonce, now=self._now()
            )
            if not held:
                return Fenced(NOT_CURRENT)
            named = {"id": lease.task, "name": children.name, "key": children.key}
            below = children.first + len(children.tasks)
            rows = await transaction.fetch("links_between", **named, first=children.first, below=below)
            there = {place: TaskId(str(child)) for place, child in rows}
            placed = dict(enumerate(children.tasks, children.first))
            new = {place: task for place, task in placed.items() if place not in there}
            hints = await self._store(transaction, lease, children, new) if new else []
            ((last,),) = await transaction.fetch("last_link", **named)
            ids = tuple(there.get(place) or task.id for place, task in placed.items())
            return StartedChildren(ids, last + 1, tuple(hints))

        return await self._database.transact(Line.SETTLE, store, repeat=True)

    async def _store(
        self, transaction: Transaction, lease: Lease, children: NewChildren, new: dict[int, NewTask]
    ) -> list[Hint]:
        tasks = list(new.values())
        due = await self._submit(transaction, tasks)
        await transaction.fetch("mark_children", ids=sorted(task.id for task in tasks))
        await transaction.fetch(
            "insert_links",
            id=lease.task,
            name=children.name,
            key=children.key,
            on_end=int(children.on_end),
            children=[task.id for task in tasks],
            places=list(new),
        )
        await transaction.fetch("mark_parent", id=lease.task)
        return [
            Hint(task.id, task.lane, due_at, is_due=task.run_at is None and not task.delay_ms)
            for task, due_at in zip(tasks, due, strict=True)
        ]

    async def outcomes(self, lease: Lease, name: str, key: str, *, first: int, limit: int) -> OutcomePage | Fenced:
        """Return how children of a call ended, from a place on."""

        async def look(transaction: Transaction) -> OutcomePage | Fenced:
            current = await transaction.fetch("parent_of_lease", id=lease.task, epoch=lease.epoch, nonce=lease.nonce)
            if not current:
                return Fenced(NOT_CURRENT)
            return await page_of(transaction, lease.task, name, key, first=first, limit=limit)

        return await self._database.transact(Line.SETTLE, look, repeat=True)

    async def pending(self, parent: TaskId, name: str, key: str, *, limit: int) -> list[TaskId]:
        """Return children of a call that have not ended, the first of them by their places."""
        rows = await self._database.fetch(
            Line.REQUEST, "open_links", repeat=True, id=parent, name=name, key=key, place=-1, limit=limit
        )
        return [TaskId(str(child)) for child, of, under, *_ in rows if (of, under) == (name, key)]

    async def links(
        self,
        parent: TaskId,
        *,
        after: TaskId | None,
        limit: int,
        round: int | None = None,
        tenant: str | None = None,
    ) -> LinkPage | NotFound:
        """Return children of a task, or of a round of it that is over, in the order of name, key and place."""
        fetch = self._database.fetch
        if not await fetch(Line.REQUEST, "whose_task", repeat=True, within=tenant, id=parent, tenant=tenant):
            return NotFound(f"there is no task {parent}", field="id")
        ((ended,),) = await fetch(Line.REQUEST, "last_round", repeat=True, within=tenant, id=parent)
        if round is not None and round > ended + 1:
            return NotFound(f"the task has no round {round}", field="round")
        if round is None or round == ended + 1:
            rows = await fetch(
                Line.REQUEST, "links_of", repeat=True, within=tenant, id=parent, after=after, limit=limit + 1
            )
        else:
            rows = await fetch(
                Line.REQUEST, "round_links_of", repeat=True, within=tenant, id=parent, round=round, after=after,
                limit=limit + 1,
            )  # fmt: skip
        return LinkPage(tuple(_link(row) for row in rows[:limit]), len(rows) > limit)

    async def work_notes(self, *, limit: int = NOTED_AT_ONCE) -> NotesDone:
        """Do what is noted about the children of tasks."""
        rows = await self._database.fetch(Line.BROAD, "child_notes", repeat=True, limit=MOST_NOTES)
        changed: list[Changed] = []
        for parent, kind, name, key in rows:
            changed += await self._work(ChildNote(TaskId(str(parent)), NoteKind(kind), name, key), limit)
        return NotesDone(tuple(changed), len(rows) < MOST_NOTES)

    async def _work(self, note: ChildNote, limit: int) -> list[Changed]:
        """Do what one note says, batch by batch; after a crash it is begun anew, which changes nothing twice."""
        if note.kind is NoteKind.RESTARTED:
            return await self._cancel_round(note, limit)
        changed: list[Changed] = []
        after = (note.name, note.key, -1)

        async def work(transaction: Transaction) -> tuple[list[Changed], tuple[str, str, int] | None]:
            return await self._work_batch(transaction, note, after, limit)

        while True:
            done, last = await self._database.transact(Line.REQUEST, work)
            changed += done
            if last is None:
                break
            after = last
        await self._control.following.note_queued(changed)
        return changed

    async def _cancel_round(self, note: ChildNote, limit: int) -> list[Changed]:
        """Cancel the children of a round that is over: no later act of their parent brings that round back."""
        changed: list[Changed] = []

        async def work(transaction: Transaction) -> list[Changed]:
            rows = await transaction.fetch("open_round_links", id=note.parent, round=int(note.key), limit=limit)
            children = [TaskId(str(child)) for (child,) in rows]
            await transaction.fetch("lock_tasks", ids=sorted({note.parent, *children}))
            answers = await self._control.cancel_in(transaction, children) if children else {}
            if not children:
                await transaction.fetch(
                    "drop_child_note", id=note.parent, kind=int(note.kind), name=note.name, key=note.key
                )
            return _changes(answers)

        while done := await self._database.transact(Line.REQUEST, work):
            changed += done  # each batch leaves fewer that were not asked to stop
        await self._control.following.note_queued(changed)
        return changed

    async def _work_batch(
        self, transaction: Transaction, note: ChildNote, after: tuple[str, str, int], limit: int
    ) -> tuple[list[Changed], tuple[str, str, int] | None]:
        name, key, place = after
        rows = await transaction.fetch("open_links", id=note.parent, name=name, key=key, place=place, limit=limit)
        mine = [row for row in rows if note.kind is not NoteKind.DECIDED or (row[1], row[2]) == (note.name, note.key)]
        children = [TaskId(str(row[0])) for row in mine]
        # The parent and the children in one order of ids, then their live rows; what is looked at comes after it.
        await transaction.fetch("lock_tasks", ids=sorted({note.parent, *children}))
        is_over = len(rows) < limit or len(mine) < len(rows)
        if not await self._holds(transaction, note):
            is_over, children = True, []
        live = {str(task) for (task,) in await transaction.fetch("live_among", ids=children)} if children else set()
        if note.kind is NoteKind.REVIVED:
            answers = await self._control.retry_in(transaction, [child for child in children if child not in live])
        else:
            left = {TaskId(str(row[0])) for row in mine if note.kind is NoteKind.ENDED and row[4] == OnEnd.ABANDON}
            await self._close(transaction, [child for child in children if child not in live])
            answers = await self._control.cancel_in(
                transaction, [child for child in children if child in live and child not in left]
            )
        if is_over:
            await transaction.fetch(
                "drop_child_note", id=note.parent, kind=int(note.kind), name=note.name, key=note.key
            )
        last = None if is_over else (rows[-1][1], rows[-1][2], rows[-1][3])
        return _changes(answers), last

    async def _holds(self, transaction: Transaction, note: ChildNote) -> bool:
        """Tell whether what a note says still has to be done, now that the parent is locked."""
        if note.kind is NoteKind.DECIDED:
            return bool(await transaction.fetch("has_record", id=note.parent, name=note.name, key=note.key))
        is_live = bool(await transaction.fetch("live_among", ids=[note.parent]))
        return is_live is (note.kind is NoteKind.REVIVED)

    async def _close(self, transaction: Transaction, ended: list[TaskId]) -> None:
        """Write that children stay cancelled which were to be retried, since their parent has ended meanwhile."""
        if ended:
            states = [int(State.CANCELLED)] * len(ended)
            await transaction.fetch("end_links", ids=ended, states=states)


def _changes(answers: dict[TaskId, Answer]) -> list[Changed]:
    return [answer for answer in answers.values() if isinstance(answer, Changed)]


def _link(row: Sequence[Any]) -> ChildLink:
    child, name, key, place, on_end, state = row
    return ChildLink(
        child=TaskId(str(child)), name=name, key=key, place=place, on_end=OnEnd(on_end),
        state=None if state is None else State(state),
    )  # fmt: skip
