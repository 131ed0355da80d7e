"""Mutants of children: how they are started, counted, told of, cancelled and retried; and of parks and signals."""

from typing import Final

from tests.simulation.durable import TURN as SIGNALS_TURN
from tests.simulation.families import TURN
from tests.simulation.mutants.mutant import Mutant

_CHILDREN: Final = "stores/parts/children.py"
_WAITS: Final = "stores/parts/child_waits.py"
_FAMILIES: Final = "stores/parts/families.py"
_DURABLE: Final = "stores/parts/durable.py"
_KEEPING: Final = "stores/parts/signals.py"
_SQL: Final = "stores/sql/children.sql"
_SIGNALS: Final = "stores/sql/signals.sql"

FAMILY_MUTANTS: Final = (
    Mutant(
        "start children anew in each attempt",
        _CHILDREN,
        "there = {place: TaskId(str(child)) for place, child in rows}",
        "there: dict[int, TaskId] = {} and dict(rows)",
        turn=TURN,
    ),
    Mutant(
        "do not mark children, so that nobody counts their ends",
        _SQL,
        "UPDATE drumline.task_live AS live SET family = 1 WHERE live.id = any(:ids::uuid [])",
        "UPDATE drumline.task_live AS live SET family = 0 WHERE live.id = any(:ids::uuid [])",
        turn=TURN,
    ),
    Mutant(
        "do not count down when a child ends",
        _FAMILIES,
        "    counted = await _count(transaction, rows, 1)\n",
        "    counted = await _count(transaction, [], 1)\n",
        turn=TURN,
    ),
    Mutant(
        "count an end once however many children of a call it was",
        _FAMILIES,
        "        counts=[sign * counts[group] for group in groups],",
        "        counts=[sign for _ in groups],",
        turn=TURN,
    ),
    Mutant(
        "do not wait again for a child that was retried",
        _FAMILIES,
        'fetch("renew_links_of_children", ids=ids), -1)',
        'fetch("renew_links_of_children", ids=ids), 0)',
        turn=TURN,
    ),
    Mutant(
        "wake a parent when one child is still missing, and not when it ends",
        _FAMILIES,
        "for task, pending, wake_at in counted if pending <= wake_at",
        "for task, pending, wake_at in counted if pending == wake_at + 1",
        turn=TURN,
    ),
    Mutant(
        "park a parent with a count that is one too high",
        _WAITS,
        "    return int(count)\n",
        "    return int(count) + 1\n",
        turn=TURN,
    ),
    Mutant(
        "answer a group while one of its children runs",
        _WAITS,
        "    if pending and wait.kind is not WaitKind.FIRST:\n",
        "    if pending > 1 and wait.kind is not WaitKind.FIRST:\n",
        turn=TURN,
    ),
    Mutant(
        "tell the first of several by the child at place 0",
        _WAITS,
        "FirstOutcome(place, outcome.child)",
        "FirstOutcome(0, outcome.child)",
        turn=TURN,
    ),
    Mutant(
        "let the losers of a race run on",
        _WAITS,
        '    await transaction.fetch("note_children", ids=[parent], kind=int(NoteKind.DECIDED),',
        '    str("note_children"), dict(ids=[parent], kind=int(NoteKind.DECIDED),',
        turn=TURN,
    ),
    Mutant(
        "write the outcome of a child over the one that was taken",
        _SQL,
        "WHERE l.child_id = g.id AND l.state IS NULL\nRETURNING",
        "WHERE l.child_id = g.id\nRETURNING",
        turn=TURN,
    ),
    Mutant(
        "leave no note when a parent is cancelled",
        "stores/sqlite/following.py",
        '        await transaction.fetch("note_ended_parents", ids=[each.id for each in endings])\n',
        "",
        turn=TURN,
    ),
    Mutant(
        "leave no note when a parent completes or fails",
        "stores/sqlite/settling.py",
        'connection.execute(SQL["note_ended_parents"], {"ids": batch_of(self._parents)})',
        'connection.execute(SQL["note_ended_parents"], {"ids": batch_of([])})',
        turn=TURN,
    ),
    Mutant(
        "cancel children that were to be left alone",
        _CHILDREN,
        "note.kind is NoteKind.ENDED and row[4] == OnEnd.ABANDON",
        "note.kind is NoteKind.ENDED and row[4] == OnEnd.ABANDON and not mine",
        turn=TURN,
    ),
    Mutant(
        "cancel children of a parent that lives again",
        _CHILDREN,
        "        return is_live is (note.kind is NoteKind.REVIVED)\n",
        "        return is_live is (note.kind is NoteKind.REVIVED) or note.kind is NoteKind.ENDED\n",
        turn=TURN,
    ),
    Mutant(
        "do not retry the children of a parent that is retried",
        _FAMILIES,
        "    if renewed:\n",
        "    if not renewed:\n",
        turn=TURN,
    ),
    Mutant(
        "wait for children in the place of a worker",
        "worker/durable.py",
        "        await self._store_artifacts()\n        request = WaitRequest(",
        "        await self._store_artifacts()\n        await asyncio.sleep(8.0)\n        request = WaitRequest(",
        turn=TURN,
    ),
    Mutant(
        "do not wake who waits for a signal",
        _KEEPING,
        'rows = await transaction.fetch("wake", ids=tasks,',
        'rows = await transaction.fetch("wake", ids=[],',
        turn=SIGNALS_TURN,
    ),
    Mutant(
        "keep a signal again that is sent again",
        _KEEPING,
        'known = await transaction.fetch("find_signal", task=signal.task, id=signal.id)\n        if known',
        'known = await transaction.fetch("find_signal", task=signal.task, id=signal.id)\n        if [] and known',
        turn=SIGNALS_TURN,
    ),
    Mutant(
        "record a wait without dropping it, and give its answer twice",
        _DURABLE,
        "            if record is not None and wait.kind in RECORD_OF:\n",
        "            if record is not None and wait.kind not in RECORD_OF:\n",
        turn=SIGNALS_TURN,
    ),
    Mutant(
        "park without keeping until when",
        _DURABLE,
        "            deadlines=[first_deadline(wait, now) for wait in waits],\n",
        "            deadlines=[None for _ in waits],\n",
        turn=SIGNALS_TURN,
    ),
    Mutant(
        "take the newest signal first and mark the oldest",
        _SIGNALS,
        "s.payload FROM drumline.signal AS s\n        WHERE s.task_id = :task::uuid",
        "(SELECT o.payload FROM drumline.signal AS o WHERE o.task_id = s.task_id ORDER BY o.seq DESC LIMIT 1)"
        " AS payload FROM drumline.signal AS s\n        WHERE s.task_id = :task::uuid",
        turn=SIGNALS_TURN,
    ),
)
