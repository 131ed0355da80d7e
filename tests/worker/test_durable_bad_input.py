"""What durable tasks should not do: each mistake has an error that names it, and nothing that was done is lost."""

import math
from typing import Any

import pytest

from drumline.core.children import ChildRequests
from drumline.core.durable import WaitKind
from drumline.core.errors import Conflict, Invalid
from drumline.core.limits import DEFAULT_LIMITS
from drumline.core.state import State
from drumline.sdk.context import Context, inject
from drumline.stores.sqlite import SqliteStore
from tests.durable_factories import names_of, steps_of
from tests.factories import request
from tests.worker.house import House, result_of
from tests.worker.test_durable import parked


def charge() -> str:
    return "paid"


async def test_two_records_of_one_name_fail_the_task_and_the_first_stays(house: House) -> None:
    mended: list[bool] = []

    @house.app.task(name="twice", retries=3)
    async def twice(*, ctx: Context[None] = inject()) -> str:
        first = await ctx.step("charge", charge)
        if not mended:
            await ctx.step("charge", charge)
        return first

    async with house.worker():
        view = await house.run("twice")
        assert (view.state, view.attempt) == (State.FAILED, 1)  # trying again would not help
        assert view.error is not None
        assert "the name 'charge' is used twice without a key" in view.error.message
        assert await names_of(house.engine.store, view.id) == ["charge"]
        mended.append(True)
        await house.engine.control.retry(view.id)
        assert result_of(await house.ended(view.id)) == "paid"


async def test_a_record_that_does_not_decode_lets_the_task_wait_and_stays(house: House) -> None:
    types: list[Any] = [int]

    @house.app.task(name="changed", retries=0)
    async def changed(*, ctx: Context[None] = inject()) -> object:
        def look() -> Any:
            return 7

        look.__annotations__["return"] = types[-1]
        found = await ctx.step("look", look)
        await ctx.sleep("nap", hours=1)
        return found

    async with house.worker():
        task = await house.submit("changed")
        await parked(house, task)
        types.append(list[str])
        house.clock.advance(3600)
        await parked(house, task, 2)
        (wait,) = (await steps_of(house.engine.store, task)).waits
        assert (wait.kind, wait.name) == (WaitKind.PERSON, "look")
        assert "the record of 'look'" in wait.reason
        (kept,) = [each for each in (await steps_of(house.engine.store, task)).page.records if each.name == "look"]
        assert bytes(kept.value) == b"7"
        types.append(int)
        await house.engine.control.reschedule(task, delay=0)
        assert result_of(await house.ended(task)) == 7


async def test_a_signal_to_a_task_that_has_ended_is_refused_and_its_result_stays(house: House) -> None:
    @house.app.task(name="done", retries=0)
    async def done() -> str:
        return "over"

    async with house.worker():
        view = await house.run("done")

    with pytest.raises(Conflict, match="the task has ended; it takes no signals"):
        await house.engine.durable.signal("approved", task=view.id)
    assert result_of(await house.get(view.id)) == "over"


async def test_record_10001_is_an_error_that_names_the_bound_and_the_others_stay(house: House) -> None:
    assert DEFAULT_LIMITS.records == 10_000

    @house.app.task(name="many", retries=3)
    async def many(*, ctx: Context[None] = inject()) -> None:
        await ctx.sleep("nap", hours=1)
        await ctx.step("number 10,000", charge)
        await ctx.step("number 10,001", charge)

    async with house.worker():
        task = await house.submit("many")
        await parked(house, task)
        store = house.engine.store
        assert isinstance(store, SqliteStore)
        # As if the first attempt had made 9,998 records, which takes a while; the sleep is another.
        await store._database.write(lambda connection: connection.execute("UPDATE task_live SET records = 9998"))
        house.clock.advance(3600)
        view = await house.ended(task)

    assert (view.state, view.attempt) == (State.FAILED, 1)
    assert view.error is not None
    assert "the task has 10,000 records, as many as it may have (limits.records)" in view.error.message
    kept = (await steps_of(house.engine.store, task)).page.records
    assert [(each.name, each.seq) for each in kept] == [("nap", 9999), ("number 10,000", 10_000)]


async def test_records_that_are_too_many_bytes_name_the_bound(house: House) -> None:
    @house.app.task(name="wide", retries=3)
    async def wide(*, ctx: Context[None] = inject()) -> None:
        for number in range(20):
            await ctx.step("wide", lambda: "x" * 1_000_000, key=number)

    async with house.worker():
        view = await house.run("wide")

    assert view.error is not None
    assert "would have more than 16,777,216 bytes (limits.record_bytes)" in view.error.message
    assert len((await house.engine.durable.steps(view.id)).page.records) > 0


async def test_a_child_in_another_tenant_is_refused_and_none_is_started(house: House) -> None:
    refused: list[Invalid] = []

    @house.app.task(name="parent", retries=0)
    async def parent(*, ctx: Context[None] = inject()) -> str:
        assert ctx.lease is not None
        wanted = ChildRequests(lease=ctx.lease, name="c", tenant="elsewhere", tasks=(request("child"),))
        try:
            await house.engine.children.start(wanted)
        except Invalid as error:
            refused.append(error)
        return await ctx.step("charge", charge)

    async with house.worker():
        view = await house.run("parent")

    assert result_of(view) == "paid"
    assert [error.field for error in refused] == ["tenant"]
    assert "'elsewhere'" in refused[0].message
    assert (await house.engine.children.links(view.id)).links == ()


@pytest.mark.parametrize("days", [365e6, 1e300, math.inf, math.nan, -1.0])
async def test_a_sleep_of_a_million_years_names_the_sleep_and_loses_nothing(house: House, days: float) -> None:
    @house.app.task(name="sleeper", retries=0)
    async def sleeper(*, ctx: Context[None] = inject()) -> None:
        await ctx.step("charge", charge)
        await ctx.sleep("very long", days=days)

    async with house.worker():
        view = await house.run("sleeper")

    assert view.state is State.FAILED
    assert view.error is not None
    assert "sleep 'very long'" in view.error.message
    assert await names_of(house.engine.store, view.id) == ["charge"]
