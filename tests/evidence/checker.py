"""Our own judge of traces: compares what was acknowledged, what ran, what was recorded and which faults there were.

    python -m tests.evidence.checker TRACE [--may-wait] [--grace SECONDS]

It shares nothing with the other judges but the format. A finding is a sentence about what cannot be; an explanation is
a sentence about an execution that came to nothing, with the fault or the operator that explains it.

The limit of an execution is written `NAME/MOST`, for example `mails/3`; one without a number is not judged.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tests.evidence import trace
from tests.evidence.account import FOREVER, Account, Lease, Run
from tests.evidence.trace import Ending, Line, Phase

ENDED = frozenset({"COMPLETED", "FAILED", "CANCELLED", "SKIPPED"})
WITHOUT_EXECUTION = frozenset({"cancelled", "skipped", "released", "crashed", "failed"})
"""Outcomes that an attempt may also have before its execution begins."""
CLOCKS = 0.05
"""Seconds by which the time of the store and that of a task may differ."""
TTL_SECONDS = 15.0
"""How long a session is silent before it is taken for dead."""
COME_TO_NOTHING = frozenset({"crashed", "released"})
ENDED_BY_ITSELF = frozenset({"error", "parked"})
"""Moments of executions that their own code has ended, and that are repeated."""
ENDING_OUTCOMES = frozenset({"completed", "failed", "cancelled", "skipped"})


class Judgement(NamedTuple):
    """What the judge says of a trace."""

    findings: list[str]
    explanations: list[str]
    """Each execution that came to nothing, and why."""
    acknowledged: int
    """Tasks, those of jobs and batches included."""
    executions: int
    faults: int


def judge(lines: Iterable[Line], *, grace: float = 1.0, may_wait: bool = False) -> Judgement:
    """Judge a trace.

    `grace` is how long before its begin an execution may have been claimed, and by how much clocks may differ;
    `may_wait` accepts tasks that have not ended in the end.
    """
    account = Account(lines)
    explanations: list[str] = []
    findings = [
        *_lost(account, may_wait=may_wait),
        *_keys(account),
        *_doubles(account, grace, explanations.append),
        *_after_completion(account, grace),
        *_attempts(account),
        *_limits(account, grace),
        *_fires(account),
    ]
    acknowledged = len({task for act in account.submissions() if act.phase is Phase.OK for task in act.made})
    executions = sum(map(len, account.runs.values()))
    return Judgement(findings, explanations, acknowledged, executions, len(account.faults))


def _lost(account: Account, *, may_wait: bool) -> Iterator[str]:
    """Find what was acknowledged and is not in the end, or has not ended."""
    jobs = {ending.job for ending in account.endings.values()}
    for act in account.submissions():
        for task in act.made if act.phase is Phase.OK else ():
            if task not in account.endings and task not in jobs:
                yield f"{task} was acknowledged at {act.ended:.3f} and is not in the store in the end"
    for ending in account.endings.values():
        if ending.state not in ENDED and not may_wait:
            yield f"{ending.task} has not ended: it is {ending.state} in the end"
    for task in account.runs.keys() - account.endings.keys():
        yield f"{task} ran and is not in the store in the end"


def _keys(account: Account) -> Iterator[str]:
    """Find keys with two tasks, and tasks of submissions that were refused."""
    answered: defaultdict[str, set[str]] = defaultdict(set)
    stored: defaultdict[str, set[str]] = defaultdict(set)
    phases: defaultdict[str, set[Phase]] = defaultdict(set)
    for act in account.submissions():
        phases[act.key or ""].add(act.phase)
        if act.key and act.phase is Phase.OK and (made := act.task or act.detail.get("job")):
            answered[act.key].add(made)
    for ending in account.endings.values():
        if ending.key:
            stored[ending.key].add(ending.task)
    for key in sorted(answered.keys() | stored.keys()):
        tasks = answered[key] | stored[key]
        if len(tasks) > 1:
            yield f"the key {key} has {len(tasks)} tasks: {', '.join(sorted(tasks))}"
        if stored[key] and phases[key] == {Phase.FAIL}:
            yield f"the key {key} has a task though every submission of it was refused"


def _doubles(account: Account, grace: float, explain: Callable[[str], None]) -> Iterator[str]:
    """Find executions that came to nothing, or went on beside another, without a reason."""
    for task, runs in account.runs.items():
        ending = account.endings.get(task)
        own = _own_ends(ending, runs)
        pairs = []
        for first, second in pairwise(runs):
            lost = _lost_lease(account, first, second)
            if lost is not None:
                yield from _repeat(account, *lost, explain, grace)
            elif first.moment not in ENDED_BY_ITSELF or first.ended > second.began:
                pairs.append((first, second, _reason(account, first, second, grace)))
        # Which of them ended by themselves is not known: those that nothing else explains, if there are so many.
        for first, second, why in sorted(pairs, key=lambda pair: pair[2] is not None):
            if own > 0 and _may_end_itself(account, first, second):
                own -= 1
            elif why is None:
                yield f"{task} ran twice: {second} began after {first}, and no fault explains it"
            else:
                explain(f"{task} ran twice: {second} began after {first}; explained by {why}")


def _lost_lease(account: Account, first: Run, second: Run) -> tuple[Run, Run, Lease] | None:
    """Return the execution of the earlier lease, the other one, and that lease, where the trace tells of it."""
    if not first.epoch or not second.epoch:
        return None
    earlier, later = sorted((first, second), key=lambda run: (run.epoch, run.began))
    lease = account.lease_of(earlier)
    return None if lease is None else (earlier, later, lease)


def _repeat(
    account: Account, first: Run, second: Run, lease: Lease, explain: Callable[[str], None], grace: float
) -> Iterator[str]:
    """Find an execution that was repeated though nothing that befell its lease explains it."""
    what = f"{first.task} ran twice: {second} began after {first}"
    if first.epoch == second.epoch:
        yield f"{what} under the same lease"
    elif lease.outcome in COME_TO_NOTHING:
        if fault := account.fault_between(*_life(lease, first, second, grace), first.worker):
            explain(f"{what}; explained by {fault.kind} of {fault.target} at {fault.at:.3f}")
        else:
            yield f"{what}, and no fault explains it"
    elif lease.outcome in ENDING_OUTCOMES:
        if act := account.operator_between(first.began, second.began, first.task):
            explain(f"{what}; explained by {act.what} by an operator at {act.began:.3f}")
        else:
            yield f"{what}, whose attempt was {lease.outcome}, and no operator has retried it"


def _life(lease: Lease, first: Run, second: Run, grace: float) -> tuple[float, float]:
    """Return from when to when a fault may have cost a lease."""
    if lease.since is None:
        return first.began - grace, second.began + grace
    # A session is dead after a long silence, which may have begun before its last lease.
    since = min(lease.since, lease.until - TTL_SECONDS) if lease.outcome == "crashed" else lease.since
    return since - CLOCKS, lease.until + CLOCKS


def _may_end_itself(account: Account, first: Run, second: Run) -> bool:
    """Tell whether an execution may have ended by a snooze, to wait, or by a timeout, before the next began."""
    if first.moment is None:
        return not account.has_stops
    # One that was cancelled and retried by an operator is none of those that were retried by themselves.
    is_retried = first.moment == "stopped" and account.operator_between(first.began, second.began, first.task)
    return first.ended <= second.began and not is_retried


def _own_ends(ending: Ending | None, runs: list[Run]) -> int:
    """Count the executions that ended by a snooze or to wait, or by a timeout that they could not note."""
    if ending is None:
        return 0
    recorded = sum(outcome in {"snoozed", "parked", "retried"} for outcome in ending.attempts)
    return max(recorded - sum(run.moment in ENDED_BY_ITSELF for run in runs), 0)


def _reason(account: Account, first: Run, second: Run, grace: float) -> str | None:
    """Say why a task may have run again though its execution neither failed nor was recorded."""
    since, until = first.began - grace, second.began + grace
    if fault := account.fault_between(since, until, *_losers(first, second)):
        return f"{fault.kind} of {fault.target} at {fault.at:.3f}"
    if act := account.operator_between(since, until, first.task):
        return f"{act.what} by an operator at {act.began:.3f}"
    return None


def _losers(first: Run, second: Run) -> list[str]:
    """Return the worker whose lease was lost: the one of the earlier lease; both if the trace does not tell."""
    if not first.epoch or not second.epoch:
        return [first.worker, second.worker]
    return [min(first, second, key=lambda run: run.epoch).worker]


def _after_completion(account: Account, grace: float) -> Iterator[str]:
    """Find executions that began when their task was known to be completed."""
    for task, completed in account.completed_at.items():
        runs = account.runs.get(task, [])
        for run in runs:
            lease = account.lease_of(run)
            since = runs[0].began - grace if lease is None or lease.since is None else lease.since - CLOCKS
            if run.began > completed + CLOCKS and account.fault_between(since, run.began, run.worker) is None:
                yield f"{task} was completed at {completed:.3f}, and began again on {run.worker} at {run.began:.3f}"


def _attempts(account: Account) -> Iterator[str]:
    """Find histories that do not fit the executions."""
    for task, ending in account.endings.items():
        yield from (f"{task} {fault}" for fault in _history(account, ending))
        if task not in account.unrecorded and account.workers:
            yield from (f"{task} {fault}" for fault in _executions(ending, account.runs.get(task, [])))


def _history(account: Account, ending: Ending) -> Iterator[str]:
    """Say what is wrong with the outcomes of a task's attempts, in their order."""
    outcomes = ending.attempts
    if outcomes.count("completed") > 1:
        yield f"was completed {outcomes.count('completed')} times"
    if (ending.state == "COMPLETED") != (outcomes[-1:] == ("completed",)):
        yield f"is {ending.state}, and its last attempt was {outcomes[-1] if outcomes else 'none'}"
    if "completed" in outcomes[:-1]:
        yield "had an attempt after it was completed"
    earlier = ENDING_OUTCOMES.intersection(outcomes[:-1]) - {"completed"}
    if earlier and account.operator_between(-FOREVER, FOREVER, ending.task) is None:
        yield f"had an attempt after it was {min(earlier)}, and no operator has retried it"


