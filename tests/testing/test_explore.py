import asyncio
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from drumline import Context, Drumline, inject
from drumline.testing import EffectRepeated, World, simulated

app = Drumline("explored")
HERE = Path(__file__).name


class Gateway:
    """A fake of a payment service."""

    def __init__(self) -> None:
        self.charges: list[int] = []

    def charge(self, order: int, key: str | None = None) -> str:
        self.charges.append(order)
        return f"charge {order} {key}"

    async def acharge(self, order: int) -> None:
        await asyncio.sleep(0.5)
        self.charges.append(order)

    def find(self, order: int) -> bool:
        return order in self.charges


class Outside:
    """What the tasks use; tests put their fakes here."""

    gateway: Gateway
    world: World


def pay(order: int) -> None:
    Outside.gateway.charge(order)  # the line


@app.task
def charge(order: int) -> None:
    pay(order)


@app.task
async def charge_async(order: int) -> None:
    await Outside.gateway.acharge(order)  # the async line
    await asyncio.sleep(1)


@app.task
def charge_with_key(order: int, *, ctx: Context[None] = inject()) -> None:
    Outside.gateway.charge(order, key=f"task {ctx.id}")


@app.task
def charge_with_new_key(order: int) -> None:
    Outside.gateway.charge(order, key=uuid.uuid4().hex)


@app.task
def charge_if_new(order: int) -> None:
    if not Outside.gateway.find(order):
        Outside.gateway.charge(order)


@app.task
async def marked(order: int) -> None:
    Outside.world.effect("mail", order)
    await asyncio.sleep(1)


@app.task
def harmless(order: int) -> int:
    return order


@pytest.fixture
def world() -> Iterator[World]:
    with simulated(app) as opened:
        Outside.world = opened
        yield opened


def line_of(text: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(text))


def test_a_planted_double_charge_is_found_and_its_line_named(world: World) -> None:
    Outside.gateway = world.outside(Gateway())
    charge.submit(7)

    with pytest.raises(EffectRepeated) as raised:
        world.explore(200)

    lines = str(raised.value).splitlines()
    assert re.search(rf"{HERE}:{line_of('# the line')} in pay: Outside.gateway.charge\(order\)", lines[0])
    assert lines[1] == f"  charge(order=7) happened 2 times for one task {charge.name}"
    assert f"{HERE}:" in lines[2]
    assert "in charge: pay(order)" in lines[2]
    assert lines[3] == "  the worker was killed right after charge(order=7)"
    assert lines[4] == "  run 1 of 200; to see it again: world.explore(200, seed=0, only=1)"


def test_the_run_that_found_it_finds_it_again(world: World) -> None:
    Outside.gateway = world.outside(Gateway)
    charge.submit(7)
    with pytest.raises(EffectRepeated) as first:
        world.explore(200, seed=3)

    with pytest.raises(EffectRepeated) as again:
        world.explore(200, seed=3, only=first.value.run)
    assert str(again.value) == str(first.value)


def test_an_async_effect_is_followed_to_its_line(world: World) -> None:
    Outside.gateway = world.outside(Gateway())
    charge_async.submit(7)

    with pytest.raises(EffectRepeated, match=rf"{HERE}:{line_of('# the async line')} in charge_async"):
        world.explore(200)


def test_a_call_with_a_stable_key_is_recognised(world: World) -> None:
    Outside.gateway = world.outside(Gateway(), keyed_by="key")
    charge_with_key.submit(7)

    explored = world.explore(60)
    assert explored.effects == 1
    assert explored.points > 4


def test_a_key_that_each_attempt_makes_up_is_found(world: World) -> None:
    Outside.gateway = world.outside(Gateway(), keyed_by="key")
    charge_with_new_key.submit(7)

    with pytest.raises(EffectRepeated, match="charge_with_new_key"):
        world.explore(20)


def test_each_run_has_a_fresh_fake_whose_state_outlives_the_worker(world: World) -> None:
    Outside.gateway = world.outside(Gateway(), reads=["find"])
    charge_if_new.submit(7)

    assert world.explore(40).effects == 1
    world.run_until_idle()
    assert Outside.gateway.charges == [7]


def test_an_effect_that_code_marks_is_found(world: World) -> None:
    def scenario(inner: World) -> None:
        Outside.world = inner
        marked.submit(7)

    with pytest.raises(EffectRepeated, match=r"mail\(7\) happened 2 times"):
        world.explore(50, scenario)


def test_tasks_without_effects_pass_every_schedule(world: World) -> None:
    async def scenario(inner: World) -> None:
        first, second = await harmless.asubmit(1), await harmless.asubmit(2)
        assert (await first, await second) == (1, 2)
        assert inner is not world

    assert world.explore(40, scenario).effects == 0


def test_an_assertion_of_the_scenario_fails_the_exploration(world: World) -> None:
    def scenario(_: World) -> None:
        raise AssertionError("as planned")

    with pytest.raises(AssertionError, match="as planned"):
        world.explore(5, scenario)


def test_two_tasks_that_do_the_same_are_no_repetition(world: World) -> None:
    Outside.gateway = world.outside(Gateway(), reads=["find"])
    charge_if_new.submit(7)
    charge.submit(8)
    with pytest.raises(EffectRepeated, match="order=8"):
        world.explore(40)


def test_code_of_the_test_itself_has_no_effects(world: World) -> None:
    fake: Any = world.outside(Gateway())
    fake.charge(1)
    fake.charge(1)
    assert world.explore(3).effects == 0
    assert fake.charges == [1, 1]


def test_a_worker_that_is_killed_by_a_task_runs_it_again(world: World) -> None:
    class Once:
        def __init__(self) -> None:
            self.calls = 0

        def charge(self, order: int) -> None:
            del order
            self.calls += 1
            if self.calls == 1:
                world.kill_worker()

    Outside.gateway = fake = Once()  # type: ignore[assignment]
    handle = charge.submit(7)
    handle.result()
    assert fake.calls == 2
