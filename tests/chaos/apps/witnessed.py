"""An app whose tasks append a line to a file when they begin, and one when they end or fail.

Times are monotonic: they are the same for all processes of the machine, and stay right when a clock is stepped.
A short append is whole or not there, also when the process is killed.
"""

import asyncio
import json
import os
import threading
import time

from drumline import Drumline, current

app = Drumline("witnessed")


def leave_line(moment: str, limit: str | None = None) -> None:
    attempt = current()
    line = {
        "line": "run",
        "at": time.monotonic(),
        "task": str(attempt.id),
        "moment": moment,
        "attempt": attempt.attempt,
    }
    line |= {"worker": os.environ["CHAOS_MEMBER"], "pid": os.getpid()} | ({"limit": limit} if limit else {})
    descriptor = os.open(os.environ["CHAOS_EXECUTIONS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, json.dumps(line).encode() + b"\n")
    finally:
        os.close(descriptor)


@app.task
async def wait(seconds: float) -> None:
    """Run on the loop."""
    leave_line("begin")
    await asyncio.sleep(seconds)
    leave_line("end")


@app.task
def block(seconds: float) -> None:
    """Run in a thread."""
    leave_line("begin")
    threading.Event().wait(seconds)
    leave_line("end")


@app.task
async def stumble(seconds: float) -> None:
    """Fail in the first attempt."""
    leave_line("begin")
    await asyncio.sleep(seconds)
    if current().attempt == 1:
        leave_line("error")
        raise ConnectionError("the first attempt fails")
    leave_line("end")


@app.task
async def fail(seconds: float) -> None:
    """Fail always."""
    leave_line("begin")
    await asyncio.sleep(seconds)
    leave_line("error")
    raise ValueError("every attempt fails")


@app.task
async def limited(seconds: float) -> None:
    """Run under a limit."""
    leave_line("begin", "three/3")
    await asyncio.sleep(seconds)
    leave_line("end", "three/3")
