"""Mutants of leases, sessions, retries, cancellations and jobs that wait: faults that a later step may cover up."""

from typing import Final

from tests.simulation.mutants.mutant import Mutant

_CLAIM: Final = "stores/sqlite/sql/claim.sql"
_SESSIONS: Final = "stores/sqlite/sessions.py"
_SESSIONS_SQL: Final = "stores/sqlite/sql/sessions.sql"
_SETTLING: Final = "stores/sqlite/settling.py"
_RIPPLE: Final = "stores/parts/ripple.py"

LEASE_MUTANTS: Final = (
    Mutant(
        "claim without raising the epoch",
        _CLAIM,
        "    epoch = epoch + 1,\n    attempt = attempt + 1,",
        "    attempt = attempt + 1,",
    ),
    Mutant(
        "claim for a closed session",
        _CLAIM,
        "WHERE id = :session AND closed_at IS NULL AND should_drain = 0",
        "WHERE id = :session AND should_drain = 0",
    ),
    Mutant(
        "claim before a task is due",
        _CLAIM,
        "    AND state = 1\n    AND due_at <= :now\n\n-- name: lanes\n",
        "    AND state = 1\n\n-- name: lanes\n",
    ),
    Mutant(
        "requeue without raising the epoch",
        "stores/sqlite/sql/settle.sql",
        "    state = 1,\n    epoch = epoch + 1,\n    due_at",
        "    state = 1,\n    due_at",
    ),
    Mutant(
        "forget repeated settlements",
        _SETTLING,
        "        if any(answer is NOT_CURRENT for answer in answers):\n            _recognise",
        "        if False:\n            _recognise",
    ),
    Mutant(
        "retry without the delay",
        _SETTLING,
        "else self.now + delay_ms)",
        "else self.now)",
    ),
    Mutant(
        "count released attempts",
        "stores/endings.py",
        "self.attempt - (act in UNCOUNTED)",
        "self.attempt",
    ),
    Mutant(
        "do not count crashes",
        "stores/endings.py",
        "self.crashes + (act is Act.REAP)",
        "self.crashes",
    ),
    Mutant(
        "do not go on with jobs after a reap",
        _SESSIONS,
        "self._following.follow_ends(connection, ends.in_jobs, ends.queued_in_jobs)",
        "self._following.follow_ends(connection, {}, [])",
    ),
    Mutant(
        "refuse a repeated key",
        "stores/sqlite/submitting.py",
        "        if fingerprint != task.fingerprint:",
        "        if fingerprint:",
    ),
    Mutant(
        "begin a job before all that it waits for",
        _RIPPLE,
        "        if job.pending_jobs > 1:\n            return NO_EFFECTS\n",
        "",
    ),
    Mutant(
        "begin a job although what it waits for failed",
        _RIPPLE,
        "        if jobs[ended].status is not JobStatus.COMPLETED:",
        "        if False:",
    ),
    Mutant(
        "do not let new jobs wait for others",
        "stores/parts/submit_jobs.py",
        "if each.needs or job.id in waiting else",
        "if each.needs else",
    ),
    Mutant(
        "beat without what is held",
        "worker/heartbeat.py",
        "Beat(session=session, held=held, usage=usage, again=again)",
        "Beat(session=session, held=(), usage=usage, again=again)",
    ),
    Mutant(
        "reap sessions that have beaten meanwhile",
        _SESSIONS_SQL,
        "WHERE id = :session AND closed_at IS NULL AND beat = :beat\nRETURNING",
        "WHERE id = :session AND closed_at IS NULL\nRETURNING",
    ),
    Mutant(
        "take no notice of beats",
        "scheduler/reap.py",
        "(seen := self._silences.get(session)) and seen.beat == beat",
        "(seen := self._silences.get(session))",
    ),
    Mutant(
        "take sessions for dead after an outage",
        "scheduler/reap.py",
        "        if self._last_look is None:\n            return\n",
        "        return\n",
    ),
    Mutant(
        "free fresh leases",
        _SESSIONS_SQL,
        "            AND live.started_at < session.last_beat_at\n",
        "",
    ),
    Mutant(
        "free leases of silent sessions",
        _SESSIONS_SQL,
        "            session.beat >= 2\n            AND live.started_at < session.last_beat_at\n            -- Not",
        "            1\n            -- Not",
    ),
    Mutant(
        "do not note cancellations of running tasks",
        "stores/sql/control.sql",
        "SET cancel_requested = true\n",
        "SET cancel_requested = live.cancel_requested\n",
    ),
    Mutant(
        "stop nothing that was cancelled",
        "worker/heartbeat.py",
        "        if cancelled:\n",
        "        if not held:\n",
    ),
    Mutant(
        "queue again what was cancelled while it ran",
        _SETTLING,
        "        if held.cancel_requested and act in CANCELLABLE_BY_FLAG:\n            act = Act.STOP\n",
        "",
    ),
    Mutant(
        "make two tasks of each fire",
        "stores/parts/firing.py",
        "        tasks = tasks_of(planned)\n",
        "        tasks = [\n"
        "            each\n"
        "            for one in tasks_of(planned)\n"
        "            for each in (one, replace(one, id=TaskId(one.id[:-4] + one.id[-4:][::-1])))\n"
        "        ]\n",
    ),
    Mutant(
        "fire before the time",
        "stores/sql/firing.sql",
        "FROM (SELECT id FROM schedule_live WHERE due_at <= :now ORDER BY due_at LIMIT :limit) AS due",
        "FROM (SELECT id FROM schedule_live WHERE due_at <= :now + 900 ORDER BY due_at LIMIT :limit) AS due",
    ),
    Mutant(
        "run tasks that have expired",
        "stores/sql/expiry.sql",
        "    e.task_id = any(:ids::uuid [])\n    AND e.expires_at <=",
        "    e.task_id = any(:ids::uuid [])\n    AND false\n    AND e.expires_at <=",
    ),
)
