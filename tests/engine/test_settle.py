from msgspec import Raw

from drumline.core.clock import ManualClock
from drumline.core.errors import Fenced
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.limits import Limits
from drumline.core.outcome import ErrorInfo, Failed, Outcome, Released, Snoozed, Stopped, Succeeded
from drumline.core.retry import Backoff
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import State
from drumline.core.task import ClaimedTask, TaskView
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.ports.gateway import Report
from tests.factories import request

OOPS = Failed(ErrorInfo("ValueError", "oops"))


class Bench:
    """A worker that takes one task at a time and says how it ended."""

    def __init__(self, engine: Engine, gateway: LocalGateway, clock: ManualClock) -> None:
        self.engine, self.gateway, self.clock = engine, gateway, clock

    async def submit(self, **fields: object) -> TaskId:
        return (await self.engine.submissions.submit(request(**fields))).id  # type: ignore[arg-type]

    async def take(self) -> ClaimedTask | None:
        spec = SessionSpec(host="h", pid=1, version="0", queues=(), types=(TaskType(name="work"),), capacity=1)
        claimed = await self.gateway.claim(await self.gateway.open_session(spec), limit=1, wait=0)
        return claimed[0] if claimed else None

    async def run(self, outcome: Outcome) -> State | Fenced:
        claimed = await self.take()
        assert claimed is not None, "nothing is due"
        (answer,) = await self.gateway.settle([Report(claimed.lease, outcome)])
        return answer

    async def view(self, task: TaskId) -> TaskView:
        return await self.engine.queries.get(task)


async def test_a_retryable_failure_waits_2_4_8_seconds_then_fails(
    engine: Engine, gateway: LocalGateway, clock: ManualClock
) -> None:
    bench = Bench(engine, gateway, clock)
    task = await bench.submit()

    for wait in (2, 4, 8):
        assert await bench.run(OOPS) is State.QUEUED
        clock.advance(wait - 0.001)
        assert await bench.take() is None
        clock.advance(0.001)
    assert await bench.run(OOPS) is State.FAILED

    assert (await bench.view(task)).attempt == 4


async def test_a_task_s_own_backoff_is_used(engine: Engine, gateway: LocalGateway, clock: ManualClock) -> None:
    bench = Bench(engine, gateway, clock)
    task = await bench.submit(backoff=Backoff(base=5))

    waits = []
    for _ in range(3):
        await bench.run(OOPS)
        due = (await bench.view(task)).due_at
        assert due is not None
        waits.append((due - clock.now()) / 1000)
        clock.advance(waits[-1])

    assert waits == [5, 10, 20]


async def test_a_permanent_failure_is_not_retried(engine: Engine, gateway: LocalGateway, clock: ManualClock) -> None:
    bench = Bench(engine, gateway, clock)
    await bench.submit(retries=10)

    assert await bench.run(Failed(OOPS.error, permanent=True)) is State.FAILED


async def test_no_retries_means_one_attempt(engine: Engine, gateway: LocalGateway, clock: ManualClock) -> None:
    bench = Bench(engine, gateway, clock)
    await bench.submit(retries=0)

    assert await bench.run(OOPS) is State.FAILED


async def test_a_failure_may_say_when_to_try_again(engine: Engine, gateway: LocalGateway, clock: ManualClock) -> None:
    bench = Bench(engine, gateway, clock)
    task = await bench.submit()

    await bench.run(Failed(OOPS.error, retry_after=99))

    assert (await bench.view(task)).due_at == clock.now() + 99_000


async def test_a_snooze_uses_up_no_retry(engine: Engine, gateway: LocalGateway, clock: ManualClock) -> None:
    bench = Bench(engine, gateway, clock)
    await bench.submit(retries=0)

    for _ in range(5):
        assert await bench.run(Snoozed(10)) is State.QUEUED
        clock.advance(10)

    assert await bench.run(Succeeded()) is State.COMPLETED


async def test_a_release_uses_up_no_retry(engine: Engine, gateway: LocalGateway, clock: ManualClock) -> None:
    bench = Bench(engine, gateway, clock)
    await bench.submit(retries=0)

    assert await bench.run(Released()) is State.QUEUED
    assert await bench.run(Succeeded()) is State.COMPLETED


async def test_a_stop_is_a_cancellation(engine: Engine, gateway: LocalGateway, clock: ManualClock) -> None:
    bench = Bench(engine, gateway, clock)
    await bench.submit()

    assert await bench.run(Stopped()) is State.CANCELLED


async def test_a_result_that_is_too_large_fails_for_good(
    engine: Engine, gateway: LocalGateway, clock: ManualClock
) -> None:
    bench = Bench(engine, gateway, clock)
    task = await bench.submit()

    state = await bench.run(Succeeded(Raw(b'"' + b"x" * Limits().result + b'"')))

    assert state is State.FAILED
    error = (await bench.view(task)).error
    assert error is not None
    assert error.kind == "ResultTooLarge"


async def test_a_lease_that_never_was_is_fenced(gateway: LocalGateway) -> None:
    lease = Lease(TaskId("01890a5d-ac96-774b-bcce-b302099a8057"), 1, 1)

    (succeeded, failed) = await gateway.settle([Report(lease, Succeeded()), Report(lease, OOPS)])

    assert isinstance(succeeded, Fenced)
    assert isinstance(failed, Fenced)


async def test_an_endless_error_is_cut(engine: Engine, gateway: LocalGateway, clock: ManualClock) -> None:
    bench = Bench(engine, gateway, clock)
    task = await bench.submit(retries=0)

    await bench.run(Failed(ErrorInfo("E", "m" * 10**6, "start" + "t" * 10**6 + "cause")))

    error = (await bench.view(task)).error
    assert error is not None
    assert len(error.message) == Limits().error
    assert Limits().error - 100 < len(error.traceback) <= Limits().error
    assert error.traceback.startswith("start")
    assert error.traceback.endswith("cause")
