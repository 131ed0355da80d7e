"""Children in a worker: started once, waited for without a slot, their failures raised where they were called."""

import asyncio
from typing import Any

import pytest

from drumline.core.ids import TaskId
from drumline.core.state import State
from drumline.core.task import TaskRequest
from drumline.sdk.context import Context, inject
from drumline.sdk.errors import ChildFailed
from tests.durable_factories import names_of, steps_of
from tests.worker import process_tasks
from tests.worker.house import House, result_of, until


async def children_of(house: House, task: TaskId) -> list[TaskId]:
    return [link.child for link in (await house.engine.children.links(task, limit=1000)).links]


async def test_a_call_returns_the_result_of_a_child_that_inherits(house: House) -> None:
    @house.app.task(name="add")
    async def add(a: int, b: int) -> int:
        return a + b

    @house.app.task(name="sum", retries=0)
    async def total(*, ctx: Context[None] = inject()) -> int:
        return await ctx.call(add, 2, b=3)

    async with house.worker():
        task = await house.submit("sum", priority=7, queue="bulk", tags=("a", "b"))
        assert result_of(await house.ended(task)) == 5

    (child,) = await children_of(house, task)
    view = await house.get(child)
    assert (view.lane.queue, view.lane.priority, view.options.tags) == ("bulk", 7, ("a", "b"))
    assert view.options.parent == task
    assert child[20:23] == task[20:23]
    assert await names_of(house.engine.store, task) == ["add"]


async def test_what_a_child_declares_goes_before_what_it_inherits(house: House) -> None:
    @house.app.task(name="mail", queue="mail", priority=1, tags=["own"])
    async def mail() -> None: ...

    @house.app.task(name="parent")
    async def parent(*, ctx: Context[None] = inject()) -> None:
        await ctx.call(mail.options(priority=3))

    async with house.worker():
        task = await house.submit("parent", priority=7, tags=("a",))
        await house.ended(task)

    view = await house.get((await children_of(house, task))[0])
    assert (view.lane.queue, view.lane.priority, view.options.tags) == ("mail", 3, ("own", "a"))


async def test_recursive_calls_end_on_one_worker_that_runs_one_task_at_a_time(house: House) -> None:
    @house.app.task(name="fib", retries=0)
    async def fib(n: int, *, ctx: Context[None] = inject()) -> int:
        if n < 2:
            return n
        return await ctx.call(fib.call(n - 1), key=1) + await ctx.call(fib.call(n - 2), key=2)

    async with house.worker(capacity=1):
        assert result_of(await house.run("fib", {"n": 7})) == 13


async def test_a_child_that_fails_raises_in_the_parent_each_time_and_may_be_caught(house: House) -> None:
    caught: list[ChildFailed] = []

    @house.app.task(name="bad", retries=0)
    async def bad() -> None:
        raise LookupError("no such thing")

    @house.app.task(name="careful", retries=0)
    async def careful(*, ctx: Context[None] = inject()) -> str:
        try:
            await ctx.call(bad)
        except ChildFailed as error:
            caught.append(error)
        await ctx.sleep("nap", seconds=1)
        return "compensated"

    async with house.worker():
        task = await house.submit("careful")
        await until(lambda: len(caught) == 1)
        await until(lambda: _is_queued(house, task))
        house.clock.advance(1)
        assert result_of(await house.ended(task)) == "compensated"

    (child,) = await children_of(house, task)
    assert [(error.child, error.kind, error.state) for error in caught] == [(child, "LookupError", "failed")] * 2
    assert str(child) in str(caught[0])
    assert "no such thing" in str(caught[0])


async def test_an_operators_retry_of_the_parent_retries_the_child_that_failed(house: House) -> None:
    is_fixed = False

    @house.app.task(name="flaky", retries=0)
    async def flaky() -> str:
        if not is_fixed:
            raise ValueError("broken")
        return "fine"

    @house.app.task(name="owner", retries=0)
    async def owner(*, ctx: Context[None] = inject()) -> str:
        return await ctx.call(flaky)

    async with house.worker():
        task = await house.submit("owner")
        assert (await house.ended(task)).state is State.FAILED
        is_fixed = True
        await house.engine.control.retry(task)
        await house.engine.children.work_notes()
        assert result_of(await house.ended(task)) == "fine"

    assert len(await children_of(house, task)) == 1


