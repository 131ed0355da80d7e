"""Trace one embedded task: how many functions and files it passes on the event loop, and how deep the driver is.

Frames are counted along the calls and the asyncio tasks that they start, from the worker's loop to the statement: a
batch counts as called by the item that began it. The frames of the thread that writes to SQLite are counted apart.
"""

import asyncio
import sys
import tempfile
import threading
from collections.abc import Coroutine
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple

from drumline import Drumline
from drumline.core.ids import TaskId
from drumline.core.task import TaskRequest
from drumline.engine.engine import Engine
from drumline.lifecycle.processes import run_embedded_worker
from drumline.settings import Settings
from drumline.wiring import open_engine

SOURCE: Final = str(Path(__file__).parents[1] / "src" / "drumline")
DRIVER: Final = "Database.write"
THREAD: Final = "Database._write_until_closed"
WARM_UP: Final = 3

app = Drumline("shape")


@app.task
async def noop() -> None:
    """Do nothing."""


class TaskTrace(NamedTuple):
    """What one task passed through on the loop, without comprehensions and lambdas, and the frames to the driver."""

    functions: int
    files: int
    claim: int
    settle: int
    writer: int


class _Trace:
    def __init__(self) -> None:
        self.codes: set[CodeType] = set()
        self.frames = {"claim": 0, "settle": 0}
        self.in_thread = 0
        self._base: dict[asyncio.Task[Any], int] = {}

    def profile(self, frame: FrameType, event: str, _arg: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(SOURCE):
            return
        if "<" not in code.co_name:
            self.codes.add(code)
        if code.co_qualname == DRIVER:
            act = {"Claiming.claim": "claim", "Settling.settle": "settle"}.get(_caller(frame))
            if act is not None:
                self.frames[act] = max(self.frames[act], self._depth(frame))

    def profile_thread(self, frame: FrameType, event: str, _arg: object) -> None:
        if event == "c_call" and frame.f_code.co_filename.startswith(SOURCE):
            names = [each.co_qualname for each in _stack(frame)]
            if THREAD in names:
                self.in_thread = max(self.in_thread, len(names))

    def make_task(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **options: Any) -> Any:
        task = asyncio.Task(work, loop=loop, **options)
        self._base[task] = self._depth(sys._getframe())  # noqa: SLF001 - there is no other way to the caller's frame
        return task

    def result(self) -> TaskTrace:
        files = {code.co_filename for code in self.codes}
        return TaskTrace(len(self.codes), len(files), **self.frames, writer=self.in_thread)

    def _depth(self, frame: FrameType) -> int:
        try:
            current = asyncio.current_task()
        except RuntimeError:
            current = None
        return len(_stack(frame)) + (0 if current is None else self._base.get(current, 0))


def _stack(frame: FrameType | None) -> list[CodeType]:
    codes = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(SOURCE):
            codes.append(frame.f_code)
        frame = frame.f_back
    return codes


def _caller(frame: FrameType) -> str:
    return "" if frame.f_back is None else frame.f_back.f_code.co_qualname


async def _run_one(engine: Engine) -> TaskId:
    submitted = await engine.submissions.submit(TaskRequest(name=noop.name))
    await engine.queries.wait(submitted.id, seconds=10)
    return submitted.id


async def _trace() -> TaskTrace:
    with tempfile.TemporaryDirectory() as folder:
        settings, trace = Settings(data=Path(folder)), _Trace()
        threading.setprofile(trace.profile_thread)
        engine = await open_engine(settings)
        await engine.store.migrate()
        stop = asyncio.Event()
        running = asyncio.create_task(run_embedded_worker(app, engine, stop))
        for _ in range(WARM_UP):
            await _run_one(engine)
        loop, trace.in_thread = asyncio.get_running_loop(), 0
        loop.set_task_factory(trace.make_task)
        sys.setprofile(trace.profile)
        await _run_one(engine)
        sys.setprofile(None)
        loop.set_task_factory(None)
        threading.setprofile(None)  # type: ignore[arg-type]
        stop.set()
        await running
        await engine.close()
        return trace.result()


def trace_one_task() -> TaskTrace:
    """Run a task that does nothing, embedded, and return what it passed through."""
    return asyncio.run(_trace())
