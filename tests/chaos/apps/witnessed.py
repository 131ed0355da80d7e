"""An app whose tasks append a line to a file when they begin, and one when they end or fail.

Times are monotonic: they are the same for all processes of the machine, and stay right when a clock is stepped.
A short append is whole or not there, also when the process is killed. Durable tasks note what their steps do as well;
an execution that ends because it waits, or because its lease is gone, is parked: the store knew before it did.
"""

import asyncio
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from drumline import Context, Drumline, SignalTimeout, current, inject
from drumline.sdk.signals import Parked

app = Drumline("witnessed")


def append(line: dict[str, Any]) -> None:
    descriptor = os.open(os.environ["CHAOS_EXECUTIONS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, json.dumps(line).encode() + b"\n")
    finally:
        os.close(descriptor)


def leave_line(moment: str, limit: str | None = None) -> None:
    attempt = current()
    line = {
        "line": "run",
        "at": time.monotonic(),
        "task": str(attempt.id),
        "moment": moment,
        "attempt": attempt.attempt,
        "epoch": epoch_of(attempt),
    }
    append(line | {"worker": os.environ["CHAOS_MEMBER"], "pid": os.getpid()} | ({"limit": limit} if limit else {}))


def epoch_of(ctx: Context[Any]) -> int:
    return 0 if ctx.lease is None else ctx.lease.epoch


@contextmanager
def noted(limit: str | None = None) -> Iterator[None]:
    """Leave a line at the begin and at the end of an execution."""
    leave_line("begin", limit)
    try:
        yield
    except Parked:
        leave_line("parked", limit)
        raise
    except Exception:
        leave_line("error", limit)
        raise
    leave_line("end", limit)


@app.task
async def wait(seconds: float) -> None:
    """Run on the loop."""
    with noted():
        await asyncio.sleep(seconds)


@app.task
def block(seconds: float) -> None:
    """Run in a thread."""
    with noted():
        threading.Event().wait(seconds)


@app.task
async def stumble(seconds: float) -> None:
    """Fail in the first attempt."""
    with noted():
        await asyncio.sleep(seconds)
        if current().attempt == 1:
            raise ConnectionError("the first attempt fails")


@app.task
async def fail(seconds: float) -> None:
    """Fail always."""
    with noted():
        await asyncio.sleep(seconds)
        raise ValueError("every attempt fails")


@app.task
async def limited(seconds: float) -> None:
    """Run under a limit."""
    with noted("three/3"):
        await asyncio.sleep(seconds)


def act(ctx: Context[Any], key: str) -> str:
    """Have an effect outside; what is returned, and recorded, names it."""
    at = time.monotonic()
    token = f"{epoch_of(ctx)}.{os.getpid()}.{at:.6f}"
    detail = {"key": key, "token": token, "epoch": epoch_of(ctx), "pid": os.getpid()}
    process = os.environ["CHAOS_MEMBER"]
    append({"line": "note", "at": at, "process": process, "what": "effect", "task": str(ctx.id), "detail": detail})
    return token


@app.task
async def durable(
    steps: int, signals: int, nap: float, seconds: float, correlation: str, *, ctx: Context[None] = inject()
) -> dict[str, Any]:
    """Act in steps, sleep, and collect signals by waits that time out."""

    async def effect(key: str) -> str:
        token = act(ctx, key)
        await asyncio.sleep(seconds)
        return token

    with noted():
        acted = [await ctx.step("act", effect, str(number), key=number) for number in range(steps)]
        await ctx.sleep("nap", nap)
        taken: list[int] = []
        waits = 0
        while len(taken) < signals:
            waits += 1
            with suppress(SignalTimeout):
                taken.append(await ctx.wait_for("go", int, timeout=nap * waits, key=waits, correlation=correlation))
        return {"acted": acted, "taken": taken}


@app.task
def durable_blocking(
    steps: int, signals: int, nap: float, seconds: float, correlation: str, *, ctx: Context[None] = inject()
) -> dict[str, Any]:
    """Do the same in a thread."""

    def effect(key: str) -> str:
        token = act(ctx, key)
        threading.Event().wait(seconds)
        return token

    calls = ctx.blocking
    with noted():
        acted = [calls.step("act", effect, str(number), key=number) for number in range(steps)]
        calls.sleep("nap", nap)
        taken: list[int] = []
        waits = 0
        while len(taken) < signals:
            waits += 1
            with suppress(SignalTimeout):
                taken.append(calls.wait_for("go", int, timeout=nap * waits, key=waits, correlation=correlation))
        return {"acted": acted, "taken": taken}


@app.task
async def leaf(seconds: float) -> int:
    """Be a child without children."""
    with noted():
        await asyncio.sleep(seconds)
        return 1


@app.task
async def hold(*, ctx: Context[None] = inject()) -> int:
    """Wait until somebody cancels it: nobody but its parent does."""
    with noted():
        await ctx.sleep("long", days=30)
        return 1


@app.task
async def family(depth: int, width: int, seconds: float, *, ctx: Context[None] = inject()) -> int:
    """Start children in every way, wait for them, and return how many tasks have worked for it."""
    with noted():
        if depth == 0:
            return 1
        deeper = await ctx.call(family.call(depth - 1, width, seconds))
        among = await ctx.map(leaf, [seconds] * width, window=2)
        first = await ctx.first(leaf.call(seconds), hold.call())
        return 1 + deeper + sum(among) + first
