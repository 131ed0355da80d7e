"""Running programs: in a process group of their own, with nothing inherited by chance, never outliving their time."""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from codecs import getincrementaldecoder
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from drumline.worker.guardian import Guardian

KEPT_VARIABLES: Final = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""What programs inherit of the worker's environment; its secrets are not among them."""
CLOSING_SECONDS: Final = 1.0
"""How long output may still come after the program and its group are gone."""
KILL_SECONDS: Final = 5.0


class Program(Struct, frozen=True, kw_only=True):
    """What to run, and in which surroundings."""

    argv: tuple[str, ...]
    cwd: Path
    env: dict[str, str]
    stdin: bytes | None = None


class Tail:
    """The last bytes of an output."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._data = bytearray()
        self.is_cut = False

    def add(self, data: bytes) -> None:
        """Take more output, and forget the oldest beyond the size."""
        self._data += data
        if len(self._data) > self._size:
            del self._data[: -self._size]
            self.is_cut = True

    @property
    def text(self) -> str:
        """What is kept, as text."""
        return self._data.decode("utf-8", "replace")


class Output:
    """Where a program's output goes: bytes to whoever wants them, and text to the log as it comes."""

    def __init__(self, write: Callable[[str], None], *tails: Tail) -> None:
        self._write = write
        self._tails = tails
        self._decoder = getincrementaldecoder("utf-8")("replace")

    async def drain(self, reader: asyncio.StreamReader) -> None:
        """Take everything until the output ends."""
        while data := await reader.read(64 * 1024):
            for tail in self._tails:
                tail.add(data)
            self._write(self._decoder.decode(data))
        self._write(self._decoder.decode(b"", final=True))


def inherited_environment() -> dict[str, str]:
    """Return the part of the worker's environment that programs may see."""
    return {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}


async def run_program(
    program: Program, *, out: Output, err: Output, grace: Callable[[], float], guardian: Guardian
) -> int:
    """Run a program to its end and return its exit code, negative for a signal.

    When it ends, whatever it has started in its group is killed. When this is cancelled, the group gets SIGTERM, and
    SIGKILL after `grace()` seconds or at the next cancellation.
    """
    process = await asyncio.create_subprocess_exec(
        *program.argv,
        stdin=DEVNULL if program.stdin is None else PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=program.cwd,
        env=program.env,
        start_new_session=True,
    )
    guardian.watch(process.pid)
    readers = [
        asyncio.create_task(output.drain(stream), name=f"output of {process.pid}")
        for output, stream in ((out, process.stdout), (err, process.stderr))
        if stream is not None
    ]
    try:
        await _feed(process, program.stdin)
        code = await process.wait()
    except asyncio.CancelledError:
        await end_group(process, grace())
        raise
    finally:
        kill_group(process.pid, signal.SIGKILL)
        guardian.unwatch(process.pid)
        await _close(readers)
    return code


async def _feed(process: Process, stdin: bytes | None) -> None:
    if stdin is None or process.stdin is None:
        return
    # A program need not read its input to the end.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(stdin)
        await process.stdin.drain()
    process.stdin.close()


async def _close(readers: list["asyncio.Task[None]"]) -> None:
    """Take the last output; a process that left the group may hold the pipe open for ever, so not without end."""
    _, late = await asyncio.wait(readers, timeout=CLOSING_SECONDS)
    for reader in late:
        reader.cancel()


async def end_group(process: Process, grace: float) -> None:
    """Ask a process group to end, and kill it if it has not after `grace` seconds."""
    try:
        if grace > 0:
            kill_group(process.pid, signal.SIGTERM)
            await asyncio.wait_for(process.wait(), grace)
    except TimeoutError:
        pass  # it had its chance
    finally:
        kill_group(process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), KILL_SECONDS)


def kill_group(group: int, number: signal.Signals) -> None:
    """Send a signal to a process group; one that is gone is what was wanted."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def describe_exit(code: int) -> str:
    """Return an exit code in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
