"""`ctx.restart` in a worker: the function begins anew with other arguments, as the same task."""

import asyncio

import pytest

from drumline.core.attempt import AttemptOutcome
from drumline.core.job import JobRequest, JobTaskRequest
from drumline.core.state import State
from drumline.sdk.context import Context, inject
from drumline.sdk.signals import Restarted
from drumline.stores.sealing import AesBox
from tests.durable_factories import names_of, steps_of
from tests.factories import new_id
from tests.harness.parts import use_box
from tests.worker import process_tasks
from tests.worker.house import House, result_of, until


async def test_a_loop_goes_on_beyond_the_bound_of_records(house: House) -> None:
    house.engine.durable._record_limits = house.engine.durable._record_limits._replace(records=3)

    @house.app.task(name="counter", retries=0)
    async def counter(first: int, total: int = 0, *, ctx: Context[None] = inject()) -> int:
        for number in range(first, 10):
            if number == first + 3:
                await ctx.restart(counter, number, total=total)
            total = await ctx.step("add", int.__add__, total, number, key=number)
        return total

    async with house.worker():
        view = await house.run("counter", {"first": 0})

    assert result_of(view) == sum(range(10))
    assert bytes(view.payload or b"") == b'{"first":9,"total":36}'
    steps = await steps_of(house.engine.store, view.id)
    assert (steps.round, [each.records for each in steps.rounds]) == (4, [3, 3, 3])
    outcomes = [each.outcome for each in await house.engine.queries.attempts(view.id)]
    assert outcomes.count(AttemptOutcome.RESTARTED) == 3


async def test_a_function_in_a_thread_restarts_by_the_blocking_call(house: House) -> None:
    seen: list[int] = []

    @house.app.task(name="thread", retries=0)
    def thread(number: int, *, ctx: Context[None] = inject()) -> int:
        seen.append(ctx.blocking.step("see", lambda: number))
        if number < 2:
            ctx.blocking.restart(thread, number + 1)
        return number

    async with house.worker():
        view = await house.run("thread", {"number": 0})

    assert (result_of(view), seen) == (2, [0, 1, 2])


async def test_a_function_in_a_child_process_restarts_by_the_blocking_call(house: House) -> None:
    house.app = process_tasks.app
    async with house.worker():
        view = await house.run("rounds in a process", {"number": 0})

    assert result_of(view) == [2, 20]


async def test_answers_that_are_lost_begin_one_round(house: House) -> None:
    runs: list[int] = []

    @house.app.task(name="twice", retries=0)
    async def twice(number: int, *, ctx: Context[None] = inject()) -> int:
        runs.append(number)
        if number == 0:
            house.line.lose_answers = 1
            await ctx.restart(twice, 1)
        return number

    async with house.worker():
        view = await house.run("twice", {"number": 0})

    assert (result_of(view), runs) == (1, [0, 1])
    assert len((await steps_of(house.engine.store, view.id)).rounds) == 1


async def test_a_restart_of_a_task_of_a_job_is_an_error_that_says_so(house: House) -> None:
    @house.app.task(name="member")
    async def member(*, ctx: Context[None] = inject()) -> None:
        await ctx.restart(member)

    async with house.worker():
        job = await house.engine.jobs.submit(JobRequest(name="job", tasks={"member": JobTaskRequest(name="member")}))
        (task,) = job.tasks.values()
        view = await house.ended(task)

    assert view.state is State.FAILED
    assert view.error is not None
    assert "a task of a job cannot be restarted" in view.error.message


async def test_a_restart_of_another_task_is_an_error_that_names_both(house: House) -> None:
    @house.app.task(name="other")
    async def other(number: int) -> None: ...

    @house.app.task(name="mistaken")
    async def mistaken(how: str, *, ctx: Context[None] = inject()) -> None:
        if how == "other":
            await ctx.restart(other, 1)
        if how == "arguments":
            await ctx.restart(mistaken, *[1, 2, 3])  # type: ignore[arg-type]
        await ctx.restart(how)  # type: ignore[arg-type]

    async with house.worker():
        views = [await house.run("mistaken", {"how": how}) for how in ("other", "arguments", "value")]

    messages = [view.error.message for view in views if view.error is not None]
    assert [view.state for view in views] == [State.FAILED] * 3
    assert [view.attempt for view in views] == [1, 1, 1]
    assert messages[0] == "ctx.restart begins a new round of 'mistaken', and cannot begin one of 'other'"
    assert messages[1].startswith("the arguments of ctx.restart do not fit 'mistaken'")
    assert messages[2] == (
        "ctx.restart takes this task itself and then its arguments, as ctx.restart(mistaken, …), not str"
    )