def _executions(ending: Ending, runs: list[Run]) -> Iterator[str]:
    """Say where the attempts of a task and its executions do not fit."""
    outcomes = Counter(ending.attempts)
    needed = sum(count for outcome, count in outcomes.items() if outcome not in WITHOUT_EXECUTION)
    began = sum(run.moment != "orphan" for run in runs)
    if began > len(ending.attempts):
        yield f"ran {began} times in {len(ending.attempts)} attempts"
    if began < needed:
        yield f"has {needed} attempts that ran, and {began} executions"
    if outcomes["completed"] > sum(run.moment == "end" for run in runs):
        yield "is recorded as completed, and no execution has come to its end"
    for run in runs:
        if run.moment == "orphan":
            yield f"ended on {run.worker} at {run.ended:.3f} without having begun there"


def _limits(account: Account, grace: float) -> Iterator[str]:
    """Find times at which more executions held a limit than it allows; one whose lease may be lost does not count."""
    by_limit: defaultdict[str, list[Run]] = defaultdict(list)
    for runs in account.runs.values():
        for run in runs:
            if run.limit is not None and "/" in run.limit:
                by_limit[run.limit].append(run)
    for limit, runs in sorted(by_limit.items()):
        most = int(limit.rpartition("/")[2])
        holding: list[Run] = []
        for run in sorted(runs, key=lambda run: run.began):
            holding = [other for other in holding if _holds(account, other, run.began, grace)]
            holding.append(run)
            if len(holding) > most:
                yield f"the limit {limit} was exceeded at {run.began:.3f}: {len(holding)} executions held it"


