"""Consequences of the ends and retries of tasks that others started, or that started others.

The rows in `task` of the children and their parents are locked first, in one order of ids; what is looked at comes in
later statements.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drumline.core.children import NoteKind
from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.state import Act, State
from drumline.ports.changed import Changed
from drumline.ports.hint import Hint
from drumline.stores.driver import Lanes, TaskEvent, Transaction

Relatives = Mapping[TaskId, TaskId | None]
"""Tasks whose end has consequences besides those in jobs, with the task that started each, if one did."""


async def lock_relatives(transaction: Transaction, tasks: Sequence[TaskId]) -> Relatives:
    """Return those of some tasks whose end has consequences; if others started them, all and those are locked."""
    relatives: dict[TaskId, TaskId | None] = {}
    for task, parent in await transaction.fetch("relatives", ids=list(tasks)):
        id_ = TaskId(str(task))
        if parent is not None:
            relatives[id_] = TaskId(str(parent))
        else:
            relatives.setdefault(id_, None)
    parents = {parent for parent in relatives.values() if parent is not None}
    if parents:
        await transaction.fetch("lock_tasks", ids=sorted({*tasks, *parents}))
    return relatives


async def end_children(
    transaction: Transaction, ended: Mapping[TaskId, State], lanes: Lanes, now: Instant | None
) -> list[Changed]:
    """Write how children ended whose parents are locked, and return the parents that are due because of it."""
    tasks = sorted(ended)
    rows = await transaction.fetch("end_links", ids=tasks, states=[int(ended[task]) for task in tasks])
    counted = await _count(transaction, rows, 1)
    parents = sorted({str(task) for task, pending, wake_at in counted if pending <= wake_at})
    if not parents:
        return []
    ((at,),) = await transaction.fetch("now", now=now)
    woken = await transaction.fetch("wake_parents", ids=parents, now=at)
    known = await lanes.lanes({lane for _, lane, _, _ in woken}, transaction)
    changed = [
        Changed(TaskId(str(task)), State.QUEUED, Hint(TaskId(str(task)), known[lane], Instant(due_at)), epoch=epoch)
        for task, lane, due_at, epoch in sorted(woken, key=lambda row: str(row[0]))
    ]
    events = [TaskEvent(each.task, Act.WAKE, State.QUEUED, each.epoch) for each in changed]
    await transaction.tell(events, now=now)
    return changed


async def renew_family(transaction: Transaction, tasks: Sequence[TaskId]) -> None:
    """Let the outcomes of tasks that run again not count, and those of their children that were bad.

    The tasks are locked, and so are those that started them. The children are retried by a note.
    """
    ids = sorted(tasks)
    await _count(transaction, await transaction.fetch("renew_links_of_children", ids=ids), -1)
    renewed = {str(task) for (task,) in await transaction.fetch("renew_links_of_parents", ids=ids)}
    await transaction.fetch("withdraw_cancels", ids=ids)
    if renewed:
        await transaction.fetch("note_children", ids=sorted(renewed), kind=int(NoteKind.REVIVED), name="", key="")


async def _count(transaction: Transaction, rows: Iterable[Sequence[Any]], sign: int) -> list[Any]:
    """Let parents wait for fewer children, or for more; return the waits with what is left of them."""
    counts = Counter((str(parent), name, key) for parent, name, key in rows)
    if not counts:
        return []
    groups = sorted(counts)
    return await transaction.fetch(
        "count_down",
        parents=[parent for parent, _, _ in groups],
        names=[name for _, name, _ in groups],
        keys=[key for _, _, key in groups],
        counts=[sign * counts[group] for group in groups],
    )
