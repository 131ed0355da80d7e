"""Checks of durable tasks: effects and their records, sleeps and waits, signals and what was taken of them."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Final

from tests.simulation.account import COMPLETED, RELEASED, SNOOZED, Evidence, seconds_of

PARKED: Final = 14
STEP, SLEEP, SIGNAL = 1, 2, 3
DONE, TIMED_OUT = 1, 3


def effects_are_repeated_only_after_attempts_that_were_cut_off(evidence: Evidence) -> Iterator[str]:
    """Check that a step acted once, and again only for each attempt that ended before its record was written."""
    counts = Counter((effect.task, effect.key) for effect in evidence.effects)
    for (task, key), count in counts.items():
        cut = sum(row.outcome not in {COMPLETED, PARKED} for row in evidence.rows[task])
        if count - 1 > cut:
            yield f"step {key} of task {task} acted {count} times, and {cut} of its attempts were cut off"


def records_are_of_effects_under_their_own_lease(evidence: Evidence) -> Iterator[str]:
    """Check that a record has the result of an effect of its task, made and recorded under one lease."""
    tokens = {(effect.task, effect.key, effect.token) for effect in evidence.effects}
    for task, key, epoch, value in evidence.query(
        f"SELECT task_id, key, epoch, value FROM step_record WHERE kind = {STEP} AND status = {DONE} AND name = 'act'"
    ):
        token = json.loads(value)
        if (task, key, token) not in tokens:
            yield f"step {key} of task {task} has a record, {token}, of an effect that never was"
        if int(token.partition(".")[0]) != epoch:
            yield f"the effect {token} of task {task} was recorded under lease {epoch}"


def records_are_written_before_their_attempt_ends(evidence: Evidence) -> Iterator[str]:
    """Check that no record was written after its lease had ended; where clocks agree."""
    if any(fault.kind in {"clock", "drift"} for fault in evidence.faults):
        return
    for task, key, at, finished in evidence.query(
        "SELECT r.task_id, r.key, r.at, a.finished_at FROM step_record AS r"
        " JOIN attempt AS a ON a.task_id = r.task_id AND a.epoch = r.epoch WHERE r.at > a.finished_at"
    ):
        yield f"the record {key} of task {task} was written at {at}, after its lease had ended at {finished}"


def results_are_those_of_the_records(evidence: Evidence) -> Iterator[str]:
    """Check that a completed task has returned what is recorded of it."""
    records = _records(evidence)
    for task, result in evidence.query(
        f"SELECT task_id, result FROM attempt WHERE outcome = {COMPLETED}"
        " AND task_id IN (SELECT task_id FROM step_record)"
    ):
        said = json.loads(result)
        if "acted" not in said:  # a member of a family
            continue
        if said["acted"] != {key: value for (kind, key), (_, value) in records[task].items() if kind == STEP}:
            yield f"task {task} returned {said['acted']}, and its records are {records[task]}"
        waits = [records[task].get((SIGNAL, str(number)), (0, None)) for number in range(len(said["taken"]))]
        if said["taken"] != [value if status == DONE else None for status, value in waits]:
            yield f"task {task} returned the signals {said['taken']}, and its records are {waits}"


def sleeps_and_timeouts_are_not_over_early(evidence: Evidence) -> Iterator[str]:
    """Check that a sleep and a wait that timed out took as long as they should; where clocks agree."""
    if any(fault.kind in {"clock", "drift"} for fault in evidence.faults):
        return
    for task, kind, started, at in evidence.query(
        f"SELECT task_id, kind, started_at, at FROM step_record WHERE kind = {SLEEP} OR status = {TIMED_OUT}"
    ):
        payload = evidence.payloads[task]
        seconds = payload["nap"] if kind == SLEEP else payload["timeout"]
        if at - started < seconds * 1000 - 1:
            yield f"a wait of task {task} was over after {at - started} ms of {seconds} s"


def accepted_signals_are_kept_and_taken_once(evidence: Evidence) -> Iterator[str]:
    """Check that an accepted signal is there, and that what waits have taken is what is marked as taken."""
    kept = {(task, id_) for task, id_ in evidence.query("SELECT task_id, id FROM signal")}
    for line in evidence.acknowledged("signal"):
        step = evidence.steps[line.detail["label"]]
        if line.task is not None and (line.task, step.body["id"]) not in kept:
            yield f"the signal {step.body['id']} to task {line.task} was accepted, and is missing"
    marked: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for task, payload in evidence.query("SELECT taken_by, payload FROM signal WHERE taken_at IS NOT NULL"):
        marked[task][json.loads(payload)] += 1
    for task, records in _records(evidence).items():
        taken = Counter(value for (kind, _), (status, value) in records.items() if kind == SIGNAL and status == DONE)
        if taken != marked[task]:
            yield f"task {task} has taken {dict(taken)}, and {dict(marked[task])} are marked as taken"
        if any(count > 1 for count in taken.values()):
            yield f"task {task} has taken a signal twice: {dict(taken)}"


def a_signal_goes_before_a_timeout(evidence: Evidence) -> Iterator[str]:
    """Check that no wait timed out while a signal for it was there that nobody has taken; where clocks agree."""
    if any(fault.kind in {"clock", "drift"} for fault in evidence.faults):
        return
    for task, key, at, sent in evidence.query(
        "SELECT r.task_id, r.key, r.at, s.at FROM step_record AS r JOIN signal AS s ON s.task_id = r.task_id"
        f" WHERE r.status = {TIMED_OUT} AND s.at < r.at AND (s.taken_at IS NULL OR s.taken_at > r.at)"
    ):
        yield f"wait {key} of task {task} timed out at {at}, and a signal was there since {sent}"


def signals_wake_who_waits(evidence: Evidence) -> Iterator[str]:
    """Check that a task was woken by a signal that came while it was parked to wait for it; where clocks agree."""
    if any(fault.kind in {"clock", "drift"} for fault in evidence.faults):
        return
    woken = {
        (task, epoch)
        for (events,) in evidence.query("SELECT events FROM outbox")
        for task, act, _, epoch in json.loads(events)
        if act == "wake"
    }
    for task, since, taken, sent in evidence.query(
        "SELECT r.task_id, r.started_at, r.at, s.at FROM step_record AS r JOIN signal AS s ON s.task_id = r.task_id"
        f" WHERE r.kind = {SIGNAL} AND r.status = {DONE} AND s.taken_at = r.at AND s.payload = r.value"
    ):
        rows, until = evidence.rows[task], since + evidence.payloads[task]["timeout"] * 1000
        for row, following in pairwise(rows):
            parked = row.outcome == PARKED and row.finished < seconds_of(sent) < (following.started or 0.0)
            epochs = range(row.epoch, following.epoch)
            if parked and since <= sent < min(until, taken) and not any((task, epoch) in woken for epoch in epochs):
                yield f"a signal came at {seconds_of(sent)} to task {task} that waited for it, and did not wake it"


def waiting_uses_no_attempt(evidence: Evidence) -> Iterator[str]:
    """Check that the attempts of a durable task are counted by those that were cut off, and not by its waits."""
    if evidence.was_asked("retry", "bulk"):
        return
    for task, rows in evidence.rows.items():
        if "signals" not in evidence.payloads[task]:
            continue
        counted = sum(row.outcome not in {COMPLETED, PARKED, RELEASED, SNOOZED} for row in rows[:-1])
        if rows and rows[-1].attempt > 1 + counted:
            yield f"task {task} is at attempt {rows[-1].attempt} after {counted} that count"


def _records(evidence: Evidence) -> dict[str, dict[tuple[int, str], tuple[int, Any]]]:
    found: defaultdict[str, dict[tuple[int, str], tuple[int, Any]]] = defaultdict(dict)
    for task, kind, key, status, value in evidence.query("SELECT task_id, kind, key, status, value FROM step_record"):
        found[task][kind, key] = status, json.loads(value)
    return found


DURABLE_CHECKS: Final[tuple[Callable[[Evidence], Iterator[str]], ...]] = (
    effects_are_repeated_only_after_attempts_that_were_cut_off,
    records_are_of_effects_under_their_own_lease,
    records_are_written_before_their_attempt_ends,
    results_are_those_of_the_records,
    sleeps_and_timeouts_are_not_over_early,
    accepted_signals_are_kept_and_taken_once,
    a_signal_goes_before_a_timeout,
    signals_wake_who_waits,
    waiting_uses_no_attempt,
)
