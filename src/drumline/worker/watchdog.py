"""Kills programs whose worker has died, even if it was killed with -9.

One tiny process beside the worker holds the reading end of a pipe and a list of process groups. When the worker dies,
however it dies, the kernel closes the pipe, and the watchdog kills the groups. It is started with the first program.
"""

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Self

_PROGRAM = Path(__file__).with_name("watchdog_process.py")


class Watchdog:
    """Watches process groups on behalf of this process."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None

    def ensure_started(self) -> None:
        """Be there before a program is started, so that it is watched from its first moment."""
        if self._process is None:
            self._start()

    def watch(self, group: int) -> None:
        """Kill this group if the worker dies."""
        self._groups.add(group)
        self._tell(f"+{group}\n")

    def unwatch(self, group: int) -> None:
        """Forget a group that has ended: its number may be reused by another program."""
        self._groups.discard(group)
        self._tell(f"-{group}\n")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
            self._process.wait(5)  # it ends with its pipe
            self._process = None

    def _tell(self, line: str) -> None:
        try:
            if self._process is None or self._process.stdin is None:
                raise BrokenPipeError  # noqa: TRY301 - not started yet is the same as gone
            os.write(self._process.stdin.fileno(), line.encode())
        except BrokenPipeError:
            self._start()

    def _start(self) -> None:
        if self._process is not None:
            self._process.wait(5)
        self._process = subprocess.Popen(  # noqa: S603 - our own program, no outside input
            [sys.executable, "-I", "-S", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            env={},  # nothing that another program of this user should not read
            bufsize=0,
        )
        if self._process.stdin is not None:
            os.write(self._process.stdin.fileno(), "".join(f"+{group}\n" for group in self._groups).encode())
