"""An app whose tasks leave traces in files, so that a test can count what really ran."""

import asyncio
import os
import time
from pathlib import Path

from drumline import Drumline, Permanent

app = Drumline("work")


def leave_trace(file: str, text: str) -> None:
    """Append a line; a short append is whole or not there, also when the process is killed."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, f"{text} {os.getpid()} {time.time():.3f}\n".encode())
    finally:
        os.close(descriptor)


@app.task
def trace(file: str, text: str) -> str:
    print("tracing", text)  # noqa: T201 - what a task prints is its log
    leave_trace(file, text)
    return text


@app.task
async def trace_late(file: str, text: str, seconds: float) -> None:
    await asyncio.sleep(seconds)
    leave_trace(file, text)


@app.task
def trace_once_let(file: str, text: str, gate: str) -> None:
    """Wait until a file is there that only the test makes: so the task runs for just as long as the test needs."""
    while not Path(gate).exists():
        time.sleep(0.02)
    leave_trace(file, text)


@app.task
async def sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


@app.task
def refuse(file: str) -> None:
    leave_trace(file, "refused")
    raise Permanent("never")


@app.task
def fail(file: str) -> None:
    leave_trace(file, "failed")
    raise ConnectionError("not now")


@app.task
def die(file: str) -> None:
    leave_trace(file, "died")
    os._exit(9)


@app.task
async def ask_async(file: str) -> None:
    await trace.asubmit(file, "asked by an async task")


@app.task
def ask_in_thread(file: str) -> None:
    trace.submit(file, "asked from a thread")


@app.task(process=True)
def ask_in_process(file: str) -> None:
    trace.submit(file, "asked from a process")