async def test_a_map_starts_a_child_for_each_item_within_its_window(house: House) -> None:
    live: list[int] = []
    most: list[int] = []

    @house.app.task(name="square")
    async def square(x: int) -> int:
        live.append(x)
        most.append(len(live))
        live.remove(x)
        return x * x

    @house.app.task(name="all", retries=0)
    async def all_of(count: int, *, ctx: Context[None] = inject()) -> list[int]:
        return await ctx.map(square, list(range(count)), window=10)

    async with house.worker():
        task = await house.submit("all", {"count": 37})
        assert result_of(await house.ended(task)) == [x * x for x in range(37)]

    assert await names_of(house.engine.store, task) == ["square"]
    assert len(await children_of(house, task)) == 37
    assert (await steps_of(house.engine.store, task)).waits == ()


async def test_a_map_over_nothing_starts_nothing(house: House) -> None:
    @house.app.task(name="one")
    async def one(x: int) -> int:
        return x

    @house.app.task(name="none")
    async def none(*, ctx: Context[None] = inject()) -> list[int]:
        return await ctx.map(one, [])

    async with house.worker():
        assert result_of(await house.run("none")) == []


async def test_a_map_raises_the_first_failure_and_outcomes_have_each_in_its_place(house: House) -> None:
    @house.app.task(name="odd", retries=0)
    async def odd(x: int) -> int:
        if x % 2 == 0:
            raise ValueError(f"{x} is even")
        return x

    @house.app.task(name="strict", retries=0)
    async def strict(*, ctx: Context[None] = inject()) -> list[int]:
        return await ctx.map(odd, [1, 2, 3, 4])

    @house.app.task(name="lenient", retries=0)
    async def lenient(*, ctx: Context[None] = inject()) -> list[str]:
        found = await ctx.map_outcomes(odd, [1, 2, 3])
        return [each.remote_message if isinstance(each, ChildFailed) else str(each) for each in found]

    async with house.worker():
        failed = await house.run("strict")
        assert result_of(await house.run("lenient")) == ["1", "2 is even", "3"]

    assert failed.error is not None
    assert failed.error.kind == "ChildFailed"
    assert "2 is even" in failed.error.message


async def test_gather_returns_the_results_of_different_tasks(house: House) -> None:
    @house.app.task(name="number")
    async def number() -> int:
        return 3

    @house.app.task(name="word")
    def word(text: str) -> str:
        return text.upper()

    @house.app.task(name="both", retries=0)
    def both(*, ctx: Context[None] = inject()) -> list[object]:
        one, two = ctx.blocking.gather(number.call(), word.call("x"))
        return [one, two]

    async with house.worker():
        task = await house.submit("both")
        assert result_of(await house.ended(task)) == [3, "X"]

    assert [each.outcome.name for each in await house.engine.queries.attempts(task)].count("PARKED") <= 1


async def test_first_returns_the_result_that_comes_first_and_cancels_the_others(house: House) -> None:
    @house.app.task(name="slow")
    async def slow(*, ctx: Context[None] = inject()) -> str:
        await ctx.sleep("long", days=1)
        return "slow"

    @house.app.task(name="fast")
    async def fast() -> str:
        return "fast"

    @house.app.task(name="race", retries=0)
    async def race(*, ctx: Context[None] = inject()) -> str:
        return await ctx.first(slow.call(), fast.call())

    async with house.worker():
        task = await house.submit("race")
        assert result_of(await house.ended(task)) == "fast"
        await house.engine.children.work_notes()
        late, _ = await children_of(house, task)
        assert (await house.get(late)).state is State.CANCELLED


async def test_first_raises_if_no_child_completes(house: House) -> None:
    @house.app.task(name="bad", retries=0)
    async def bad(x: int) -> str:
        raise ValueError(x)

    @house.app.task(name="race", retries=0)
    async def race(*, ctx: Context[None] = inject()) -> str:
        return await ctx.first(bad.call(1), bad.call(2))

    async with house.worker():
        view = await house.run("race")

    assert view.error is not None
    assert view.error.kind == "ChildFailed"


