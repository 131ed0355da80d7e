"""Running a process on an event loop."""

import asyncio
import sys
from collections.abc import Callable

import pytest

from drumline.lifecycle.processes import run_to_end


def loops() -> list[Callable[[], asyncio.AbstractEventLoop]]:
    try:
        from uvloop import new_event_loop  # noqa: PLC0415 - not to be had everywhere
    except ImportError:
        return [asyncio.new_event_loop]
    return [asyncio.new_event_loop, new_event_loop]


@pytest.mark.parametrize("make_loop", loops())
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["task", "callback"])
def test_what_user_code_raises_in_a_task_or_callback_of_its_own_does_not_end_the_process(
    make_loop: Callable[[], asyncio.AbstractEventLoop], error: type[BaseException], where: str
) -> None:
    caught: list[type[BaseException]] = []

    def leave() -> None:
        raise error

    async def leave_async() -> None:
        leave()

    async def process() -> None:
        loop = asyncio.get_running_loop()
        if where == "callback":
            loop.call_soon(leave)
        else:
            try:
                await asyncio.create_task(leave_async())
            except BaseException as raised:  # noqa: BLE001 - as an attempt does
                caught.append(type(raised))
        for _ in range(10):
            await asyncio.sleep(0)

    with asyncio.Runner(loop_factory=make_loop) as runner:
        loop = runner.get_loop()
        run_to_end(loop, loop.create_task(process()))

    assert caught == ([error] if where == "task" else [])


def test_a_process_that_ends_itself_ends() -> None:
    async def process() -> None:
        sys.exit(3)

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        main = loop.create_task(process())
        with pytest.raises(SystemExit) as end:
            run_to_end(loop, main)

    assert end.value.code == 3
