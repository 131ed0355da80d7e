"""A job that was submitted: look at it, wait for it, take its results, cancel it, run what failed again.

Every act comes twice: blocking (`result`) and async (`aresult`, also `await handle`).
"""

from collections.abc import Generator
from typing import Any, Generic, TypeVar, cast, overload

from drumline.core.clock import Clock
from drumline.core.duration import Duration
from drumline.core.ids import JobId, TaskId
from drumline.core.job import JobStatus
from drumline.core.mermaid import mermaid
from drumline.sdk.client import Client, Steps, only, warn_if_blocking
from drumline.sdk.handle import TaskHandle
from drumline.sdk.job_steps import HasResultPlan, JobSteps, ResultPlan
from drumline.sdk.jobs import AttemptInfo, CancelJob, GetAttempts, GetJob, GetNodes, JobInfo, NodeInfo, ResumeJob

R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")


class JobHandle(Generic[R]):
    """A submitted job; `R` is its result."""

    __slots__ = ("_client", "_result_plan", "_steps", "id")

    def __init__(
        self,
        id: JobId,
        client: Client,
        result_plan: ResultPlan[R] | None = None,
        *,
        owner: object = None,
        tasks: dict[str, TaskId] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.id = id
        self._client = client
        self._result_plan = result_plan
        self._steps = JobSteps(id, owner=owner, tasks=tasks, clock=clock or client.clock, long_poll=client.long_poll)

    @property
    def url(self) -> str:
        """Where the job can be looked at."""
        return self._client.transport.url_of_job(self.id)

    def narrowed(self, node: HasResultPlan[S]) -> "JobHandle[S]":
        """Return a handle of the same job, whose result is that of one node."""
        steps = self._steps
        result_plan = node.result_plan(steps.owner)
        return JobHandle(self.id, self._client, result_plan, owner=steps.owner, tasks=steps.tasks, clock=steps.clock)

    # -- look

    def info(self) -> JobInfo:
        """Return the current state of the job."""
        return self._run(only(GetJob(self.id)), "ainfo")

    async def ainfo(self) -> JobInfo:
        """Return the current state of the job."""
        return await self._client.arun(only(GetJob(self.id)))

    def status(self) -> JobStatus:
        """Return the job's status."""
        return self._run(only(GetJob(self.id)), "astatus").status

    async def astatus(self) -> JobStatus:
        """Return the job's status."""
        return (await self._client.arun(only(GetJob(self.id)))).status

    def nodes(self) -> tuple[NodeInfo, ...]:
        """Return the current state of the job's tasks, in the order in which they were added."""
        return self._run(only(GetNodes(self.id)), "anodes")

    async def anodes(self) -> tuple[NodeInfo, ...]:
        """Return the current state of the job's tasks, in the order in which they were added."""
        return await self._client.arun(only(GetNodes(self.id)))

    def attempts(self, limit: int = 100) -> tuple[AttemptInfo, ...]:
        """Return the latest executions of the job's tasks: those that run, then the one that ended last.

        At most `limit` of them, up to 1,000.
        """
        return self._run(only(GetAttempts(self.id, limit)), "aattempts")

    async def aattempts(self, limit: int = 100) -> tuple[AttemptInfo, ...]:
        """Return the latest executions of the job's tasks, as `attempts` does."""
        return await self._client.arun(only(GetAttempts(self.id, limit)))

    def mermaid(self, *, folded: bool = True) -> str:
        """Return the graph as a Mermaid flowchart, with the status of each task."""
        return mermaid([node.vertex() for node in self._run(only(GetNodes(self.id)), "amermaid")], folded=folded)

    async def amermaid(self, *, folded: bool = True) -> str:
        """Return the graph as a Mermaid flowchart, with the status of each task."""
        return mermaid([node.vertex() for node in await self.anodes()], folded=folded)

    @overload
    def task(self, node: HasResultPlan[S]) -> TaskHandle[S]: ...
    @overload
    def task(self, node: str) -> TaskHandle[Any]: ...
    def task(self, node: HasResultPlan[Any] | str) -> TaskHandle[Any]:
        """Return the handle of one task of the job, by its node or its key."""
        return self._run(self._task(node), "atask")

    @overload
    async def atask(self, node: HasResultPlan[S]) -> TaskHandle[S]: ...
    @overload
    async def atask(self, node: str) -> TaskHandle[Any]: ...
    async def atask(self, node: HasResultPlan[Any] | str) -> TaskHandle[Any]:
        """Return the handle of one task of the job, by its node or its key."""
        return await self._client.arun(self._task(node))

    # -- wait

    def wait(self, timeout: Duration | None = None) -> JobInfo:
        """Wait for the job to end, however it ends, and return its final state; raises `WaitTimeout`."""
        return self._run(self._steps.ended(timeout), "await_end")

    async def await_end(self, timeout: Duration | None = None) -> JobInfo:  # noqa: ASYNC109 - its end is told apart
        """Wait for the job to end, as `wait` does."""
        return await self._client.arun(self._steps.ended(timeout))

    def result(self, timeout: Duration | None = None) -> R:
        """Wait for the job to end and return its result: of a chain the last task's, of a dag that of each last task.

        A task is last if no other needs it, but for those that clean up or raise an alarm (`run_if`), which do not
        count; the results stand under their keys. Raises `JobFailed` or `JobCancelled`
        when there is none, and `WaitTimeout` when the job has not ended by then.
        """
        return self._run(self._result(timeout), "aresult")

    async def aresult(self, timeout: Duration | None = None) -> R:  # noqa: ASYNC109 - its end is told apart, with reasons
        """Wait for the job to end and return its result, as `result` does."""
        return await self._client.arun(self._result(timeout))

    def __await__(self) -> Generator[Any, None, R]:
        return self.aresult().__await__()

    def result_of(self, node: HasResultPlan[S], timeout: Duration | None = None) -> S:
        """Wait for one node's tasks to end, whatever the others do, and return its result.

        Raises `TaskFailed` or `TaskCancelled` when there is none, and `WaitTimeout` if it has not ended by then.
        """
        return self._run(self._steps.result_of(node, timeout), "aresult_of")

    async def aresult_of(self, node: HasResultPlan[S], timeout: Duration | None = None) -> S:  # noqa: ASYNC109 - likewise
        """Wait for one node's tasks to end and return its result, as `result_of` does."""
        return await self._client.arun(self._steps.result_of(node, timeout))

    # -- steer

    def cancel(self, *, force: bool = False, reason: str | None = None) -> None:
        """Cancel what waits and ask what runs to stop; `force` ends that now, whatever its workers do."""
        self._run(only(CancelJob(self.id, force, reason)), "acancel")

    async def acancel(self, *, force: bool = False, reason: str | None = None) -> None:
        """Cancel the job, as `cancel` does."""
        await self._client.arun(only(CancelJob(self.id, force, reason)))

    def resume(self) -> None:
        """Run what failed, was cancelled or was skipped again; what completed keeps its results."""
        self._run(only(ResumeJob(self.id)), "aresume")

    async def aresume(self) -> None:
        """Run what failed, was cancelled or was skipped again, as `resume` does."""
        await self._client.arun(only(ResumeJob(self.id)))

    def __repr__(self) -> str:
        return f"<JobHandle {self.id}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobHandle) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    # -- steps

    def _run(self, steps: Steps[T], twin: str) -> T:
        warn_if_blocking(twin, level=4)
        return self._client.run(steps)

    def _result(self, timeout: Duration | None) -> Steps[R]:
        # The result plan says what is built; without one R is unknown.
        return cast("Steps[R]", self._steps.result(self._result_plan, timeout))

    def _task(self, node: HasResultPlan[Any] | str) -> Steps[TaskHandle[Any]]:
        task, decode = yield from self._steps.task(node)
        return TaskHandle(task, self._client, decode, clock=self._steps.clock)
