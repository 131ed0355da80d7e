"""The mutants: one change of a file of the product each, as the text before and after."""

from typing import Final

from tests.simulation.mutants.durable_patches import DURABLE_MUTANTS
from tests.simulation.mutants.family_patches import FAMILY_MUTANTS
from tests.simulation.mutants.lease_patches import LEASE_MUTANTS
from tests.simulation.mutants.mutant import Mutant
from tests.simulation.mutants.outside_patches import OUTSIDE_MUTANTS

_SETTLE = "stores/sqlite/sql/settle.sql"
_CLAIM = "stores/sqlite/sql/claim.sql"

MUTANTS: Final = (
    Mutant(
        "settle without comparing the epoch",
        _SETTLE,
        "    AND live.epoch = json_extract(given.value, '$[1]')\n"
        "    AND live.nonce = json_extract(given.value, '$[2]')",
        "    AND 1",
    ),
    Mutant(
        "claim a task that is not queued",
        _CLAIM,
        "    AND state = 1\n    AND due_at <= :now\n\n-- name: lanes\n",
        "    AND due_at <= :now\n\n-- name: lanes\n",
    ),
    Mutant(
        "claim from a paused queue",
        _CLAIM,
        "        WHERE queue_pause.tenant = lane.tenant AND queue_pause.queue = lane.queue",
        "        WHERE 0",
    ),
    Mutant(
        "ignore flow limits when claiming",
        _CLAIM,
        "            f.tenant = lane.tenant\n            AND coalesce(f.queue, lane.queue) = lane.queue\n"
        "            AND coalesce(f.task, lane.name) = lane.name\n    )\n\n-- name: claim\n",
        "            0\n    )\n\n-- name: claim\n",
    ),
    Mutant(
        "forget idempotency keys",
        "stores/sqlite/sql/submit.sql",
        "FROM idempotency WHERE tenant = :tenant AND key = :key",
        "FROM idempotency WHERE tenant = :tenant AND key = :key AND 0",
    ),
    Mutant(
        "do not count retries",
        "stores/endings.py",
        "self.failures + (act is Act.BACK_OFF)",
        "self.failures",
    ),
    Mutant(
        "write no dead letters",
        "stores/sqlite/settling.py",
        "        write_dead_letters(connection, self.now, self._deaths)",
        "        write_dead_letters(connection, self.now, [])",
    ),
    Mutant(
        "take every session for dead at once",
        "scheduler/reap.py",
        "if seen.seconds >= self._ttl]",
        "if seen.seconds >= 0.5]",
    ),
    Mutant(
        "never reap",
        "scheduler/reap.py",
        "reap(dead, poison_after",
        "reap([], poison_after",
    ),
    Mutant(
        "do not count attempts",
        "stores/sqlite/sql/claim.sql",
        "    epoch = epoch + 1,\n    attempt = attempt + 1,",
        "    epoch = epoch + 1,",
    ),
    Mutant(
        "keep tasks that have ended",
        "stores/sqlite/sql/settle.sql",
        "DELETE FROM task_live WHERE id IN (SELECT value FROM json_each(:ids))",
        "DELETE FROM task_live WHERE 0 AND id IN (SELECT value FROM json_each(:ids))",
    ),
    Mutant(
        "write no attempts of the first end in a batch",
        "stores/sqlite/settling.py",
        '{"batch": batch_of(self._attempts)}',
        '{"batch": batch_of(self._attempts[1:])}',
    ),
    Mutant(
        "do not go on with jobs when tasks end",
        "stores/sqlite/settling.py",
        "effects = self._following.follow_ends(connection, ends.in_jobs, ends.queued_in_jobs, ends.jobs)\n"
        "        effects = self._lease_released",
        "effects = self._following.follow_ends(connection, {}, [])\n        effects = self._lease_released",
    ),
    Mutant(
        "let the first task of a list wait for ever",
        "stores/sqlite/submitting.py",
        '{"batch": batch_of(live)}',
        '{"batch": batch_of(live[1:])}',
    ),
    Mutant(
        "do not note idempotency keys",
        "stores/sqlite/submitting.py",
        '            connection.execute(SQL["insert_idempotency"], row)\n',
        "            del row\n",
    ),
    Mutant(
        "never unblock tasks of jobs",
        "stores/sqlite/sql/jobs.sql",
        "AND task_live.state = 0\nRETURNING",
        "AND task_live.state = 9\nRETURNING",
    ),
    Mutant(
        "queue all tasks of a job at once",
        "stores/sqlite/jobs.py",
        "None if state is State.BLOCKED else due_at, state, 0, 0",
        "due_at, State.QUEUED, 0, 0",
    ),
    Mutant(
        "forget jobs that wait for jobs",
        "stores/sqlite/following.py",
        '            await transaction.fetch("insert_ripples", ids=ended)\n',
        "",
    ),
    Mutant(
        "retry once too often",
        "engine/settle.py",
        "lease_state.failures >= lease_state.options.retries",
        "lease_state.failures > lease_state.options.retries",
    ),
    Mutant(
        "never retry",
        "engine/settle.py",
        "if lease_state is None or failed.permanent or lease_state",
        "if lease_state is None or lease_state is not None or lease_state",
    ),
    Mutant(
        "complete what has failed",
        "engine/settle.py",
        "                return self._decide_failure(report, failed, lease_state)",
        "                return Settlement(lease=report.lease, act=Act.COMPLETE)",
    ),
    Mutant(
        "tell no events of ends",
        "stores/sqlite/settling.py",
        "        tell(connection, self.now, self._events)\n        write_dead",
        "        write_dead",
    ),
    Mutant(
        "make tasks with a delay due at once",
        "stores/sqlite/submitting.py",
        "else Instant(now + task.delay_ms)\n            known",
        "else Instant(now)\n            known",
    ),
    Mutant(
        "tell no events of submissions",
        "stores/sqlite/submitting.py",
        "            tell(connection, now, [(row[0], SUBMITTED, QUEUED, 0) for row in rows])\n",
        "",
    ),
    Mutant(
        "drop reports of attempts",
        "worker/attempt.py",
        "            services.reports.send(lease, outcome)",
        "            services.held_attempts.drop(lease)",
    ),
    Mutant(
        "beat too late",
        "worker/heartbeat.py",
        "            await asyncio.sleep(pause)\n            usage",
        "            await asyncio.sleep(pause * 20)\n            usage",
    ),
    Mutant(
        "take every crash for poison",
        "stores/sqlite/sessions.py",
        "held.crashes + 1 >= poison_after",
        "held.crashes + 1 >= 1",
    ),
    Mutant(
        "note no use of limits",
        "stores/sqlite/limiting.py",
        "finish(write_slots(Statements(connection), slots))",
        "finish(write_slots(Statements(connection), []))",
    ),
    Mutant(
        "do not advance schedules",
        "stores/sqlite/firing.py",
        '            connection_of(transaction).execute(SQL["advance_alike"], batch)\n',
        "            del batch\n",
    ),
    Mutant(
        "take leased tasks for free",
        "stores/sqlite/sql/claim.sql",
        "INNER JOIN lane ON live.lane = lane.id\n"
        "WHERE live.state = 2 AND live.session = :session AND live.nonce = :nonce",
        "INNER JOIN lane ON live.lane = lane.id\n"
        "WHERE live.state = 2 AND live.session = :session AND :nonce IS NOT NULL",
    ),
    *LEASE_MUTANTS,
    *DURABLE_MUTANTS,
    *FAMILY_MUTANTS,
    *OUTSIDE_MUTANTS,
)
