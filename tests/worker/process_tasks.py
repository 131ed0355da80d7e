"""Functions for child processes: they must be found by importing this module."""

# ruff: noqa: T201 - printing is what is tested here

import asyncio
import logging
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from drumline.sdk.app import Drumline
from drumline.sdk.context import Context, inject
from drumline.sdk.errors import ChildFailed
from drumline.sdk.signals import Permanent, Retry, Snooze

app = Drumline("processes")


@app.task(name="pid", process=True)
def pid() -> int:
    return os.getpid()


@app.task(name="environment", process=True)
def environment() -> dict[str, str]:
    shown = Path("/proc/self/environ").read_text(encoding="latin-1")
    return {"key": os.environ["DRUMLINE_API_KEY"], "shown": shown}


@app.task(name="advance", process=True)
def advance(seconds: float, *, ctx: Context[None] = inject()) -> None:
    ctx.progress(1, 2, "half")
    time.sleep(seconds)


@app.task(name="square", process=True)
def square(n: int) -> int:
    return n * n


@app.task(name="talk", process=True)
def talk() -> None:
    print("printed in the child")
    sys.stderr.write("written to stderr\n")
    logging.getLogger("child").info("logged in the child")


@app.task(name="spin", process=True)
def spin(marker: str, *, tidy: bool = False) -> None:
    from pathlib import Path  # noqa: PLC0415

    Path(marker).write_text(str(os.getpid()))
    try:
        while True:
            time.sleep(0.005)
    finally:
        if tidy:
            Path(marker + ".tidied").touch()


@app.task(name="die", process=True)
def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@app.task(name="raise", process=True, give_up_on=(KeyError,))
def throw(kind: str) -> None:
    raise {
        "permanent": Permanent("no"),
        "retry": Retry("later", after=30),
        "snooze": Snooze(60),
        "give up": KeyError("x"),
        "exit": SystemExit(2),
        "unknown": ZeroDivisionError("oops"),
    }[kind]


@app.task(name="make", process=True)
def make(*, ctx: Context[None] = inject()) -> list[Any]:
    ctx.put_artifact("made.bin", b"\x00\xff" * 1000)
    return [ctx.id, ctx.name, ctx.attempt, ctx.deadline is not None]


@app.task(name="opaque", process=True)
def opaque() -> object:
    return object()


@app.task(name="raise-base", process=True)
def raise_base(kind: str) -> None:
    errors: dict[str, BaseException] = {
        "KeyboardInterrupt": KeyboardInterrupt(),
        "GeneratorExit": GeneratorExit(),
        "SystemExit": SystemExit(0),
        "CancelledError": asyncio.CancelledError(),
        "group": BaseExceptionGroup("several", [KeyboardInterrupt(), ValueError("x")]),
    }
    raise errors[kind]


@app.task(name="log-fields", process=True)
def log_fields() -> None:
    logging.getLogger("child").info("paid", extra={"order": 7, "note": "with spaces"})


@app.task(name="durable in a process", process=True, retries=0)
def durable(folder: str, *, ctx: Context[None] = inject()) -> list[int]:
    def effect() -> int:
        with (Path(folder) / "effects").open("a") as file:
            file.write("x")
        return 7

    first = ctx.blocking.step("effect", effect)
    ctx.blocking.sleep("nap", hours=1)
    return [first, ctx.blocking.step("second", lambda: first + 1)]


@app.task(name="leaf of a process", retries=0)
async def leaf(x: int) -> int:
    if x < 0:
        raise ValueError(f"{x} is negative")
    return x + 1


@app.task(name="calls from a process", process=True, retries=0)
def calls(*, ctx: Context[None] = inject()) -> list[object]:
    found: list[object] = [ctx.blocking.call(leaf, 1), *ctx.blocking.map(leaf, [2, 3], name="rest")]
    try:
        ctx.blocking.first(leaf.call(-1))
    except ChildFailed as error:
        found.append(error.remote_message)
    return found


@app.task(name="rounds in a process", process=True, retries=0)
def rounds(number: int, *, ctx: Context[None] = inject()) -> list[int]:
    tenfold = ctx.blocking.step("tenfold", lambda: number * 10)
    if number < 2:
        ctx.blocking.restart(rounds, number + 1)
    return [number, tenfold]