async def test_arguments_that_are_too_large_are_an_error_that_names_the_limit(house: House) -> None:
    @house.app.task(name="large")
    async def large(text: str, *, ctx: Context[None] = inject()) -> None:
        await ctx.restart(large, text * (house.engine.durable._limits.payload + 1))

    async with house.worker():
        view = await house.run("large", {"text": "x"})

    assert view.state is State.FAILED
    assert view.error is not None
    assert "payload" in view.error.message
    assert (await steps_of(house.engine.store, view.id)).rounds == ()


async def test_a_secret_is_not_given_to_the_next_round(house: House) -> None:
    use_box(house.engine, AesBox([b"k" * 32]))
    await house.engine.secrets.put("token", "hunter2-hunter2", tenant="default")

    @house.app.task(name="leaky")
    async def leaky(token: str, *, ctx: Context[None] = inject()) -> None:
        await ctx.restart(leaky, token)

    async with house.worker():
        view = await house.run("leaky", {"token": {"$secret": "token"}})

    assert view.state is State.FAILED
    assert view.error is not None
    assert "have a secret in them" in view.error.message


async def test_a_cancel_that_was_asked_for_ends_the_task_instead(house: House) -> None:
    entered, go = asyncio.Event(), asyncio.Event()
    runs: list[int] = []

    @house.app.task(name="stubborn")
    async def stubborn(number: int, *, ctx: Context[None] = inject()) -> None:
        runs.append(number)
        entered.set()
        try:
            await go.wait()
        except asyncio.CancelledError:
            await ctx.restart(stubborn, number + 1)

    async with house.worker():
        task = await house.submit("stubborn", {"number": 0})
        await entered.wait()
        await house.engine.control.cancel(task)
        view = await house.ended(task)

    assert (view.state, runs) == (State.CANCELLED, [0])


async def test_a_branch_that_goes_on_after_a_restart_records_nothing(house: House) -> None:
    go = asyncio.Event()
    late: list[str] = []

    @house.app.task(name="branches", retries=0)
    async def branches(number: int, *, ctx: Context[None] = inject()) -> int:
        async def other() -> None:
            await go.wait()
            try:
                await ctx.step("late", lambda: late.append("ran"))
            except BaseException as error:
                late.append(type(error).__name__)
                raise

        if number == 0:
            branch = asyncio.get_running_loop().create_task(other())
            try:
                await ctx.restart(branches, 1)
            finally:
                go.set()
                await asyncio.wait([branch])
        return number

    async with house.worker():
        view = await house.run("branches", {"number": 0})
        await until(lambda: late)

    assert (result_of(view), late) == (1, ["Parked"])
    assert await names_of(house.engine.store, view.id) == []


async def test_the_parents_call_gets_the_result_of_the_last_round(house: House) -> None:
    @house.app.task(name="poll", retries=0)
    async def poll(number: int, *, ctx: Context[None] = inject()) -> str:
        if number < 3:
            await ctx.restart(poll, number + 1)
        return f"after {number}"

    @house.app.task(name="parent", retries=0)
    async def parent(*, ctx: Context[None] = inject()) -> str:
        return await ctx.call(poll, 0)

    async with house.worker():
        view = await house.run("parent")

    assert result_of(view) == "after 3"


async def test_a_function_that_a_test_calls_is_left_with_what_the_next_round_gets(house: House) -> None:
    @house.app.task(name="plain")
    async def plain(number: int, *, ctx: Context[None] = inject()) -> None:
        await ctx.restart(plain, number + 1)

    @house.app.task(name="blocking")
    def blocking(number: int, *, ctx: Context[None] = inject()) -> None:
        ctx.blocking.restart(blocking, number=number + 1)

    context: Context[None] = Context(id=new_id(), state=None)
    with pytest.raises(Restarted) as awaited:
        await plain(1, ctx=context)
    with pytest.raises(Restarted) as blocked:
        blocking(1, ctx=context)

    assert awaited.value.payload == blocked.value.payload == b'{"number":2}'
