"""Durable tasks in a world: virtual time, faked signals, and waits that end."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from drumline import Conflict, Context, Drumline, Invalid, SignalTimeout, WaitTimeout, inject
from drumline.testing import World, simulated
from drumline.testing.loop import Stalled

app = Drumline("press")
ran: list[str] = []


@dataclass
class Approval:
    by: str


def draft(article: int) -> str:
    ran.append("draft")
    return f"article {article}"


@app.task
async def publish(article: int, *, ctx: Context[None] = inject()) -> str:
    text = await ctx.step("draft", draft, article)
    await ctx.sleep("let it rest", hours=20)
    try:
        approval = await ctx.wait_for("approved", Approval, timeout="7d")
    except SignalTimeout:
        return "nobody looked at it"
    return f"{text} by {approval.by}"


@app.task
async def patrol(hour: int, *, ctx: Context[None] = inject()) -> str:
    await ctx.sleep("an hour", hours=1)
    if hour < 3:
        await ctx.restart(patrol, hour + 1)
    return f"{hour} hours"


@app.task
def paid(order: int, *, ctx: Context[None] = inject()) -> int:
    ctx.blocking.step("draft", draft, order)
    ctx.blocking.sleep("a night", hours=8)
    return ctx.blocking.wait_for("paid", int, correlation=f"order-{order}")


@pytest.fixture
def world() -> Iterator[World]:
    ran.clear()
    with simulated(app) as world:
        yield world


def test_a_signal_of_the_test_answers_the_task_that_waits(world: World) -> None:
    handle = publish.submit(7)
    world.travel("21h")

    world.signal("approved", Approval("ada"), to=handle)

    assert handle.result() == "article 7 by ada"
    assert ran == ["draft"]


def test_a_signal_that_comes_later_is_waited_for_in_virtual_time(world: World) -> None:
    handle = publish.submit(7)
    began = world.now

    world.signal("approved", Approval("ada"), to=handle, after="3d")

    assert handle.result() == "article 7 by ada"
    assert (world.now - began).days == 3


def test_a_signal_that_never_comes_lets_the_task_time_out(world: World) -> None:
    handle = publish.submit(7)
    began = world.now

    assert handle.result() == "nobody looked at it"
    assert (world.now - began).total_seconds() == pytest.approx((20 + 7 * 24) * 3600, abs=60)


def test_a_signal_by_correlation_answers_a_blocking_wait(world: World) -> None:
    handle = paid.submit(17)
    world.travel("9h")

    world.signal("paid", 3, key="order-17")

    assert (handle.result(), ran) == (3, ["draft"])


def test_waiting_for_a_task_that_waits_for_ever_says_so(world: World) -> None:
    handle = paid.submit(17)
    began = world.now

    with pytest.raises(WaitTimeout):
        handle.result(timeout="30d")
    assert (world.now - began).days == 30
    with pytest.raises(Stalled, match="nothing is left to happen"):
        handle.result()


def test_a_signal_that_makes_no_sense_is_refused(world: World) -> None:
    handle = publish.submit(7)
    assert handle.result() == "nobody looked at it"

    with pytest.raises(Conflict):
        world.signal("approved", Approval("ada"), to=handle)
    with pytest.raises(Invalid, match="key of a correlation"):
        world.signal("approved")
    world.signal("approved", Approval("ada"), to=handle, after="1h")
    world.travel("2h")


def test_steps_are_done_once_wherever_the_worker_dies(world: World) -> None:
    def scenario(inner: World) -> None:
        handle = publish.submit(7)
        inner.signal("approved", Approval("ada"), to=handle, after="2d")
        assert handle.result() == "article 7 by ada"

    found = world.explore(10, scenario)

    assert found.runs == 10


def test_an_eager_world_goes_on_when_a_task_waits() -> None:
    with simulated(app, eager=True) as world:
        handle = paid.submit(17)
        world.travel("9h")
        world.signal("paid", 3, key="order-17")
        assert handle.result() == 3


def test_a_task_that_restarts_goes_on_in_virtual_time(world: World) -> None:
    handle = patrol.submit(1)
    began = world.now

    assert handle.result() == "3 hours"
    assert (world.now - began).total_seconds() == pytest.approx(3 * 3600, abs=60)


def test_a_task_restarts_once_wherever_the_worker_dies(world: World) -> None:
    def scenario(_inner: World) -> None:
        assert patrol.submit(1).result() == "3 hours"

    assert world.explore(10, scenario).runs == 10
