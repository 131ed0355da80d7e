import asyncio
import threading
from typing import Any

import pytest

from drumline import Cancelled, Context, Drumline, current, inject
from drumline.core.ids import TaskId
from drumline.sdk.context import activated

TASK = TaskId("01890a5d-ac96-774b-bcce-b302099a8057")


def test_outside_of_a_task_there_is_no_current_context() -> None:
    with pytest.raises(RuntimeError, match="inside tasks only"):
        current()


async def test_each_running_task_sees_its_own_context() -> None:
    async def seen(number: int) -> int:
        with activated(Context(id=TASK, state=None, attempt=number)):
            await asyncio.sleep(0)
            return current().attempt

    assert await asyncio.gather(*(seen(n) for n in range(5))) == [0, 1, 2, 3, 4]


async def test_a_thread_started_for_a_task_sees_its_context() -> None:
    with activated(Context(id=TASK, state=None, queue="mail")):
        assert await asyncio.to_thread(lambda: current().queue) == "mail"


def test_a_cancelled_task_stops_where_it_looks() -> None:
    asked = threading.Event()
    context = Context(id=TASK, state=None, on_look=asked.is_set)
    context.raise_if_cancelled()
    before = context.is_cancelled

    asked.set()

    assert (before, context.is_cancelled) == (False, True)
    with pytest.raises(Cancelled, match=TASK):
        context.raise_if_cancelled()


def test_progress_and_artifacts_reach_the_worker() -> None:
    told: list[tuple[Any, ...]] = []
    context = Context(
        id=TASK,
        state=None,
        on_progress=lambda done, total, message: told.append((done, total, message)),
        on_artifact=lambda name, data, kind: told.append((name, data, kind)),
    )

    context.progress(3, 10)
    context.progress(4, message="rows")
    context.put_artifact("a.txt", "é", "text/plain")
    context.put_artifact("b.bin", bytearray(b"xy"))

    assert told == [
        (3, 10, ""),
        (4, None, "rows"),
        ("a.txt", "é".encode(), "text/plain"),
        ("b.bin", b"xy", "application/octet-stream"),
    ]


def test_an_unfilled_parameter_says_what_to_do() -> None:
    def charge(*, ctx: Context[None] = inject()) -> int:
        return ctx.attempt

    with pytest.raises(RuntimeError, match=r"pass it yourself to use \.attempt"):
        charge()


def test_a_task_can_be_tested_with_a_context_of_ones_own() -> None:
    app = Drumline("test")

    @app.task
    def attempt(*, ctx: Context[str] = inject()) -> str:
        return f"{ctx.state} {ctx.attempt}"

    assert attempt(ctx=Context(id=TASK, state="db", attempt=2)) == "db 2"


def test_a_task_called_by_another_shares_its_context() -> None:
    app = Drumline("test")

    @app.task
    def inner(*, ctx: Context[None] = inject()) -> int:
        return ctx.attempt

    with activated(Context(id=TASK, state=None, attempt=7)):
        assert inner() == 7