async def test_a_function_in_a_child_process_starts_children_blocking(house: House) -> None:
    house.app = process_tasks.app
    async with house.worker():
        assert result_of(await house.run("calls from a process")) == [2, 3, 4, "-1 is negative"]


async def test_branches_side_by_side_wait_for_their_children_together(house: House) -> None:
    @house.app.task(name="leaf")
    async def leaf(x: int) -> int:
        return x

    @house.app.task(name="root", retries=0)
    async def root(*, ctx: Context[None] = inject()) -> list[int]:
        return list(await asyncio.gather(*(ctx.call(leaf.call(number), key=number) for number in range(4))))

    async with house.worker():
        task = await house.submit("root")
        assert result_of(await house.ended(task)) == [0, 1, 2, 3]

    assert len(await children_of(house, task)) == 4


async def test_a_call_whose_answer_is_lost_starts_one_child(house: House) -> None:
    @house.app.task(name="leaf")
    async def leaf() -> int:
        return 1

    @house.app.task(name="root", retries=0)
    async def root(*, ctx: Context[None] = inject()) -> int:
        house.line.lose_answers = 1
        return await ctx.call(leaf)

    async with house.worker():
        task = await house.submit("root")
        assert result_of(await house.ended(task)) == 1

    assert len(await children_of(house, task)) == 1


async def test_the_same_task_called_twice_without_a_key_is_an_error_that_says_so(house: House) -> None:
    @house.app.task(name="leaf")
    async def leaf() -> int:
        return 1

    @house.app.task(name="root", retries=0)
    async def root(*, ctx: Context[None] = inject()) -> int:
        return await ctx.call(leaf) + await ctx.call(leaf)

    async with house.worker():
        view = await house.run("root")

    assert view.error is not None
    assert "'leaf' is used twice without a key" in view.error.message


@pytest.mark.parametrize(
    ("options", "field"), [({"key": "k"}, "tasks[0].idempotency_key"), ({"retries": 10**9}, "tasks[0].retries")]
)
async def test_a_child_that_cannot_be_stored_fails_its_parent_naming_the_field(
    house: House, options: dict[str, object], field: str
) -> None:
    @house.app.task(name="leaf")
    async def leaf() -> int:
        return 1

    @house.app.task(name="root", retries=0)
    async def root(*, ctx: Context[None] = inject()) -> int:
        odd: Any = leaf.options(**options)  # type: ignore[arg-type]
        result: int = await ctx.call(odd)
        return result

    async with house.worker():
        view = await house.run("root")

    assert view.error is not None
    assert field in view.error.message


async def test_hooks_of_the_app_see_the_requests_of_children(house: House) -> None:
    @house.app.before_submit
    async def tagged(request: TaskRequest) -> TaskRequest:
        return TaskRequest(name=request.name, payload=request.payload, tags=("hooked",))

    @house.app.task(name="leaf")
    async def leaf() -> int:
        return 1

    @house.app.task(name="root", retries=0)
    async def root(*, ctx: Context[None] = inject()) -> int:
        return await ctx.call(leaf)

    async with house.worker():
        task = await house.submit("root")
        await house.ended(task)

    assert (await house.get((await children_of(house, task))[0])).options.tags == ("hooked",)


async def test_why_says_which_children_are_waited_for(house: House) -> None:
    @house.app.task(name="slow")
    async def slow(x: int, *, ctx: Context[None] = inject()) -> int:
        await ctx.sleep("long", days=1)
        return x

    @house.app.task(name="root", retries=0)
    async def root(*, ctx: Context[None] = inject()) -> list[int]:
        return await ctx.map(slow, [1, 2], name="slow ones")

    async with house.worker():
        task = await house.submit("root")
        await until(lambda: _waits(house, task))
        (reason,) = await house.engine.wait_reasons.why(task)

    assert "2 children of 'slow ones'" in reason.text


async def _is_queued(house: House, task: TaskId) -> bool:
    return (await house.get(task)).state is State.QUEUED


async def _waits(house: House, task: TaskId) -> bool:
    return await _is_queued(house, task) and bool((await steps_of(house.engine.store, task)).waits)