def _holds(account: Account, run: Run, now: float, grace: float) -> bool:
    """Tell whether an execution holds its limit: it goes on, and the store has not given up its lease."""
    if run.ended <= now:
        return False
    lease = account.lease_of(run)
    if lease is not None and lease.since is not None:
        return lease.until > now
    return account.fault_between(run.began - grace, now + grace, run.worker) is None


def _fires(account: Account) -> Iterator[str]:
    """Find fire times of schedules with two runs, and those that were noted and have none."""
    fired: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for ending in account.endings.values():
        if ending.schedule is not None and ending.fire_time is not None:
            fired[ending.schedule, ending.fire_time].add(ending.job or ending.task)
    for (schedule, time), runs in sorted(fired.items()):
        if len(runs) > 1:
            yield f"the schedule {schedule} fired {len(runs)} times for {time}"
    noted = {
        (str(note.detail["schedule"]), str(note.detail["fire_time"]))
        for note in account.notes
        if note.what == "fired" and {"schedule", "fire_time"} <= note.detail.keys()
    }
    for schedule, time in sorted(noted - fired.keys()):
        yield f"the schedule {schedule} fired for {time}, and no task of it is in the store in the end"


def main() -> int:
    """Print findings and explanations; the exit status is 0 if there is no finding."""
    parser = argparse.ArgumentParser(description="Judge a trace by comparing its accounts.")
    parser.add_argument("trace", type=Path)
    parser.add_argument("--may-wait", action="store_true", help="accept tasks that have not ended")
    parser.add_argument("--grace", type=float, default=1.0, help="seconds from a claim to its execution at most")
    given = parser.parse_args()
    judgement = judge(trace.read(given.trace), grace=given.grace, may_wait=given.may_wait)
    for sentence in judgement.findings:
        sys.stdout.write(f"FOUND {sentence}\n")
    for sentence in judgement.explanations:
        sys.stdout.write(f"explained: {sentence}\n")
    counts = f"{judgement.acknowledged} acknowledged, {judgement.executions} executions, {judgement.faults} faults"
    sys.stdout.write(f"{counts}: {len(judgement.findings)} findings, {len(judgement.explanations)} repeats explained\n")
    return 1 if judgement.findings else 0


if __name__ == "__main__":
    sys.exit(main())
