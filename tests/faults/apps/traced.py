"""An app whose tasks leave a line when they begin and one when they end or fail: so a test sees what really ran.

A line is `key process moment time`. A short append is whole or not there, also when the process is killed.
"""

import asyncio
import os
import time

from drumline import Drumline

app = Drumline("traced")


def leave_line(file: str, key: str, moment: str) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, f"{key} {os.getpid()} {moment} {time.time():.3f}\n".encode())
    finally:
        os.close(descriptor)


@app.task
async def wait(file: str, key: str, seconds: float) -> str:
    """Run on the loop."""
    leave_line(file, key, "begin")
    await asyncio.sleep(seconds)
    leave_line(file, key, "end")
    return key


@app.task
def block(file: str, key: str, seconds: float) -> str:
    """Run in a thread."""
    leave_line(file, key, "begin")
    time.sleep(seconds)
    leave_line(file, key, "end")
    return key


@app.task
async def stumble(file: str, key: str, seconds: float) -> str:
    """Fail the first time."""
    leave_line(file, key, "begin")
    await asyncio.sleep(seconds)
    try:
        os.close(os.open(f"{file}.{key}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        leave_line(file, key, "end")
        return key
    leave_line(file, key, "fail")
    raise ConnectionError("not the first time")
