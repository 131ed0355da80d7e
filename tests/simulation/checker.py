"""Our own judge: compares what clients were told and what tasks did with what the store says in the end.

Each check returns what is wrong, as sentences. It reads the trace and the database, and shares no code with the
product but the numbers of states.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from tests.evidence.trace import Fault, Operation, Phase
from tests.simulation.account import COMPLETED, CRASHED, FOREVER, RUNNING, Evidence, Row, seconds_of
from tests.simulation.durable_checks import DURABLE_CHECKS
from tests.simulation.family_checks import FAMILY_CHECKS
from tests.simulation.lease_checks import LEASE_CHECKS
from tests.simulation.outside_checks import OUTSIDE_CHECKS
from tests.simulation.world import RESTART_AFTER, World

ON_ITS_WAY: Final = 2.0
"""Seconds for which what was sent before the end of a fault may still be on its way."""
LEAST_FELT: Final = 1.0
"""Seconds of a silence that faults have to cover: the rest is the time between two beats, before and after."""
HARMLESS: Final = frozenset({"clock", "drift"})
"""Faults by which no worker may lose a lease: death is observed, not read off a clock."""
ENDING_ACTS: Final = frozenset(
    {"complete", "back_off", "fail", "snooze", "park", "release", "reap", "stop", "cancel", "force_cancel", "skip"}
)


def check(world: World) -> list[str]:
    """Return what is wrong with a run."""
    evidence = Evidence(world)
    return [problem for look in CHECKS for problem in look(evidence)]


def nothing_acknowledged_is_missing(evidence: Evidence) -> Iterator[str]:
    """Check that every task whose submission was acknowledged is in the store."""
    for line in evidence.operations:
        if line.phase is not Phase.OK:
            continue
        named = [line.task] if line.task else []
        for task in named + [each for each in line.detail.get("tasks", ()) if each]:
            if task not in evidence.endings:
                yield f"{line.what} {line.detail['label']} was acknowledged, and task {task} is missing"


def nothing_is_stored_twice(evidence: Evidence) -> Iterator[str]:
    """Check that one submission, and one key, is one task; and that a refused one is none."""
    scheduled = {step.label for step in evidence.plan.steps if step.what == "schedule"}
    for (_, label), tasks in evidence.labels.items():
        if label not in scheduled and len(tasks) > 1:
            yield f"{label} was submitted once and stored {len(tasks)} times: {tasks}"
    by_key: dict[str, set[str]] = defaultdict(set)
    for line in evidence.acknowledged("submit"):
        if line.key and line.task:
            by_key[line.key].add(line.task)
    for key, found in by_key.items():
        if len(found) > 1:
            yield f"the key {key!r} gave {len(found)} tasks"


def everything_ends(evidence: Evidence) -> Iterator[str]:
    """Check that no task is left running or waiting, and that no attempt is open."""
    for task, ending in evidence.endings.items():
        if ending.state in {"BLOCKED", "QUEUED", "RUNNING"}:
            yield f"task {task} ({evidence.payloads[task]['label']}) is {ending.state} in the end"


def each_lease_runs_once(evidence: Evidence) -> Iterator[str]:
    """Check that an execution has a lease that the store knows, and that no lease was executed twice."""
    seen: set[tuple[str, int]] = set()
    for line in evidence.executions:
        if line.moment != "begin":
            continue
        if (line.task, line.epoch) in seen:
            yield f"lease {line.epoch} of task {line.task} was executed twice"
        seen.add((line.task, line.epoch))
        if not any(row.epoch == line.epoch for row in evidence.rows[line.task]):
            yield f"task {line.task} ran under epoch {line.epoch}, of which the store knows nothing"


def nothing_runs_after_it_completed(evidence: Evidence) -> Iterator[str]:
    """Check that a completed task has no later attempt, and that no later lease was executed."""
    for task, rows in evidence.rows.items():
        done = [row for row in rows if row.outcome == COMPLETED]
        if len(done) > 1:
            yield f"task {task} completed {len(done)} times"
        if done and rows[-1].epoch > done[0].epoch:
            yield f"task {task} has attempts after it completed: {evidence.endings[task].attempts}"


def a_completed_task_has_run(evidence: Evidence) -> Iterator[str]:
    """Check that an attempt that counts as completed was executed to its end, as its own lease."""
    ended = {(line.task, line.epoch) for line in evidence.executions if line.moment == "end"}
    failed = {(line.task, line.epoch) for line in evidence.executions if line.moment == "error"}
    for task, rows in evidence.rows.items():
        for row in rows:
            if row.outcome == COMPLETED and (task, row.epoch) not in ended:
                yield f"task {task} completed under epoch {row.epoch}, which did not run to its end"
            if row.outcome == COMPLETED and (task, row.epoch) in failed:
                yield f"task {task} completed under epoch {row.epoch}, which failed"


def executions_do_not_overlap_without_a_fault(evidence: Evidence) -> Iterator[str]:
    """Check that a crash, the one reason for a second execution beside the first, is explained by a fault."""
    for task, rows in evidence.rows.items():
        for row in rows:
            if row.outcome == CRASHED and not _is_explained(evidence, row):
                yield f"epoch {row.epoch} of task {task} counts as crashed at {row.finished}, and no fault explains it"


def _is_explained(evidence: Evidence, row: Row) -> bool:
    """Tell whether faults kept the worker of an attempt from beating in the silence for which it was taken for dead."""
    session = row.session or 0
    silence = evidence.silence_before(session, row.finished)
    if silence is None:
        return False
    since, until = silence
    felt = 0.0
    for fault in evidence.faults:
        if fault.kind not in HARMLESS and _keeps_from_beating(evidence, fault, session):
            felt += max(min(_felt_until(evidence, fault, session), until) - max(fault.at, since), 0.0)
    return felt >= LEAST_FELT


def _keeps_from_beating(evidence: Evidence, fault: Fault, session: int) -> bool:
    """Tell whether a fault hit a worker itself, the database of the session, or a server that a remote worker needs."""
    worker = evidence.workers.get(session, "")
    if fault.target in {worker, "database", f"database.{evidence.database_of(session)}"}:
        return True
    # An upgrade lets a worker end in order, and every server in its turn.
    return evidence.is_remote(worker.partition(".")[0]) and (fault.target.startswith("api") or fault.kind == "upgrade")


def _felt_until(evidence: Evidence, fault: Fault, session: int) -> float:
    """Return until when a fault was felt: who is killed stays dead, and a server is started again after a while."""
    if fault.kind == "kill":
        return FOREVER if fault.target == evidence.workers.get(session) else fault.at + RESTART_AFTER + LEAST_FELT
    return evidence.lasts_until(fault) + ON_ITS_WAY


def limits_hold(evidence: Evidence) -> Iterator[str]:
    """Check that never more leases under a limit were valid at once than it allows."""
    limit = evidence.plan.fleet.limit
    if limit is None:
        return
    names = dict(evidence.query("SELECT task.id, lane.name FROM task JOIN lane ON lane.id = task.lane"))
    moments: list[tuple[float, int]] = []
    for task, rows in evidence.rows.items():
        for row in rows:
            # The limit is one of the default tenant.
            if names[task] == "limited" and evidence.tenants[task] == "default" and row.started is not None:
                moments += [(row.started, 1), (row.finished, -1)]
    running = 0
    for at, change in sorted(moments):
        running += change
        if running > limit:
            yield f"{running} tasks ran at {at} under a limit of {limit}"
            return


def parents_come_first(evidence: Evidence) -> Iterator[str]:
    """Check that a task of a job began after all that it needs had completed."""
    for parent, child in evidence.query("SELECT parent, child FROM task_edge"):
        begun = [row.started for row in evidence.rows[child] if row.started is not None]
        ended = [row.finished for row in evidence.rows[parent] if row.outcome == COMPLETED]
        if begun and (not ended or min(begun) < ended[0]):
            yield f"task {child} began at {min(begun)}, before {parent} completed at {ended}"


def outcomes_are_as_told(evidence: Evidence) -> Iterator[str]:
    """Check that a task that nobody stopped completed or failed as its payload and its retries say."""
    if evidence.was_asked("cancel", "bulk", "cancel_job", "retry", "resume_job"):
        return
    for task, ending in evidence.endings.items():
        options = evidence.options_of(task)
        if options is None or options.keys() & {"timeout", "expires"} or ending.state == "SKIPPED":
            continue
        crashes = sum(row.outcome == CRASHED for row in evidence.rows[task])
        fails = evidence.payloads[task]["fails"]
        # An attempt that crashed has its number too, so it may take the place of one that would have failed.
        expected = {"COMPLETED"} if fails <= options["retries"] else {"FAILED"}
        if crashes:
            expected = {"COMPLETED", "FAILED"}
        if ending.state not in expected:
            label = evidence.payloads[task]["label"]
            yield f"task {task} ({label}) is {ending.state}: {ending.attempts}, told to fail {fails} times"


def schedules_fire_once(evidence: Evidence) -> Iterator[str]:
    """Check that each fire time gave one run, and that a schedule made no more runs than it may."""
    seen: set[tuple[str, str]] = set()
    counts: dict[str, int] = defaultdict(int)
    for ending in evidence.endings.values():
        if ending.schedule is None or ending.fire_time is None:
            continue
        if (ending.schedule, ending.fire_time) in seen:
            yield f"schedule {ending.schedule} fired twice for {ending.fire_time}"
        seen.add((ending.schedule, ending.fire_time))
        counts[ending.schedule] += 1
    for line in evidence.acknowledged("schedule"):
        most = line.detail["max_runs"]
        if counts[line.detail["schedule"]] > most:
            yield f"schedule {line.detail['schedule']} ran {counts[line.detail['schedule']]} times of {most}"


def paused_queues_rest(evidence: Evidence) -> Iterator[str]:
    """Check that no task of a queue was claimed between the answer to a pause and the next resume."""
    queues = dict(evidence.query("SELECT task.id, lane.queue FROM task JOIN lane ON lane.id = task.lane"))
    for line in evidence.acknowledged("pause"):
        queue, tenant = line.detail["queue"], evidence.steps[line.detail["label"]].tenant or "default"
        resumes = [
            each.at
            for each in evidence.operations
            if each.what == "resume" and each.phase is Phase.INVOKE and _queue_of(evidence, each) == queue
        ]
        # One that was sent before and is still on its way may arrive at any time.
        if any(at <= line.at and not _is_over(evidence, queue, at, line.at) for at in resumes):
            continue
        until = min((at for at in resumes if at > line.at), default=float("inf"))
        for task, rows in evidence.rows.items():
            for row in rows:
                mine = queues[task] == queue and evidence.tenants[task] == tenant
                if mine and row.started is not None and line.at + 0.001 < row.started < until:
                    yield f"task {task} of {queue} was claimed at {row.started}, paused from {line.at} to {until}"


def _queue_of(evidence: Evidence, line: Operation) -> str:
    label = line.detail["label"]
    step = evidence.steps.get(label)
    return str(step.body["queue"]) if step is not None else label.removeprefix("resume ")


def _is_over(evidence: Evidence, queue: str, begun: float, at: float) -> bool:
    """Tell whether a resume that began at a time was answered before the pause began, and is surely over."""
    ops = [line for line in evidence.operations if line.what == "resume" and _queue_of(evidence, line) == queue]
    op = next(line.op for line in ops if line.phase is Phase.INVOKE and line.at == begun)
    pauses = [line for line in evidence.operations if line.what == "pause" and line.at <= at]
    asked = max((line.at for line in pauses if line.phase is Phase.INVOKE), default=0.0)
    return any(line.op == op and line.phase in {Phase.OK, Phase.FAIL} and line.at < asked for line in ops)


def reads_are_true(evidence: Evidence) -> Iterator[str]:
    """Check that a read finds what was acknowledged, and that a completed task stays completed."""
    known: dict[str, float] = {}
    completed: dict[str, float] = {}
    invoked = {line.op: line.at for line in evidence.operations if line.phase is Phase.INVOKE}
    for line in evidence.operations:
        if line.phase is not Phase.OK or line.task is None:
            continue
        if line.what == "submit":
            known.setdefault(line.task, line.at)
        if line.what == "read":
            begun = invoked[line.op]
            if line.state == "none" and known.get(line.task, float("inf")) < begun:
                yield f"task {line.task} was not found at {line.at}, acknowledged at {known[line.task]}"
            if line.state != "COMPLETED" and completed.get(line.task, float("inf")) < begun:
                yield f"task {line.task} was {line.state} at {line.at} after it was COMPLETED"
            if line.state == "COMPLETED":
                completed.setdefault(line.task, line.at)


def the_books_balance(evidence: Evidence) -> Iterator[str]:
    """Check what the store derives: counts of jobs, dead letters, and their groups."""
    sums: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for ending in evidence.endings.values():
        if ending.job is not None:
            sums[ending.job][ending.state.lower()] += 1
    words = ("completed", "failed", "cancelled", "skipped")
    for job, total, *counts in evidence.query("SELECT id, total, completed, failed, cancelled, skipped FROM job"):
        mine = [sums[job][word] for word in words]
        if mine != counts or sum(sums[job].values()) != total:
            yield f"job {job} counts {counts} of {total}, and its tasks are {mine}"
    dead = {task for (task,) in evidence.query("SELECT task_id FROM dead_letter")}
    failed = {task for task, ending in evidence.endings.items() if ending.state == "FAILED"}
    if dead != failed:
        yield f"dead letters and failed tasks differ: {sorted(dead ^ failed)}"
    for cause, count, found in evidence.query(
        "SELECT id, count, (SELECT count(*) FROM dead_letter WHERE cause = cause.id) FROM cause"
    ):
        if count != found:
            yield f"group {cause} counts {count} dead letters of {found}"


def the_log_tells_all(evidence: Evidence) -> Iterator[str]:
    """Check that the log of events has every submission, and the end of every attempt, once."""
    told: dict[tuple[str, int], list[str]] = defaultdict(list)
    for (events,) in evidence.query("SELECT events FROM outbox ORDER BY seq"):
        for task, act, state, epoch in json.loads(events):
            if state != RUNNING:  # a running task that is asked to stop ends later
                told[task, epoch].append(act)
    for task, rows in evidence.rows.items():
        if told[task, 0].count("submit") != 1:
            yield f"the log tells {told[task, 0].count('submit')} times that task {task} was submitted"
        for row in rows:
            ends = [act for act in told[task, row.epoch] if act in ENDING_ACTS]
            if len(ends) != 1:
                yield f"the log tells {ends} of the end of attempt {row.epoch} of task {task}"


def nothing_begins_early(evidence: Evidence) -> Iterator[str]:
    """Check that a task with a delay was not leased before that was over; the clock of the store decides."""
    if evidence.was_asked("reschedule", "bulk", "retry"):
        return
    for task, created, due in evidence.query("SELECT id, created_at, due_at FROM task"):
        label = evidence.payloads[task]["label"]
        delay = (evidence.options_of(task) or {}).get("delay", 0) if "." not in label else 0
        if due - created < delay * 1000 - 1:
            yield f"task {task} ({label}) is due {due - created} ms after its submission, and not {delay} s"
        for row in evidence.rows[task][:1]:
            if row.started is not None and row.started < seconds_of(due) - 0.001:
                yield f"task {task} ({label}) was leased at {row.started}, before it was due at {seconds_of(due)}"


CHECKS: Final = (
    nothing_acknowledged_is_missing,
    nothing_is_stored_twice,
    everything_ends,
    each_lease_runs_once,
    nothing_runs_after_it_completed,
    a_completed_task_has_run,
    executions_do_not_overlap_without_a_fault,
    limits_hold,
    parents_come_first,
    outcomes_are_as_told,
    schedules_fire_once,
    paused_queues_rest,
    reads_are_true,
    the_books_balance,
    the_log_tells_all,
    nothing_begins_early,
    *LEASE_CHECKS,
    *DURABLE_CHECKS,
    *FAMILY_CHECKS,
    *OUTSIDE_CHECKS,
)
