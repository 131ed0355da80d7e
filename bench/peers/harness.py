"""What every peer's script shares: the commands it answers and the tally its tasks keep.

A script is run inside its peer's own environment, so this page needs the standard library only.

    SCRIPT version                           what was installed
    SCRIPT setup                             make schemas
    SCRIPT enqueue COUNT SECONDS IN_FLIGHT   submit one by one
    SCRIPT bulk COUNT SECONDS                submit by the peer's bulk call
    SCRIPT paced RATE SECONDS                submit at a steady rate, each task carrying its time
    SCRIPT worker                            run one worker process until SIGTERM
    SCRIPT attendant                         run what a deployment needs beside workers, until SIGTERM

Submissions stop at COUNT or after SECONDS, whichever comes first; the reply is one line of JSON.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final

REDIS_URL: Final = os.environ.get("PEER_REDIS_URL", "redis://127.0.0.1:6379/0")
POSTGRES_URL: Final = os.environ.get("PEER_POSTGRES_URL", "postgresql://127.0.0.1/peer")
PORTS: Final = tuple(int(port) for port in os.environ.get("PEER_PORTS", "").split(",") if port)
"""Free ports on the loopback address, for a peer that has a server."""
SERVER: Final = Path(os.environ.get("PEER_SERVER", "."))
"""The folder where the server of such a peer was installed."""
NUMBER: Final = int(os.environ.get("PEER_NUMBER", "0"))
"""Which of the workers this is."""
BATCH: Final = 1000
STEPS: Final = int(os.environ.get("PEER_STEPS", "0"))
"""Durable steps that a task takes, one after the other; then they are what counts."""

# The layout of a tally file, in cells of float64: completions of each thread, then how many
# delays were kept, then the delays in milliseconds.
THREADS: Final = 256
DELAYS: Final = 16_384
CELLS: Final = THREADS + 1 + DELAYS


class Tally:
    """Completions of one worker, in a file that the driver can read while it grows.

    The file is mapped and shared: children forked after `open` count into the same cells.
    """

    def __init__(self) -> None:
        """Wait with the file until the first completion or `open`."""
        self._cells: memoryview[float] | None = None
        self._slots = itertools.count()
        self._thread = threading.local()
        self._lock = threading.Lock()

    def open(self) -> memoryview[float]:
        """Return the cells, making the file at the first call."""
        with self._lock:
            if self._cells is None:
                path = Path(os.environ["PEER_TALLY_DIR"]) / f"{os.getpid()}.tally"
                with path.open("w+b") as file:
                    file.truncate(CELLS * 8)
                    self._cells = memoryview(mmap.mmap(file.fileno(), 0)).cast("d")
            return self._cells

    def count(self, sent_ns: int) -> None:
        """Count one completion, and keep its delay unless `sent_ns` is zero."""
        if sent_ns:
            self.keep_delay(sent_ns)
        self.add(1)

    def keep_delay(self, sent_ns: int) -> None:
        """Keep how long ago a task was sent."""
        cells = self._cells or self.open()
        delay = (time.time_ns() - sent_ns) / 1e6
        with self._lock:
            kept = int(cells[THREADS])
            cells[THREADS + 1 + kept] = delay
            cells[THREADS] = kept + 1

    def add(self, completions: int) -> None:
        """Count completions."""
        cells = self._cells or self.open()
        try:
            slot = self._thread.slot
        except AttributeError:
            slot = self._thread.slot = next(self._slots)
        cells[slot] += completions


tally: Final = Tally()


@dataclass(frozen=True, kw_only=True)
class Producer:
    """How a peer's tasks are submitted: one at a time and, where offered, many by one call."""

    submit: Callable[[int], Awaitable[object]]
    submit_many: Callable[[int], Awaitable[object]] | None = None


