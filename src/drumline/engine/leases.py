"""What was claimed through this process and is not settled yet, as far as settling it needs to know more."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from drumline.core.ids import JobId, TaskId
from drumline.core.task import ClaimedTask
from drumline.ports.store import Settlement

MOST_HELD: Final = 100_000
"""Tasks that are remembered. Those of workers that settle through another process are never asked for."""


class LocalLeases:
    """The jobs of claimed tasks, and the queues of those that were claimed under flow limits."""

    def __init__(self) -> None:
        self._jobs: dict[TaskId, JobId] = {}
        self._queues: dict[TaskId, str] = {}

    def add_jobs(self, tasks: Iterable[ClaimedTask]) -> None:
        """Remember the jobs of tasks, so that the store need not look for them when the tasks are settled."""
        if len(self._jobs) > MOST_HELD:  # the store finds the jobs by itself
            self._jobs.clear()
        self._jobs |= {task.lease.task: task.options.job for task in tasks if task.options.job is not None}

    def add_limited(self, tasks: Iterable[ClaimedTask]) -> None:
        """Remember tasks that have a slot in a flow limit."""
        if len(self._queues) > MOST_HELD:  # claimers that wait here for a slot look each second
            self._queues.clear()
        self._queues |= {task.lease.task: task.queue for task in tasks}

    def with_jobs(self, settlements: Sequence[Settlement]) -> Sequence[Settlement]:
        """Return settlements with the jobs of their tasks, where they are known; they are forgotten here."""
        if not self._jobs:
            return settlements
        jobs = [self._jobs.pop(settlement.lease.task, None) for settlement in settlements]
        return [
            settlement if job is None else replace(settlement, job=job)
            for settlement, job in zip(settlements, jobs, strict=True)
        ]

    def take_limited(self, settlements: Sequence[Settlement]) -> list[str]:
        """Return the queues of settled tasks that had a slot in a flow limit; they are forgotten here."""
        if not self._queues:
            return []
        queues = [self._queues.pop(settlement.lease.task, None) for settlement in settlements]
        return [queue for queue in queues if queue is not None]
