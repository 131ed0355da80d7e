"""The end of a round of a durable task: what it was given and has done is set aside, under the lock of the task."""

from drumline.core.children import NoteKind, OnEnd
from drumline.core.clock import Instant
from drumline.core.durable import KEPT_ROUNDS, KEPT_SIGNALS, SIGNAL_REPEATED_MS, RestartRequest
from drumline.core.ids import TaskId
from drumline.stores.driver import Transaction


async def end_round(transaction: Transaction, request: RestartRequest, *, records: int, now: Instant) -> None:
    """Set the round of a locked task aside that was queued in this transaction, and give it another payload."""
    task = request.lease.task
    ((last,),) = await transaction.fetch("last_round", id=task)
    round_ = last + 1
    await transaction.fetch("insert_round", id=task, at=now, round=round_, epoch=request.lease.epoch, records=records)
    if records:
        await transaction.fetch("set_records_aside", id=task, round=round_)
        await transaction.fetch("drop_records", id=task)
    await transaction.fetch("drop_waits", id=task)
    await _leave_children(transaction, task, round_)
    await transaction.fetch("edit_payload", id=task, payload=bytes(request.payload))
    await transaction.fetch("renew_round", id=task)
    if round_ > KEPT_ROUNDS:
        await _forget(transaction, task, round_ - KEPT_ROUNDS, now=now)


async def _leave_children(transaction: Transaction, task: TaskId, round_: int) -> None:
    """Let the children of a round be cancelled that are not to be left alone."""
    links = await transaction.fetch("set_links_aside", id=task, round=round_)
    if not links:
        return
    await transaction.fetch("drop_links", id=task)
    await transaction.fetch("drop_child_notes", id=task)
    if any(on_end == OnEnd.CANCEL for (on_end,) in links):
        await transaction.fetch("note_children", ids=[task], kind=int(NoteKind.RESTARTED), name="", key=str(round_))


async def _forget(transaction: Transaction, task: TaskId, last: int, *, now: Instant) -> None:
    """Forget rounds up to one, with their executions, logs and the signals that they took long ago."""
    rows = await transaction.fetch("forget_rounds", id=task, last=last)
    if not rows:
        return
    ((epoch, ended_at),) = rows
    await transaction.fetch("drop_rounds", id=task, last=last)
    await transaction.fetch("drop_round_records", id=task, last=last)
    await transaction.fetch("drop_round_links", id=task, last=last)
    await transaction.fetch("drop_round_attempts", id=task, epoch=epoch)
    await transaction.fetch("drop_round_logs", id=task, epoch=epoch)
    await transaction.fetch(
        "drop_round_signals", id=task, at=ended_at, before=now - SIGNAL_REPEATED_MS, most=KEPT_SIGNALS
    )
    await transaction.fetch("delete_expiries", ids=[task])  # it has started in time
