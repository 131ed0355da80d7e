"""What is done with a job, in steps: waiting for it, finding its results, telling why there are none."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from msgspec import Raw, Struct

from drumline.core.clock import Clock
from drumline.core.duration import Duration, format_duration, parse_duration
from drumline.core.errors import Invalid
from drumline.core.graph import last_keys
from drumline.core.ids import JobId, TaskId
from drumline.core.job import ENDED, JobStatus, RunIf
from drumline.core.json_errors import suggestion
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Status, is_ended
from drumline.sdk.client import LONG_POLL, Steps, ended
from drumline.sdk.errors import JobCancelled, JobFailed, TaskCancelled, TaskFailed, WaitTimeout
from drumline.sdk.handle import decode_any
from drumline.sdk.jobs import GetJob, GetNodes, GetResults, JobInfo, NodeInfo, TaskInfoPage
from drumline.sdk.transport import Get, Pause, TaskInfo

R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")

FEW: Final = 8
"""Tasks that are asked for one by one; more are looked at together."""
LOOK_SECONDS: Final = 1.0
"""Between two looks at many tasks."""
NO_REASON: Final = "the worker gave no reason"


class ResultPlan(Struct, Generic[R_co], frozen=True):
    """Which tasks of a job make up a result, by key, and how it is built from theirs; None is no result."""

    keys: tuple[str, ...]
    build: Callable[[Sequence[Raw | None]], R_co]


class HasResultPlan(Protocol[R_co]):
    """A node of a dag: it knows where a job that was made from the dag keeps its result."""

    def result_plan(self, owner: object, /) -> ResultPlan[R_co]:
        """Return where a job made by `owner` keeps the result."""
        ...


class JobSteps:
    """The steps of one job. `tasks` are the ids of its tasks by key, if they are known."""

    def __init__(
        self,
        job: JobId,
        *,
        owner: object,
        tasks: dict[str, TaskId] | None,
        clock: Clock,
        long_poll: float = LONG_POLL,
    ) -> None:
        self.job = job
        self.owner = owner
        self.tasks = tasks
        self.clock = clock
        self._long_poll = long_poll

    def ended(self, timeout: Duration | None) -> Steps[JobInfo]:
        """Return the job once it has ended, or raise `WaitTimeout`."""
        within = None if timeout is None else parse_duration(timeout, field="timeout")
        seconds = float("inf") if within is None else within.total_seconds()
        info = yield from ended(
            lambda wait: GetJob(self.job, wait),
            lambda info: info.status in ENDED,
            seconds=seconds,
            clock=self.clock,
            long_poll=self._long_poll,
        )
        if info is None:
            info = yield GetJob(self.job)
        if info.status not in ENDED:
            after = "" if within is None else f" after {format_duration(within)}"
            left = f"{info.counts.total - info.counts.ended:,} of {info.counts.total:,} tasks have not ended"
            message = f"job {self.job} is still {info.status.value}{after}: {left}"
            raise WaitTimeout(message, None, info.status, job=self.job)
        return info

    def result(self, result_plan: ResultPlan[Any] | None, timeout: Duration | None) -> Steps[Any]:
        """Return the result of the whole job once it has ended, or raise why there is none."""
        info = yield from self.ended(timeout)
        if info.status is JobStatus.FAILED:
            raise (yield from self._failure(info))
        if info.status is JobStatus.CANCELLED:
            raise JobCancelled(self.job, info.reason or "")
        if result_plan is None:
            result_plan = whole_of({node.key: (node.needs, node.run_if) for node in (yield GetNodes(self.job))})
        return (yield from self._taken(result_plan))

    def result_of(self, node: HasResultPlan[S], timeout: Duration | None) -> Steps[S]:
        """Return the result of one node once its tasks have ended, or raise why there is none."""
        result_plan = node.result_plan(self.owner)
        seconds = float("inf") if timeout is None else parse_duration(timeout, field="timeout").total_seconds()
        deadline = self.clock.monotonic() + seconds
        if len(result_plan.keys) <= FEW:
            yield from self._each_ended(result_plan.keys, deadline)
        else:
            yield from self._all_ended(frozenset(result_plan.keys), deadline)
        return (yield from self._taken(result_plan))

    def task(self, node: HasResultPlan[Any] | str) -> Steps[tuple[TaskId, Callable[[Raw], Any]]]:
        """Return the id of one task, and what reads its result."""
        ids = yield from self._ids()
        if isinstance(node, str):
            if node not in ids:
                raise Invalid(f"this job has no task {node!r}{suggestion(node, ids)}", field="key")
            return ids[node], decode_any
        result_plan = node.result_plan(self.owner)
        if len(result_plan.keys) != 1:
            raise TypeError(f"{node!r} is {len(result_plan.keys):,} tasks: ask for one of them by its key")
        return ids[result_plan.keys[0]], lambda raw: result_plan.build([raw])

    def _ids(self) -> Steps[dict[str, TaskId]]:
        if self.tasks is None:
            self.tasks = {node.key: node.task_id for node in (yield GetNodes(self.job))}
        return self.tasks

    def _each_ended(self, keys: Sequence[str], deadline: float) -> Steps[None]:
        """Wait for a few tasks, one after the other."""
        ids = yield from self._ids()
        for key in keys:
            info = yield from ended(
                lambda wait, task=ids[key]: Get(task, wait),  # type: ignore[misc]
                lambda info: is_ended(info.status),
                seconds=max(deadline - self.clock.monotonic(), 0.0),
                clock=self.clock,
                long_poll=self._long_poll,
            )
            if info is None or not is_ended(info.status):
                raise self._too_late([key])
            if info.status is not Status.COMPLETED:
                raise (yield from self._no_result(key))

    def _all_ended(self, keys: frozenset[str], deadline: float) -> Steps[None]:
        """Wait for many tasks, looking at all of them from time to time."""
        while True:
            nodes: tuple[NodeInfo, ...] = yield GetNodes(self.job)
            unfit = [node for node in nodes if node.key in keys and node.status is not Status.COMPLETED]
            if not unfit:
                return
            for node in unfit:
                if is_ended(node.status):
                    raise (yield from self._no_result(node.key))
            left = deadline - self.clock.monotonic()
            if left <= 0:
                raise self._too_late([node.key for node in unfit])
            yield Pause(min(LOOK_SECONDS, left))

    def _too_late(self, keys: Sequence[str]) -> WaitTimeout:
        more = f" and {len(keys) - 1:,} more" if len(keys) > 1 else ""
        message = f"{keys[0]!r}{more} of job {self.job} have not ended" if more else f"{keys[0]!r} has not ended"
        return WaitTimeout(message, None, JobStatus.PROCESSING, job=self.job)

    def _no_result(self, key: str) -> Steps[TaskFailed | TaskCancelled]:
        """Return the error that tells why an ended task has no result."""
        nodes: tuple[NodeInfo, ...] = yield GetNodes(self.job)
        node = next(node for node in nodes if node.key == key)
        if node.status is not Status.FAILED:
            return TaskCancelled(node.task_id, node.status, node.reason or "")
        return TaskFailed(node.task_id, (yield from self._error_of(node)))

    def _failure(self, info: JobInfo) -> Steps[JobFailed]:
        """Return the error that tells of a failed job, with the first failure as its worker saw it."""
        nodes: tuple[NodeInfo, ...] = yield GetNodes(self.job)
        failed = [node for node in nodes if node.status is Status.FAILED]
        failed.sort(key=lambda node: str(node.finished_at))
        if not failed:
            return JobFailed(self.job, info.reason or "the server gave no reason")
        error = yield from self._error_of(failed[0])
        more = f"; {len(failed) - 1:,} more failed" if len(failed) > 1 else ""
        reason = f"task {failed[0].key!r} failed: {error.kind}: {error.message}{more}"
        return JobFailed(self.job, reason, failed=tuple(node.key for node in failed), error=error)

    def _error_of(self, node: NodeInfo) -> Steps[ErrorInfo]:
        info: TaskInfo = yield Get(node.task_id)
        return info.error or ErrorInfo("Unknown", node.reason or NO_REASON)

    def _taken(self, result_plan: ResultPlan[S]) -> Steps[S]:
        """Return what is on a result_plan, of tasks that have ended."""
        ids = yield from self._ids()
        wanted = {ids[key]: key for key in result_plan.keys}
        found: dict[str, Raw] = {}
        if len(wanted) <= FEW:
            for task, key in wanted.items():
                info: TaskInfo = yield Get(task)
                if info.status is Status.COMPLETED:
                    found[key] = info.result
            return result_plan.build([found.get(key) for key in result_plan.keys])
        page: TaskInfoPage = yield GetResults(self.job)
        while True:
            found |= {
                wanted[info.id]: info.result
                for info in page.items
                if info.id in wanted and info.status is Status.COMPLETED
            }
            if page.next_cursor is None:
                return result_plan.build([found.get(key) for key in result_plan.keys])
            page = yield GetResults(self.job, page.next_cursor)


def whole_of(
    tasks: Mapping[str, tuple[Sequence[str], RunIf]], decoders: Mapping[str, Callable[[Raw], Any]] | None = None
) -> ResultPlan[dict[str, Any]]:
    """Return the plan for the result of a whole job: those of its last tasks by key.

    `tasks` has what each needs, and when it runs.
    """
    aside = {key for key, (_, run_if) in tasks.items() if run_if is not RunIf.ALL_SUCCEEDED}
    keys = last_keys({key: needs for key, (needs, _) in tasks.items()}, aside)
    known = decoders or {}

    def build(raws: Sequence[Raw | None]) -> dict[str, Any]:
        pairs = zip(keys, raws, strict=True)
        return {key: known.get(key, decode_any)(raw) for key, raw in pairs if raw is not None}

    return ResultPlan(keys, build)
