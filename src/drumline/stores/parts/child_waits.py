"""What waits for children are answered with, read under the lock of their parent."""

from collections.abc import Iterable
from typing import Any

from msgspec import Raw

from drumline.core.children import ChildOutcome, FirstOutcome, GroupCount, NoteKind, OutcomePage
from drumline.core.codec import decode, encode
from drumline.core.durable import CHILD_KINDS, NOTHING, RecordStatus, Wait, WaitKind
from drumline.core.errors import Invalid
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.state import State
from drumline.ports.durable import PAGE_BYTES
from drumline.stores.driver import Transaction


async def pending_of(transaction: Transaction, parent: TaskId, wait: Wait) -> int | None:
    """Return how many children that a wait is for have not ended; None if it is for something else."""
    if wait.kind not in CHILD_KINDS:
        return None
    ((count,),) = await transaction.fetch("count_pending", id=parent, name=wait.name, key=wait.key)
    return int(count)


def wake_at(wait: Wait, pending: int | None) -> int | None:
    """Return how few children have to be left for their parent to be due."""
    if pending is None:
        return None
    match wait.kind:
        case WaitKind.FIRST:
            return pending - 1  # each end may be the one
        case WaitKind.WINDOW:
            return wait.pending
        case _:
            return 0


async def outcome_of(transaction: Transaction, parent: TaskId, wait: Wait) -> tuple[RecordStatus, Raw] | None:
    """Return what a wait for children is answered with; None if too few have ended."""
    pending = await pending_of(transaction, parent, wait) or 0
    if wait.kind is WaitKind.WINDOW:
        return (RecordStatus.DONE, NOTHING) if pending <= wait.pending else None
    if pending and wait.kind is not WaitKind.FIRST:
        return None
    ((count, bad, best),) = await transaction.fetch("count_links", id=parent, name=wait.name, key=wait.key)
    if not count:
        raise Invalid(f"no child was started under the name {wait.name!r}", field="waits")
    if wait.kind is WaitKind.CALL:
        return await _only_outcome(transaction, parent, wait)
    if wait.kind is WaitKind.FIRST and best is not None:
        return await _first_outcome(transaction, parent, wait, best)
    if pending:
        return None
    status = RecordStatus.FAILED if bad else RecordStatus.DONE
    return status, Raw(encode(GroupCount(count, bad)))


async def _only_outcome(transaction: Transaction, parent: TaskId, wait: Wait) -> tuple[RecordStatus, Raw]:
    (outcome,) = (await page_of(transaction, parent, wait.name, wait.key, first=0, limit=1)).outcomes
    if outcome.state is State.COMPLETED:
        return RecordStatus.DONE, outcome.result
    return RecordStatus.FAILED, Raw(encode(outcome))


async def _first_outcome(transaction: Transaction, parent: TaskId, wait: Wait, place: int) -> tuple[RecordStatus, Raw]:
    """Return the outcome of the child at a place, and let the others be cancelled."""
    (outcome,) = (await page_of(transaction, parent, wait.name, wait.key, first=place, limit=1)).outcomes
    await transaction.fetch("note_children", ids=[parent], kind=int(NoteKind.DECIDED), name=wait.name, key=wait.key)
    return RecordStatus.DONE, Raw(encode(FirstOutcome(place, outcome.child)))


async def page_of(
    transaction: Transaction, parent: TaskId, name: str, key: str, *, first: int, limit: int
) -> OutcomePage:
    """Return outcomes of children of a call from a place on."""
    rows = await transaction.fetch(
        "link_outcomes", id=parent, name=name, key=key, first=first, limit=limit, most=PAGE_BYTES
    )
    outcomes = tuple(_outcome(columns) for *columns, _ in rows)
    return OutcomePage(outcomes, bool(rows) and outcomes[-1].place < rows[-1][-1])


def _outcome(row: Iterable[Any]) -> ChildOutcome:
    place, child, state, result, error = row
    return ChildOutcome(
        place=place,
        child=TaskId(str(child)),
        state=None if state is None else State(state),
        result=NOTHING if result is None else Raw(result if isinstance(result, bytes) else result.encode()),
        error=None if error is None else decode(error, ErrorInfo),
    )
