"""Says which fault ended an execution or its lease.

A fault explains only what it can have caused: it is one of the very process that ran the task, or of what this process
speaks through, and it was there in the life of that lease, from just before the store gave it to the moment when the
store gave it up. How long an answer or a report may be on its way is not a constant: it is what those of the same run
took at that time which no fault has met.
"""

from collections.abc import Iterator
from math import inf

from tests.chaos.case import Case, Lease
from tests.evidence.trace import Execution, Fault

ROUNDING = 0.05
"""Seconds by which the clocks of two accounts may differ."""
SHARED = {"near": ("postgres", "postgres-wire"), "far": ("postgres", "postgres-wire", "api-wire", "api-1")}
"""Through what a worker speaks with the store: faults of it may lose claims, reports and heartbeats of the worker."""
ENDING = frozenset({"kill", "stop", "replace"})
"""Faults that end a process or its session; a stepped clock ends neither."""
LOSING = ENDING | {
    "cut", "half_open", "lose_reply", "restart_postgres", "crash_postgres", "power_loss", "disk_full",
}  # fmt: skip
"""Faults that lose requests or answers; a delay loses none."""
EXPIRY = 8.0
"""Seconds that a process must be stopped for its session to expire: heartbeats are 5 s apart, and the TTL is 15 s."""
TTL = 15.0
"""Seconds of silence after which a session is taken for dead: its leases may be younger than that."""
AROUND = 30.0
"""Seconds before and after a moment from which the lags are taken that hold for it."""
LEAST = 1.0
"""Seconds that a message may be on its way also where all that were seen were faster."""


class Lags:
    """How long claims took to begin, and reports to arrive, where no fault could lose one."""

    def __init__(self, case: Case) -> None:
        self._seen = sorted(_lags(case))

    def at(self, moment: float) -> float:
        """Return how long a message of this moment may be on its way: twice as long as the slowest around it.

        Where none was seen around it, the slowest of the whole run counts.
        """
        near = [lag for at, lag in self._seen if abs(at - moment) <= AROUND]
        return 2 * max(near or (lag for _, lag in self._seen), default=0.0) + LEAST


def _lags(case: Case) -> Iterator[tuple[float, float]]:
    """Yield when a message was sent that nothing disturbed, and how long it took."""
    for task, ending in case.endings.items():
        if not ending.leased:
            continue
        for run in case.begins(task):
            lease, end = case.lease_of(run), case.end_of(run)
            if lease is None or lease.outcome != "completed" or end == inf:
                continue
            if not losses(case, run, lease.since, lease.until):
                yield lease.since, run.at - lease.since
                yield end, lease.until - end


def losses(case: Case, run: Execution, since: float, until: float) -> list[Fault]:
    """Return the faults between two times that may have lost what a worker was told, or said; its own come first."""
    during = [fault for fault in case.faults if fault.at <= until and _end(fault) >= since]
    own = [
        fault
        for fault in during
        if fault.target in {run.worker, "all"} and fault.kind in ENDING and fault.detail.get("pid", run.pid) == run.pid
    ]
    shared = SHARED[run.worker.partition("-")[0]]
    return [*own, *(fault for fault in during if fault.target in shared and fault.kind in LOSING)]


def _end(fault: Fault) -> float:
    return inf if fault.until is None else fault.until


def explain(case: Case, lags: Lags, run: Execution, lease: Lease | None) -> tuple[Fault, str] | tuple[None]:
    """Return the fault that ended an execution or its lease, and how.

    An execution that has noted its end is explained by what came until its report should have arrived. One under a
    lease of which the store knows nothing is not explained.
    """
    if lease is None:
        return (None,)
    since = lease.since
    if lease.outcome == "crashed":  # its session had been silent for that long
        since = min(since, lease.until - TTL)
    since -= lags.at(since)
    ended = case.end_of(run)
    until = min(lease.until + ROUNDING, inf if ended == inf else ended + lags.at(ended))
    found = losses(case, run, since, max(since, until))
    names = {run.worker, "all"}
    if expired := next((fault for fault in found if fault.target in names and _ends_session(fault)), None):
        return expired, "its process ended, or was stopped for so long that its session expired"
    return (found[0], "it may have lost the claim, the report or heartbeats") if found else (None,)


def is_stale(case: Case, lags: Lags, run: Execution, at: float) -> bool:
    """Tell whether a worker held a lease that was lost: it was stopped before a moment, until just before it began.

    The lease was given before it went on, and the store has recorded that it came to nothing.
    """
    lease = case.lease_of(run)
    return (
        lease is not None
        and lease.outcome in {"crashed", "released", "cancelled"}
        and any(
            fault.kind == "stop"
            and (fault.target, fault.detail.get("pid")) == (run.worker, run.pid)
            and fault.until is not None
            and fault.at < at < fault.until <= run.at <= fault.until + lags.at(fault.until)
            and lease.since <= fault.until
            for fault in case.faults
        )
    )


def _ends_session(fault: Fault) -> bool:
    return fault.kind != "stop" or (fault.until is not None and fault.until - fault.at >= EXPIRY)
