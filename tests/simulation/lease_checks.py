"""Checks of the steps between the beginning and the end: leases, sessions, retries, cancellations, waiting jobs."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from tests.evidence.trace import Phase
from tests.simulation.account import (
    COMPLETED,
    CRASHED,
    POISON_AFTER,
    RELEASED,
    RETRIED,
    SNOOZED,
    Evidence,
    Row,
    seconds_of,
)
from tests.simulation.workload import FAULT_SECONDS

SHORTEST_SILENCE: Final = 15.0 / 1.2 - 0.1
"""Seconds without a beat before a session is taken for dead, at least: the TTL by a clock a fifth too fast."""
UNHEARD_SECONDS: Final = 6.0
"""A beat may be so old when it arrives: longer than that, and the next is sent."""
STOP_SECONDS: Final = 13.0
"""Until a running task that was cancelled has stopped: two beats, and the time that it may take to stop."""
NOTICED_SECONDS: Final = 6.0
"""An outage that lasts longer fails a pass of every scheduler, which takes none of it for silence of a worker."""
UNAVAILABLE: Final = 503
SUBMISSIONS: Final = frozenset({"submit", "batch", "job", "schedule"})


def claims_are_fenced(evidence: Evidence) -> Iterator[str]:
    """Check that each lease has a new epoch, and that no closed session was given one."""
    for change in evidence.changes:
        if change.what in {"claim", "requeue"} and (change.after or 0) <= (change.before or 0):
            yield f"{change.what} of task {change.task} at {change.at} left the epoch at {change.after}"
        if change.what.startswith("claim of"):
            yield f"task {change.task} was leased to session {change.session} at {change.at}: a {change.what}"


def only_the_silent_are_reaped(evidence: Evidence) -> Iterator[str]:
    """Check that a session that was taken for dead had not beaten for long enough."""
    for session, changes in evidence.by_session.items():
        for before, change in pairwise(changes):
            if change.what == "dead" and change.at - before.at < SHORTEST_SILENCE:
                yield f"session {session} was reaped at {change.at}, {change.at - before.at:.1f} s after it had beaten"
            silent = change.at - before.at - _outages(evidence, before.at, change.at)
            if change.what == "dead" and silent < SHORTEST_SILENCE - 1.0:
                yield f"session {session} was reaped at {change.at}, {silent:.1f} s of silence besides outages"


def _outages(evidence: Evidence, since: float, until: float) -> float:
    """Return the seconds between two times in which the whole store was away, of outages that no pass can miss."""
    times = sorted(
        (max(fault.at, since), min(fault.until or 0.0, FAULT_SECONDS, until))
        for fault in evidence.faults
        if fault.kind == "outage" and fault.target == "database" and (fault.until or 0.0) - fault.at > NOTICED_SECONDS
    )
    total = 0.0
    for begun, ended in times:
        total += max(ended - max(begun, since), 0.0)
        since = max(since, ended)
    return total


def leases_are_freed_late_enough(evidence: Evidence) -> Iterator[str]:
    """Check that what was taken from an open session was a lease that it does not know of, two beats after."""
    for rows in evidence.rows.values():
        for row in rows:
            if row.outcome != RELEASED or row.nonce is not None or row.session is None or row.started is None:
                continue
            since = [change for change in evidence.by_session[row.session] if change.at <= row.finished + 0.001]
            if any(change.what in {"close", "dead"} for change in since):
                continue
            beats = sum(change.what == "beat" and change.at >= row.started for change in since)
            if beats < 2:
                yield f"epoch {row.epoch} of task {row.task} was freed at {row.finished}, after {beats} beats"
            begun = evidence.begun.get((row.task, row.epoch))
            if begun is not None and begun.at < row.finished - UNHEARD_SECONDS:
                yield (
                    f"epoch {row.epoch} of task {row.task} was freed at {row.finished} though {begun.worker} had begun"
                    f" it at {begun.at}"
                )


def refusals_are_right(evidence: Evidence) -> Iterator[str]:
    """Check that a report was refused only if another than the worker itself had ended the attempt."""
    for refusal in evidence.refusals:
        found = [row for row in evidence.rows[refusal.task] if row.epoch == refusal.epoch]
        if not found or any(row.nonce == refusal.nonce for row in found):
            yield (
                f"the report of {refusal.worker} on epoch {refusal.epoch} of task {refusal.task} was refused at"
                f" {refusal.at}, and nobody else has ended that attempt"
            )


def retries_wait(evidence: Evidence) -> Iterator[str]:
    """Check that a retry began after its delay."""
    moved = evidence.concerned("reschedule")
    for task, rows in evidence.rows.items():
        options = evidence.options_of(task)
        if options is None or task in moved:
            continue
        for row, following in pairwise(rows):
            if row.outcome == RETRIED and following.started is not None:
                delay = following.started - row.finished
                if delay < options["backoff"]["base"] - 0.002:
                    yield f"task {task} was retried after {delay:.3f} s, and not {options['backoff']['base']} s"


def attempts_are_counted(evidence: Evidence) -> Iterator[str]:
    """Check that each attempt has the next number, but after one that does not count, and that crashes are counted."""
    recorded = {task for (task,) in evidence.query("SELECT DISTINCT task_id FROM step_record")}
    for task, rows in evidence.rows.items():
        for row, following in pairwise(rows):
            step = {RETRIED: 1, CRASHED: 1, RELEASED: 0, SNOOZED: 0}.get(row.outcome)
            if step is not None and following.started is not None and following.attempt != row.attempt + step:
                yield f"attempt {row.attempt} of task {task} was followed by attempt {following.attempt}: {_told(rows)}"
        if task in recorded or evidence.was_asked("retry", "bulk", "resume_job"):
            continue  # crashes are counted from the last record, or anew
        if _crashes(rows) >= POISON_AFTER:
            yield f"task {task} crashed {_crashes(rows)} times, and was not taken for poison"


def _crashes(rows: list[Row]) -> int:
    return sum(row.outcome == CRASHED for row in rows)


def _told(rows: list[Row]) -> str:
    return ", ".join(f"{row.epoch}: {row.outcome}" for row in rows)


def valid_submissions_are_taken(evidence: Evidence) -> Iterator[str]:
    """Check that no submission was refused: all are valid, and those with one key are alike."""
    for line in evidence.operations:
        if line.what in SUBMISSIONS and line.phase is Phase.FAIL and line.detail.get("status"):
            yield f"{line.what} {line.detail['label']} was refused with {line.detail['status']} at {line.at}"
        for item in line.detail.get("refused", ()):
            if item["error"]["status"] == UNAVAILABLE:  # its shard was away: the item may be sent again
                continue
            yield f"an item of {line.detail['label']} was refused at {line.at}: {item}"


def waiting_jobs_wait(evidence: Evidence) -> Iterator[str]:
    """Check that no task of a job began before the jobs that it was to wait for had completed."""
    tasks: dict[str, list[str]] = defaultdict(list)
    for task, job in evidence.query("SELECT task_id, job_id FROM job_task"):
        tasks[job].append(task)
    stored = {(job, needed) for job, needed in evidence.query("SELECT job_id, needs_job FROM job_dep")}
    asked = {
        (line.detail["job"], needed) for line in evidence.acknowledged("job") for needed in line.detail.get("needs", ())
    }
    for job, needed in sorted(stored | asked):
        begun = [row.started for task in tasks[job] for row in evidence.rows[task] if row.started is not None]
        if not begun:
            continue
        for task in tasks[needed]:
            done = [row.finished for row in evidence.rows[task] if row.outcome == COMPLETED]
            if not done or done[0] > min(begun):
                yield f"job {job} began at {min(begun)}, and task {task} of job {needed} completed at {done}"


def cancelled_tasks_stop(evidence: Evidence) -> Iterator[str]:
    """Check that a task whose cancellation was acknowledged soon ran no more, where no fault could delay that."""
    for line in evidence.acknowledged("cancel"):
        until = line.at + STOP_SECONDS
        is_calm = evidence.is_calm(line.at - STOP_SECONDS, until)
        again = evidence.was_retried(line.task) or evidence.was_asked("bulk", "resume_job")
        for row in evidence.rows[line.task or ""]:
            if row.started is None:
                continue
            if is_calm and row.started < line.at and row.finished > until:
                yield f"task {line.task} was cancelled at {line.at}, and ran until {row.finished}"
            if row.started > line.at + 0.001 and not again:
                yield f"task {line.task} was cancelled at {line.at}, and leased at {row.started}"


def schedules_fire_in_time(evidence: Evidence) -> Iterator[str]:
    """Check that no run came before its fire time, and that a schedule that was left alone made all its runs."""
    for schedule, fire_time, task, created in evidence.query(
        "SELECT schedule_id, fire_time, task_id, created_at FROM schedule_run WHERE state = 0"
    ):
        if created < fire_time:
            yield f"schedule {schedule} fired at {seconds_of(created)} for {seconds_of(fire_time)}"
        if task not in evidence.endings:
            yield f"schedule {schedule} fired for {seconds_of(fire_time)}, and its task {task} is missing"
    counts = {key: count for key, *count in evidence.query("SELECT id, runs, skipped, missed FROM schedule_live")}
    for line in evidence.acknowledged("schedule"):
        runs, skipped, missed = counts[line.detail["schedule"]]
        if runs + skipped + missed < line.detail["max_runs"]:
            yield f"schedule {line.detail['schedule']} made {runs} of {line.detail['max_runs']} runs"


def expired_tasks_do_not_begin(evidence: Evidence) -> Iterator[str]:
    """Check that no task was begun whose time to begin was over, where every clock was right."""
    if evidence.was_asked("bulk") or any(f.kind in {"clock", "drift"} for f in evidence.faults):
        return
    moved = evidence.concerned("retry", "reschedule")
    for task, due in evidence.query("SELECT id, due_at FROM task"):
        if task in moved:
            continue
        expires = (evidence.options_of(task) or {}).get("expires")
        # A lease that was in time counts, also if its answer was lost and the task began later.
        leased = [row.started for row in evidence.rows[task] if row.started is not None]
        late = min(leased, default=0.0) - seconds_of(due)
        if expires is not None and late > expires + 0.02 and any(each == task for each, _ in evidence.begun):
            yield f"task {task} was leased {late:.3f} s after it was due, and expired after {expires} s"


LEASE_CHECKS: Final[tuple[Callable[[Evidence], Iterator[str]], ...]] = (
    claims_are_fenced,
    only_the_silent_are_reaped,
    leases_are_freed_late_enough,
    refusals_are_right,
    retries_wait,
    attempts_are_counted,
    valid_submissions_are_taken,
    waiting_jobs_wait,
    cancelled_tasks_stop,
    schedules_fire_in_time,
    expired_tasks_do_not_begin,
)
