"""Mutants of durable tasks: records, sleeps, waits and signals."""

from typing import Final

from tests.simulation.durable import TURN
from tests.simulation.mutants.mutant import Mutant

_DURABLE: Final = "stores/parts/durable.py"
_KEEPING: Final = "stores/parts/signals.py"
_SQL: Final = "stores/sql/durable.sql"
_SIGNALS: Final = "stores/sql/signals.sql"

DURABLE_MUTANTS: Final = (
    Mutant(
        "record without the fence",
        _SQL,
        "live.state = 2 AND live.epoch = :epoch::int4 AND live.nonce = :nonce::int8\nFOR UPDATE",
        "(:epoch::int4 + :nonce::int8) IS NOT NULL\nFOR UPDATE",
        turn=TURN,
    ),
    Mutant(
        "do not find what is recorded",
        "worker/durable.py",
        "        return self._records.get((name, key))\n",
        "        return None\n",
        turn=TURN,
    ),
    Mutant(
        "leave records out of claims",
        "worker/durable.py",
        "self._has_more = task.records.has_more or (task.recorded > 0 and not task.records.records)",
        "self._has_more, self._records = False, {}",
        turn=TURN,
    ),
    Mutant(
        "end sleeps at once",
        _DURABLE,
        "return None if wait.delay_ms is None else Instant(now + wait.delay_ms)",
        "return None if wait.delay_ms is None else now",
        turn=TURN,
    ),
    Mutant(
        "take a signal without marking it",
        _SIGNALS,
        "SET taken_at = :at::int8, taken_by = s.task_id\n",
        "SET taken_at = NULL AND :at::int8, taken_by = s.task_id\n",
        turn=TURN,
    ),
    Mutant(
        "time out although a signal is there",
        _DURABLE,
        "if wait.kind is WaitKind.SIGNAL else None\n        if payload is None and",
        "if wait.kind is WaitKind.SIGNAL and (deadline or NEVER) > held.now else None\n        if payload is None and",
        turn=TURN,
    ),
    Mutant(
        "accept a signal without keeping it",
        _KEEPING,
        '        await transaction.fetch("insert_signal", **named, at=now, id=signal.id,',
        '        str("insert_signal"), dict(**named, at=now, id=signal.id,',
        turn=TURN,
    ),
    Mutant(
        "count parked attempts",
        "core/state.py",
        "UNCOUNTED: Final = frozenset({Act.SNOOZE, Act.PARK, Act.RELEASE})",
        "UNCOUNTED: Final = frozenset({Act.SNOOZE, Act.RELEASE})",
        turn=TURN,
    ),
)
