"""Measures the memory and the processor time of the worker's process and of its child processes.

On Linux `/proc` tells both, for each process by one small file. Elsewhere the memory that is in use now is not known
without a package for it, and the processor time is that of the process and of children that have ended.
"""

import asyncio
import logging
import os
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from drumline.aio.threads import in_thread
from drumline.core.clock import Clock
from drumline.core.session import MOST_CORES, MOST_MEMORY, NO_USAGE, Usage

WAIT_SECONDS: Final = 0.25
"""How long a heartbeat waits for the measurement that it carries; without it, it goes on its way."""
MOST_PROCESSES: Final = 512
"""Processes that are measured, and threads of each whose children are looked for: a task may start any number."""
MOST_THREADS: Final = 512
_log = logging.getLogger("drumline.worker")

_PROC: Final = Path("/proc")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_TICKS: Final = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class _Sample(NamedTuple):
    at: float
    seconds: float
    """Processor time used so far."""
    memory: int | None


class UsageMeter:
    """Tells what this process and its children use, measured in a thread between two heartbeats."""

    def __init__(self, clock: Clock, *, proc: Path = _PROC, pid: int | None = None) -> None:
        self._clock = clock
        self._proc = proc
        self._pid = os.getpid() if pid is None else pid
        self._last = _Sample(clock.monotonic(), _own_seconds(), None)
        self._measuring: asyncio.Future[_Sample] | None = None

    async def measure(self) -> Usage:
        """Return what is used now; nothing if that takes too long, so that no heartbeat is late for it."""
        if self._measuring is None:
            self._measuring = asyncio.ensure_future(in_thread(self._sample))
        measuring = self._measuring
        done, _ = await asyncio.wait({measuring}, timeout=WAIT_SECONDS)
        if not done:
            return NO_USAGE  # it goes on; the next heartbeat has it
        self._measuring = None
        if error := measuring.exception():  # no thread can be started, for one: that is not worth a heartbeat
            _log.warning("usage.not_measured: %s", error)
            return NO_USAGE
        last, self._last = self._last, measuring.result()
        return _usage(last, self._last)

    def _sample(self) -> _Sample:
        """Read the figures of the process and its descendants."""
        seconds, pages, seen = 0.0, 0, 0
        left = [self._pid]
        while left and seen < MOST_PROCESSES:
            pid = left.pop()
            try:
                ticks, resident = _parse((self._proc / str(pid) / "stat").read_bytes())
            except OSError:  # it has ended since it was listed, or there is no /proc
                continue
            seen += 1
            seconds += ticks / _TICKS
            pages += resident
            left += self._children(pid)
        if not seen:
            return _Sample(self._clock.monotonic(), _own_seconds(), None)
        return _Sample(self._clock.monotonic(), seconds, pages * _PAGE)

    def _children(self, pid: int) -> list[int]:
        """Return the children of a process, which the kernel lists by the threads that started them."""
        found: list[int] = []
        try:
            threads = list(islice((self._proc / str(pid) / "task").iterdir(), MOST_THREADS))
        except OSError:
            return found
        for thread in threads:
            try:
                text = (thread / "children").read_bytes()
            except OSError:  # it has ended since, or the kernel does not list children
                continue
            found += map(int, text.split())
        return found


def _own_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def _parse(stat: bytes) -> tuple[int, int]:
    """Return the processor time of a process and its ended children in ticks, and its resident pages.

    The second field is the program's name in parentheses, which may have spaces and parentheses in it.
    """
    fields = stat.rpartition(b")")[2].split()
    return sum(map(int, fields[11:15])), int(fields[21])


def _usage(last: _Sample, now: _Sample) -> Usage:
    """Return the usage between two samples, within what a heartbeat may say.

    The processor time of a child that was never waited for is gone with it, so that the sum may fall.
    """
    elapsed = now.at - last.at
    share = max(now.seconds - last.seconds, 0.0) / elapsed if elapsed > 0 else None
    return Usage(
        memory=None if now.memory is None else min(now.memory, MOST_MEMORY),
        cpu=None if share is None else min(round(share, 3), float(MOST_CORES)),
    )
