import asyncio
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from drumline import (
    Backoff,
    Context,
    Drumline,
    Execution,
    ExecutionEnd,
    Invalid,
    Status,
    TaskCancelled,
    TaskFailed,
    Unavailable,
    WaitTimeout,
    as_completed,
    inject,
)
from drumline.testing import Stalled, World, simulated

app = Drumline("kit")
seen: list[object] = []


class Down(Exception):
    """What a gateway raises that is away."""


@app.task
def add(a: int, b: int) -> int:
    return a + b


@app.task(retries=3, backoff=Backoff.exponential(2))
async def flaky(failures: int, *, ctx: Context[None] = inject()) -> int:
    seen.append(datetime.now(UTC) if failures < 0 else ctx.attempt)
    if ctx.attempt <= failures:
        raise Down(f"attempt {ctx.attempt}")
    return ctx.attempt


@app.task(timeout="10s", retries=0)
async def slow(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "done"


@app.task
def blocking(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"


@app.task
def parent(count: int) -> int:
    return sum(add.submit(number, 1).result() for number in range(count))


@app.task
async def async_parent(count: int) -> int:
    return sum([await (await add.asubmit(number, 1)) for number in range(count)])


@app.task(process=True)
def square(number: int) -> int:
    return number * number


@app.task(timeout="5s", retries=0)
def too_slow() -> None:
    time.sleep(60)


@app.task(retries=0)
async def connect(kind: str) -> None:
    if kind == "program":
        await asyncio.create_subprocess_exec("true")
    if kind == "name":
        await asyncio.get_running_loop().getaddrinfo("shop.example", 80)
    await asyncio.open_connection("127.0.0.1", 9)


@app.cron("30 9 * * *", tz="Europe/Berlin")
def report(*, ctx: Context[None] = inject()) -> None:
    seen.append(ctx.fire_time)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    seen.clear()
    yield
    seen.clear()


@pytest.fixture
def world() -> Iterator[World]:
    with simulated(app) as opened:
        yield opened


def test_a_task_runs_without_a_server_and_returns_its_result(world: World) -> None:
    assert add.submit(2, 3).result() == 5
    assert world.now == datetime(2026, 1, 1, tzinfo=UTC)


def test_retries_happen_at_their_times(world: World) -> None:
    began = world.now

    assert flaky.submit(3).result() == 4

    assert seen == [1, 2, 3, 4]
    assert world.now - began == timedelta(seconds=2 + 4 + 8)


def test_run_until_idle_leaves_what_is_due_later(world: World) -> None:
    now, later = add.submit(1, 1), add.options(delay="1h").submit(2, 2)

    world.run_until_idle()
    assert (now.status(), later.status()) == (Status.COMPLETED, Status.PENDING)

    world.travel("1h")
    assert later.status() is Status.COMPLETED


def test_traveling_ends_at_the_moment_that_was_asked_for(world: World) -> None:
    began = world.now
    add.options(delay="3d").submit(1, 1)
    world.travel("400d")

    assert world.now - began == timedelta(days=400)


def test_a_task_that_outlasts_its_timeout_fails(world: World) -> None:
    handle = slow.submit(60)

    with pytest.raises(TaskFailed, match="timeout"):
        handle.result()
    assert world.now == datetime(2026, 1, 1, 0, 0, 10, tzinfo=UTC)


def test_a_sync_function_that_sleeps_takes_virtual_time(world: World) -> None:
    assert blocking.submit(3_600).result() == "slept"
    assert world.now == datetime(2026, 1, 1, 1, tzinfo=UTC)


def test_a_sync_function_that_outlasts_its_timeout_fails(world: World) -> None:
    del world
    with pytest.raises(TaskFailed, match="timeout"):
        too_slow.submit().result()


def test_sync_and_async_tasks_submit_tasks_and_wait_for_them(world: World) -> None:
    assert parent.submit(3).result() == 6
    assert async_parent.submit(3).result() == 6
    assert len(world.submissions(add)) == 6


def test_a_cpu_bound_function_runs_in_this_process(world: World) -> None:
    del world
    assert square.submit(7).result() == 49


def test_a_waiting_task_is_cancelled(world: World) -> None:
    handle = add.options(delay="1h").submit(1, 1)
    handle.cancel()

    world.travel("2h")
    with pytest.raises(TaskCancelled):
        handle.result()


def test_a_running_task_is_cancelled_where_it_awaits(world: World) -> None:
    handle = slow.submit(9)
    world.travel("2s")
    assert handle.status() is Status.PROCESSING

    handle.cancel()
    with pytest.raises(TaskCancelled):
        handle.result()
    assert world.now < datetime(2026, 1, 1, 0, 0, 9, tzinfo=UTC)


def test_a_key_gives_one_task(world: World) -> None:
    first = add.options(key="order 7").submit(1, 2)
    assert add.options(key="order 7").submit(1, 2).id == first.id
    assert len(world.submissions(add)) == 1


def test_a_task_that_always_fails_ends_failed_and_can_be_retried(world: World) -> None:
    handle = flaky.submit(4)
    with pytest.raises(TaskFailed, match="attempt 4"):
        handle.result()

    world.fail_next(flaky, Down("still"))
    handle.retry()
    assert handle.result() == 6


def test_a_job_passes_results_on(world: World) -> None:
    with app.dag("sum") as dag:
        left, right = dag.add(add, 1, 2), dag.add(add, 3, 4)
        total = dag.add(add, left.out, right.out)
    job = dag.submit()

    world.run_until_idle()
    assert job.result_of(total) == 10


def test_a_failed_node_skips_what_needs_it(world: World) -> None:
    with app.dag("broken") as dag:
        first = dag.add(flaky, 9)
        dag.add(add, first.out, 1)
    job = dag.submit()

    world.travel("1h")
    assert [node.status for node in job.nodes()] == [Status.FAILED, Status.SKIPPED]


def test_schedules_of_the_app_fire_by_their_clock(world: World) -> None:
    world.travel("3d")
    assert seen == [datetime(2026, 1, day, 8, 30, tzinfo=UTC) for day in (1, 2, 3)]


def test_steps_make_the_same_runs_with_the_same_fire_times(world: World) -> None:
    world.travel("120d", step="1d")
    fired = list(seen)

    assert len(fired) == 120
    assert fired[0] == datetime(2026, 1, 1, 8, 30, tzinfo=UTC)
    assert fired[-1] == datetime(2026, 4, 30, 7, 30, tzinfo=UTC)  # by summer time


@pytest.mark.timeout(600)  # some seconds of work, on a machine that may be busy
def test_a_year_of_a_cron_every_five_minutes_fires_105_120_times() -> None:
    often = Drumline("often")
    times: list[datetime | None] = []

    @often.cron("*/5 * * * *")
    async def tick(*, ctx: Context[None] = inject()) -> None:
        times.append(ctx.fire_time)

    with simulated(often) as world:
        world.travel("365d", step="1d")

    assert len(times) == len(set(times)) == 105_120


def test_a_step_that_is_too_long_for_a_schedule_is_refused() -> None:
    often = Drumline("often")

    @often.every("1s")
    async def tick() -> None: ...

    with simulated(often) as world, pytest.raises(Invalid, match="step"):
        world.travel("1d", step="1h")


def test_the_task_of_a_killed_worker_runs_again(world: World) -> None:
    handle = slow.submit(5)
    world.travel("1s")
    world.kill_worker()

    assert handle.result() == "done"
    assert handle.info().attempt == 2
    assert world.now > datetime(2026, 1, 1, 0, 0, 10, tzinfo=UTC)  # only once the worker counts as dead


def test_without_another_worker_its_task_stays_where_it_is(world: World) -> None:
    handle = slow.submit(5)
    world.travel("1s")
    world.kill_worker(restart=False)
    world.travel("1h")

    assert handle.status() is Status.QUEUED


def test_a_submission_whose_reply_is_lost_may_have_been_stored(world: World) -> None:
    world.lose_reply()
    with pytest.raises(Unavailable):
        add.submit(1, 2)
    assert world.submitted(add, 1, 2).result() == 3


def test_a_submission_with_a_key_is_repeated_when_its_reply_is_lost(world: World) -> None:
    world.lose_reply()
    assert add.options(key="7").submit(1, 2).result() == 3
    assert len(world.submissions()) == 1


def test_a_report_whose_reply_is_lost_is_repeated(world: World) -> None:
    handle = slow.submit(1)
    world.travel("0.5s")
    world.lose_reply("worker")

    assert handle.result() == "done"
    assert handle.info().attempt == 1


def test_waiting_ends_by_virtual_time(world: World) -> None:
    handle = add.options(delay="30d").submit(1, 2)
    with pytest.raises(WaitTimeout):
        handle.result(timeout="1h")
    assert world.now == datetime(2026, 1, 1, 1, tzinfo=UTC)
    assert handle.result() == 3
    assert world.now == datetime(2026, 1, 31, tzinfo=UTC)


def test_waiting_for_what_never_ends_says_so(world: World) -> None:
    handle = app.submit_task("of another app")
    with pytest.raises(Stalled, match="'of another app' is QUEUED, and no worker of this world takes it"):
        handle.result()
    world.travel("400d")
    assert handle.status() is Status.QUEUED


def test_waiting_where_nothing_will_happen_names_the_tasks_that_no_worker_takes() -> None:
    lone = Drumline("lone")  # without a schedule, which would let time pass
    with simulated(lone), pytest.raises(Stalled, match="no worker here takes the tasks of-another-app"):
        lone.submit_task("of-another-app").result()


def test_expired_tasks_are_cancelled(world: World) -> None:
    handle = app.submit_task("of another app", expires="1h")
    world.travel("30d")
    assert handle.status() is Status.CANCELLED


def test_what_was_not_submitted_is_listed(world: World) -> None:
    with pytest.raises(AssertionError, match="Nothing was submitted at all"):
        world.submitted(add, 1, 2)
    add.submit(1, 3)
    blocking.submit(4.0)
    world.run_until_idle()

    with pytest.raises(AssertionError) as raised:
        world.submitted(add, 1, 2)
    assert str(raised.value).splitlines() == [
        f"{add.name}(a=1, b=2) was not submitted.",
        f"{add.name} was submitted with other arguments:",
        f"  {add.name}(a=1, b=3): COMPLETED",
        "Other tasks that were submitted:",
        f"  {blocking.name}(seconds=4.0): COMPLETED",
    ]


def test_the_world_begins_when_it_is_told_to() -> None:
    with simulated(app, start=datetime(2031, 5, 6, tzinfo=UTC)) as world:
        world.travel("1d")
        assert seen == [datetime(2031, 5, 6, 7, 30, tzinfo=UTC)]
    with pytest.raises(ValueError, match="time zone"):
        simulated(app, start=datetime(2031, 5, 6))  # noqa: DTZ001


def test_an_eager_world_runs_tasks_where_they_are_submitted() -> None:
    with simulated(app, eager=True) as world:
        assert add.submit(1, 2).status() is Status.COMPLETED
        later = add.options(delay="1h").submit(1, 2)
        assert later.status() is Status.PENDING
        assert parent.submit(2).status() is Status.COMPLETED
        world.travel("1h")
        assert later.status() is Status.COMPLETED


def test_an_eager_world_runs_jobs_where_they_are_submitted() -> None:
    with simulated(app, eager=True):
        with app.dag("sum") as dag:
            dag.add(add, dag.add(add, 1, 2).out, 3)
        assert {node.status for node in dag.submit().nodes()} == {Status.COMPLETED}


async def test_on_a_loop_of_its_own_a_test_can_use_a_world() -> None:
    async with simulated(app) as world:
        handle = await add.asubmit(1, 2)
        assert await handle == 3
        world.travel("2d")
        assert len(seen) == 2


def test_handles_come_as_their_tasks_end(world: World) -> None:
    slower, faster = slow.submit(9), slow.submit(1)
    later = slow.options(delay="3d").submit(0)

    assert list(as_completed([slower, faster, later])) == [faster, slower, later]
    assert world.now == datetime(2026, 1, 4, tzinfo=UTC)


def test_a_batch_is_gathered_in_virtual_time(world: World) -> None:
    del world
    batched = Drumline("batched")

    @batched.batch(max=10, within="1m")
    def total(numbers: list[int]) -> list[int]:
        seen.append(len(numbers))
        return [number + 1 for number in numbers]

    with simulated(batched) as inner:
        handles = [total.submit(number) for number in range(3)]
        assert [handle.result() for handle in handles] == [1, 2, 3]
        assert seen == [3]
        assert inner.now == datetime(2026, 1, 1, 0, 1, tzinfo=UTC)


def test_hooks_of_the_app_run(world: World) -> None:
    del world
    hooked = Drumline("hooked")

    @hooked.around
    def note(execution: Execution) -> Generator[None, ExecutionEnd, None]:
        seen.append(execution.attempt)
        yield

    @hooked.task
    def double(number: int) -> int:
        return 2 * number

    with simulated(hooked):
        assert double.submit(2).result() == 4
    assert seen == [1]


@pytest.mark.parametrize("kind", ["connection", "name", "program"])
def test_a_task_that_reaches_for_the_network_or_a_program_is_told(world: World, kind: str) -> None:
    del world
    with pytest.raises(TaskFailed, match="a world has no network and starts no programs"):
        connect.submit(kind).result()


def test_the_app_goes_back_to_where_it_submitted_before() -> None:
    with simulated(app):
        inner = app.client
        with simulated(app):
            assert app.client is not inner
            assert add.submit(1, 1).result() == 2
        assert app.client is inner
    assert app.client_at_hand is None


def test_another_thread_can_use_a_world_while_nothing_runs_it(world: World) -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: add.submit(1, 2).result()).result() == 3
        assert pool.submit(lambda: blocking.submit(3600).result()).result() == "slept"
    assert world.now == datetime(2026, 1, 1, 1, tzinfo=UTC)


def test_a_thread_that_comes_while_another_one_runs_the_world_is_refused(world: World) -> None:
    async def use_another_thread() -> str:
        with ThreadPoolExecutor(1) as pool:
            return str(pool.submit(lambda: add.submit(1, 2)).exception())

    assert world.run(use_another_thread()).startswith("another thread runs this world")


def test_two_worlds_see_nothing_of_each_other() -> None:
    with simulated(app) as first:
        add.submit(1, 1)
        with simulated(app) as second:
            assert second.submissions() == []
        assert len(first.submissions()) == 1
