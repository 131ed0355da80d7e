"""Durable tasks whose steps kill the process that runs them, once each, between their effect and its record."""

import os
import signal
import threading
import time
from pathlib import Path

from drumline import Context, Drumline, inject

app = Drumline("deadly")
dying = threading.Event()


def leave_line(file: str, key: str) -> None:
    """Append a line, `key process`; a short append is whole or not there, also when the process is killed."""
    with Path(file).open("a") as lines:
        lines.write(f"{key} {os.getpid()}\n")


def kill_once(folder: str, key: str, after: float) -> None:
    """Kill this process, at once or so many seconds later, if nobody was killed for this key before."""
    try:
        (Path(folder) / f"first-{key}").touch(exist_ok=False)
    except FileExistsError:
        return
    leave_line(f"{folder}/killed", key)
    if after == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    dying.set()
    threading.Timer(after, os.kill, (os.getpid(), signal.SIGKILL)).start()


def have_effect(folder: str, key: str) -> int:
    """Leave a line. One kill is for one key: in a process that is dying, what comes next waits for it."""
    while dying.is_set():
        time.sleep(1)
    leave_line(f"{folder}/effects", key)
    return os.getpid()


def act(folder: str, key: str, after: float) -> int:
    """Have an effect; if it is the first of its step, kill this process: at once, or so many seconds later."""
    pid = have_effect(folder, key)
    kill_once(folder, key, after)
    return pid


async def act_async(folder: str, key: str, after: float) -> int:
    return act(folder, key, after)


@app.task(name="deadly.async", retries=100, backoff=0.1)
async def by_loop(folder: str, name: str, delays: list[float], *, ctx: Context[None] = inject()) -> list[int]:
    return [
        await ctx.step("act", act_async, folder, f"{name}.{number}", after, key=number)
        for number, after in enumerate(delays)
    ]


@app.task(name="deadly.thread", retries=100, backoff=0.1)
def by_thread(folder: str, name: str, delays: list[float], *, ctx: Context[None] = inject()) -> list[int]:
    return [
        ctx.blocking.step("act", act, folder, f"{name}.{number}", after, key=number)
        for number, after in enumerate(delays)
    ]


@app.task(name="deadly.process", process=True, retries=100, backoff=0.1)
def by_process(folder: str, name: str, delays: list[float], *, ctx: Context[None] = inject()) -> list[int]:
    return [
        ctx.blocking.step("act", act, folder, f"{name}.{number}", after, key=number)
        for number, after in enumerate(delays)
    ]


@app.task(name="deadly.rounds", retries=100, backoff=0.1)
async def rounds(
    folder: str, name: str, delays: list[float], number: int = 0, total: int = 0, *, ctx: Context[None] = inject()
) -> int:
    """Begin as many rounds as there are delays; the process that ends a round dies before, in or after its restart."""
    await ctx.step("act", have_effect, folder, f"{name}.{number}")
    if number == len(delays):
        return total + 1
    kill_once(folder, f"{name}.{number}", delays[number])
    return await ctx.restart(rounds, folder, name, delays, number + 1, total + 1)
