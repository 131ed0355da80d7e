"""Steps whose function is not async run in threads of their own."""

import asyncio
import subprocess
import sys
import threading

from drumline.aio.daemon_threads import DaemonExecutor
from drumline.core.ids import TaskId
from drumline.sdk.context import Context

TASK = TaskId("01890a5d-ac96-774b-bcce-b302099a8057")
MANY = 40
HANGING = """
import asyncio, threading
from drumline import Context

async def main():
    begun = threading.Event()

    def hang():
        begun.set()
        threading.Event().wait()

    step = asyncio.ensure_future(Context(id="", state=None).step("hang", hang))
    while not begun.is_set():
        await asyncio.sleep(0.01)
    step.cancel()

asyncio.run(main())
"""


async def test_many_steps_that_block_run_at_once() -> None:
    together = threading.Barrier(MANY, timeout=60)
    context = Context(id=TASK, state=None)

    places = await asyncio.gather(*(context.step("meet", together.wait, key=n) for n in range(MANY)))

    assert sorted(places) == list(range(MANY))


async def test_more_than_the_most_wait_their_turn() -> None:
    executor = DaemonExecutor("few", 2)
    loop = asyncio.get_running_loop()
    lock, busy, busiest = threading.Lock(), 0, 0

    def work(number: int) -> int:
        nonlocal busy, busiest
        with lock:
            busy += 1
            busiest = max(busiest, busy)
        threading.Event().wait(0.005)
        with lock:
            busy -= 1
        return number

    assert await asyncio.gather(*(loop.run_in_executor(executor, work, n) for n in range(20))) == list(range(20))
    assert busiest == 2


def test_a_step_that_hangs_does_not_keep_the_process_from_ending() -> None:
    subprocess.run([sys.executable, "-c", HANGING], check=True, timeout=60)
