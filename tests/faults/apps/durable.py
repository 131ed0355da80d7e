"""Durable tasks whose effects are counted outside, and that collect signals while their waits time out."""

import asyncio
import os
import time
from contextlib import suppress
from pathlib import Path

from drumline import Context, Drumline, SignalTimeout, inject

app = Drumline("durable")


def leave_line(file: str, key: str) -> None:
    """Append a line, `key process`; a short append is whole or not there, also when the process is killed."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, f"{key} {os.getpid()}\n".encode())
    finally:
        os.close(descriptor)


def act(file: str, key: str) -> str:
    """Have an effect, and take a while to return: whoever is killed now has acted and not recorded."""
    leave_line(file, key)
    time.sleep(0.15)
    return key


@app.task(name="steps")
async def steps(file: str, name: str, count: int, *, ctx: Context[None] = inject()) -> list[str]:
    return [await ctx.step("act", act, file, f"{name}.{number}", key=number) for number in range(count)]


@app.task(name="slow_step")
async def slow_step(file: str, name: str, gate: str, *, ctx: Context[None] = inject()) -> int:
    """Take one step that acts, waits until there is a file, and tells when it is about to be recorded."""

    async def slow() -> int:
        leave_line(file, name)
        while not Path(gate).exists():  # noqa: ASYNC240 - another process opens the gate
            with suppress(asyncio.CancelledError):  # it takes no notice of being stopped
                await asyncio.sleep(0.2)
        leave_line(f"{file}.returned", name)
        return os.getpid()

    return await ctx.step("act", slow)


@app.task(name="collect")
async def collect(
    count: int, seconds: float, correlation: str | None = None, *, ctx: Context[None] = inject()
) -> list[int]:
    """Take so many signals, each by a wait that may time out just when it comes."""
    taken: list[int] = []
    waits = 0
    while len(taken) < count:
        with suppress(SignalTimeout):
            taken.append(await ctx.wait_for("go", int, timeout=seconds, key=waits, correlation=correlation))
        waits += 1
    return taken