@dataclass(frozen=True, kw_only=True)
class Peer:
    """What a script brings: where its version is, how it submits, how it works."""

    distribution: str
    producer: Callable[[], AbstractAsyncContextManager[Producer]]
    work: Callable[[], object]
    setup: Callable[[], object] = lambda: None
    run: Callable[[Coroutine[Any, Any, None]], None] = asyncio.run
    attend: Callable[[], object] | None = None
    version: Callable[[], str] | None = None


def blocking(
    submit: Callable[[int], object], submit_many: Callable[[int], object] | None = None
) -> Callable[[], AbstractAsyncContextManager[Producer]]:
    """Make a producer of calls that block, for peers that are not asynchronous."""

    def awaitable(call: Callable[[int], object]) -> Callable[[int], Awaitable[object]]:
        async def called(value: int) -> object:
            return call(value)

        return called

    @asynccontextmanager
    async def produce() -> AsyncIterator[Producer]:
        many = None if submit_many is None else awaitable(submit_many)
        yield Producer(submit=awaitable(submit), submit_many=many)

    return produce


def main(peer: Peer) -> None:
    """Answer one command."""
    match sys.argv[1:]:
        case ["version"]:
            _reply(peer.version() if peer.version else metadata.version(peer.distribution))
        case ["setup"]:
            peer.setup()
        case ["worker"]:
            peer.work()
        case ["attendant"] if peer.attend:
            peer.attend()
        case ["enqueue", count, seconds, in_flight]:
            peer.run(_enqueue(peer, int(count), float(seconds), int(in_flight)))
        case ["bulk", count, seconds]:
            peer.run(_bulk(peer, int(count), float(seconds)))
        case ["paced", rate, seconds]:
            peer.run(_paced(peer, float(rate), float(seconds)))
        case _:
            sys.exit(__doc__)


def attend(command: list[str], prepare: Callable[[], object], environ: dict[str, str] | None = None) -> None:
    """Run a server in a folder of its own, say that it is ready once `prepare` has returned, and wait for SIGTERM."""
    folder = Path(os.environ["PEER_TALLY_DIR"])
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    server = subprocess.Popen(command, cwd=folder, env=os.environ | (environ or {}))
    threading.Thread(target=lambda: os._exit(server.wait()), daemon=True).start()  # it is over without its server
    try:
        prepare()
        (folder / "ready").touch()
        over.wait()
    finally:
        server.terminate()
        server.wait()


def until(call: Callable[[], object], seconds: float = 60.0) -> None:
    """Try `call` until it raises nothing."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            call()
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


async def _enqueue(peer: Peer, count: int, seconds: float, in_flight: int) -> None:
    async with peer.producer() as producer:
        turns = itertools.count(1)
        began_ns, began = time.time_ns(), time.perf_counter()

        async def submit_in_turn() -> int:
            done = 0
            while next(turns) <= count and time.perf_counter() - began < seconds:
                await producer.submit(0)
                done += 1
            return done

        submitted = sum(await asyncio.gather(*(submit_in_turn() for _ in range(in_flight))))
        _reply_submitted(submitted, began, began_ns)


async def _bulk(peer: Peer, count: int, seconds: float) -> None:
    async with peer.producer() as producer:
        if producer.submit_many is None:
            _reply(None)
            return
        submitted = 0
        began_ns, began = time.time_ns(), time.perf_counter()
        while submitted < count and time.perf_counter() - began < seconds:
            size = min(BATCH, count - submitted)
            await producer.submit_many(size)
            submitted += size
        _reply_submitted(submitted, began, began_ns)


async def _paced(peer: Peer, rate: float, seconds: float) -> None:
    async with peer.producer() as producer:
        count = int(rate * seconds)
        began_ns, began = time.time_ns(), time.perf_counter()
        for turn in range(count):
            await asyncio.sleep(max(0.0, began + turn / rate - time.perf_counter()))
            await producer.submit(time.time_ns())
        _reply_submitted(count, began, began_ns)


def _reply_submitted(count: int, began: float, began_ns: int) -> None:
    _reply({"count": count, "seconds": time.perf_counter() - began, "began_ns": began_ns})


def _reply(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
