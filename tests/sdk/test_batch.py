"""Functions that handle many tasks in one call."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from drumline import Drumline, DrumlineError, Invalid, Permanent, TaskFailed, TaskHandle


@dataclass
class Order:
    number: int


@pytest.fixture
def app(tmp_path: Path) -> Drumline[None]:
    return Drumline("batches", data=tmp_path)


def handles(found: "list[TaskHandle[int] | DrumlineError]") -> list[TaskHandle[int]]:
    return [each for each in found if not isinstance(each, DrumlineError)]


def test_one_call_handles_many_tasks_and_each_has_its_own_result(app: Drumline[None]) -> None:
    calls: list[list[int]] = []

    @app.batch(max=4, within="30s", name="double")
    def double(orders: list[Order]) -> list[int]:
        calls.append([order.number for order in orders])
        return [order.number * 2 for order in orders]

    with app.running():
        found = handles(app.submit_many([double.call(Order(n)) for n in range(4)]))
        results = [handle.result(timeout=20) for handle in found]

    assert results == [0, 2, 4, 6]
    assert sorted(calls[0]) == [0, 1, 2, 3]
    assert len(calls) == 1
    assert double([Order(5)]) == [10]


def test_a_single_task_is_called_when_the_time_is_over(app: Drumline[None]) -> None:
    @app.batch(max=100, within=0.001)
    async def double(numbers: list[int]) -> list[int]:
        await asyncio.sleep(0)
        return [number * 2 for number in numbers]

    with app.running():
        assert double.submit(4).result(timeout=20) == 8


def test_an_exception_in_the_list_is_the_outcome_of_its_item(app: Drumline[None]) -> None:
    @app.batch(max=3, within="30s", retries=0)
    def check(numbers: list[int]) -> list[int | Exception]:
        return [ValueError("odd") if number % 2 else number for number in numbers]

    with app.running():
        zero, one, two = handles(app.submit_many([check.call(n) for n in range(3)]))
        with pytest.raises(TaskFailed, match="ValueError: odd"):
            one.result(timeout=20)
        assert (zero.result(timeout=20), two.result(timeout=20)) == (0, 2)


def test_a_call_that_raises_is_bisected_until_the_poison_item_is_alone(app: Drumline[None]) -> None:
    calls: list[list[int]] = []

    @app.batch(max=8, within="30s", retries=1, backoff=0.0, name="charge")
    async def charge(numbers: list[int]) -> list[int]:
        calls.append(numbers)
        if 5 in numbers:
            raise ValueError("poison")
        return numbers

    with app.running():
        found = handles(app.submit_many([charge.call(n) for n in range(8)]))
        with pytest.raises(TaskFailed, match="poison"):
            found[5].result(timeout=20)
        others = [handle.result(timeout=20) for n, handle in enumerate(found) if n != 5]
        attempts = [len(handle.attempts()) for handle in found]

    assert others == [0, 1, 2, 3, 4, 6, 7]
    assert sorted(map(len, calls)) == [1, 1, 1, 2, 2, 4, 4, 8]
    assert calls[-1] == [5]  # its retry, alone
    assert attempts == [1, 1, 1, 1, 1, 2, 1, 1]


def test_a_list_of_another_length_fails_every_item_by_itself(app: Drumline[None]) -> None:
    @app.batch(max=2, within="30s", retries=0)
    def short(numbers: list[int]) -> list[int]:
        return numbers[:0]

    with app.running():
        for handle in handles(app.submit_many([short.call(n) for n in range(2)])):
            with pytest.raises(TaskFailed, match="returned 0 results for 1 items"):
                handle.result(timeout=20)


def test_a_permanent_failure_of_an_item_is_not_retried(app: Drumline[None]) -> None:
    @app.batch(max=1, within=0, retries=5)
    def refuse(numbers: list[int]) -> list[int | Exception]:
        return [Permanent("never") for _ in numbers]

    with app.running():
        handle = refuse.submit(1)
        with pytest.raises(TaskFailed, match="never"):
            handle.result(timeout=20)
        assert len(handle.attempts()) == 1


def test_a_stopped_task_leaves_the_call_to_the_others(app: Drumline[None]) -> None:
    calls: list[list[int]] = []

    @app.batch(max=2, within="30s")
    async def wait(numbers: list[int]) -> list[int]:
        calls.append(numbers)
        return numbers

    with app.running():
        first = wait.submit(1)
        while first.status() != "PROCESSING":
            pass
        first.cancel()
        while first.status() != "CANCELLED":
            pass
        second, third = handles(app.submit_many([wait.call(2), wait.call(3)]))
        # The cancelled one still has its place in the list, which is full with the next.
        assert second.result(timeout=20) == 2
        wait.submit(4)
        assert third.result(timeout=20) == 3

    assert 1 not in [number for numbers in calls for number in numbers]


def test_arguments_are_checked_by_the_type_of_an_item(app: Drumline[None]) -> None:
    @app.batch(max=2, within=0, name="orders")
    def take(orders: list[Order]) -> list[int]:
        return [order.number for order in orders]

    with app.running():
        assert take.submit(Order(3)).result(timeout=20) == 3
        with pytest.raises((Invalid, TaskFailed)):
            app.submit_task("orders", {"item": {"number": "three"}}).result(timeout=20)


def test_mistakes_show_where_they_are_written(app: Drumline[None]) -> None:
    def two(items: list[int], other: int) -> list[int]:
        return items * other

    def no_list(items: int) -> list[int]:
        return [items]

    with pytest.raises(TypeError, match="one parameter"):
        app.batch(max=1, within=0)(two)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="annotate items as a list"):
        app.batch(max=1, within=0)(no_list)  # type: ignore[arg-type]
    with pytest.raises(Invalid) as most:
        app.batch(max=0, within=0)
    with pytest.raises(Invalid) as within:
        app.batch(max=1, within="2m")
    with pytest.raises(TypeError, match="max must be a whole number"):
        app.batch(max="many", within=0)  # type: ignore[arg-type]

    assert (most.value.field, within.value.field) == ("max", "within")
