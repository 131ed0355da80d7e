"""Finding out why a job has not ended: which of its tasks the others wait for, and why those are not done."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from drumline.core.ids import JobId
from drumline.core.job import ENDED, JobView, NodeView
from drumline.core.state import State
from drumline.core.wait_reasons import Cause, WaitReason
from drumline.engine.jobs import JobService
from drumline.engine.wait_reasons import WaitReasons

MOST_EXPLAINED: Final = 20
"""Tasks of a job that are explained: half of them run, half of them wait, if there are so many of both."""
_LIVE: Final = frozenset({State.BLOCKED, State.QUEUED, State.RUNNING})


class HoldingTask(Struct, frozen=True, kw_only=True):
    """A task of a job that has not ended, and waits for no other task of it: the job waits for it."""

    node: NodeView
    blocks: int
    """How many tasks of the job cannot start before it ends, however far below."""
    reasons: tuple[WaitReason, ...]


class JobWaits(Struct, frozen=True, kw_only=True):
    """Why a job has not ended."""

    job: JobView
    reasons: tuple[WaitReason, ...] = ()
    """About the job itself: it has ended, it is being cancelled, it waits for other jobs."""
    tasks: tuple[HoldingTask, ...] = ()
    """Those that the most other tasks wait for come first."""
    running: int = 0
    queued: int = 0
    blocked: int = 0

    @property
    def is_more(self) -> bool:
        """Return whether there are more tasks that the job waits for than `tasks` has."""
        return self.running + self.queued > len(self.tasks)


class JobWaitReasons:
    """Answers the question."""

    def __init__(self, jobs: JobService, wait_reasons: WaitReasons) -> None:
        self._jobs = jobs
        self._wait_reasons = wait_reasons

    async def why(self, job: JobId, *, tenant: str | None = None) -> JobWaits:
        """Return why a job has not ended, or raise `NotFound`."""
        view = await self._jobs.get(job, tenant=tenant)
        if view.status in ENDED:
            text = f"it has ended: {view.status.lower()}"
            return JobWaits(job=view, reasons=(WaitReason(cause=Cause.ENDED, text=text),))
        nodes = await self._jobs.nodes(job, tenant=tenant)
        running = [node for node in nodes if node.state is State.RUNNING]
        queued = [node for node in nodes if node.state is State.QUEUED]
        shown = _chosen(running, queued)
        blocks = _blocked_by([node.key for node in shown], nodes)
        reasons = await self._wait_reasons.why_many([node.task for node in shown], tenant=tenant)
        tasks = [
            HoldingTask(node=node, blocks=blocks[node.key], reasons=reasons[node.task])
            for node in shown
            if node.task in reasons
        ]
        return JobWaits(
            job=view,
            reasons=tuple(_of_job(view)),
            tasks=tuple(sorted(tasks, key=lambda task: -task.blocks)),
            running=len(running),
            queued=len(queued),
            blocked=sum(node.state is State.BLOCKED for node in nodes),
        )


def _of_job(view: JobView) -> list[WaitReason]:
    reasons = []
    if view.cancel_requested:
        text = "it is being cancelled: its running tasks have been asked to stop"
        reasons.append(WaitReason(cause=Cause.STOPPING, text=text))
    if view.waits_for:
        text = f"it waits for {view.waits_for} other job{'s' if view.waits_for > 1 else ''}"
        reasons.append(WaitReason(cause=Cause.DEPENDENCY, text=text, count=view.waits_for, names=view.depends_on))
    return reasons


def _chosen(running: Sequence[NodeView], queued: Sequence[NodeView]) -> list[NodeView]:
    """Return the tasks to explain: those that have run longest, and waiting ones of as many names as possible."""
    half = MOST_EXPLAINED // 2
    oldest = sorted(running, key=lambda node: node.started_at or 0)[: max(half, MOST_EXPLAINED - len(queued))]
    seen: dict[str, int] = {}
    turns = []
    for node in queued:
        seen[node.name] = seen.get(node.name, 0) + 1
        turns.append((seen[node.name], node))
    waiting = [node for _, node in sorted(turns, key=lambda turn: turn[0])]
    return [*oldest, *waiting[: MOST_EXPLAINED - len(oldest)]]


def _blocked_by(keys: Sequence[str], nodes: Sequence[NodeView]) -> dict[str, int]:
    """Return how many tasks that have not ended are below each of some tasks."""
    below: dict[str, list[str]] = {}
    for node in nodes:
        if node.state in _LIVE:
            for need in node.needs:
                below.setdefault(need, []).append(node.key)
    return {key: _reached(key, below) for key in keys}


def _reached(key: str, below: dict[str, list[str]]) -> int:
    found = {key}
    rest = [key]
    while rest:
        for other in below.get(rest.pop(), ()):
            if other not in found:
                found.add(other)
                rest.append(other)
    return len(found) - 1
