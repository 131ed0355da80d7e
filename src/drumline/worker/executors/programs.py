"""Running programs: in a process group of their own, with nothing inherited by chance, never outliving their time."""

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from asyncio.subprocess import Process
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Final

from msgspec import Struct

from drumline.worker.watchdog import Watchdog

KEPT_VARIABLES: Final = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""What programs inherit of the worker's environment; its secrets are not among them."""
CLOSING_SECONDS: Final = 1.0
"""How long output may still come after the program and its group are gone."""
KILL_SECONDS: Final = 5.0
READ_AT_ONCE: Final = 64 * 1024


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
    """Collects a program's output: bytes for the executor, and text for the log as it arrives."""

    def __init__(self, write: Callable[[str], None], *tails: Tail) -> None:
        self._write = write
        self._tails = tails
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def take(self, data: bytes) -> None:
        """Pass a piece on."""
        for tail in self._tails:
            tail.add(data)
        self._write(self._decoder.decode(data))

    def finish(self) -> None:
        """Pass on what was held back as half a character."""
        self._write(self._decoder.decode(b"", final=True))


@asynccontextmanager
async def private_folder(prefix: str) -> AsyncIterator[Path]:
    """Give an empty folder that only this user can read, and remove it afterwards, in a thread: it may be large."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def inherited_environment() -> dict[str, str]:
    """Return the part of the worker's environment that programs may see."""
    return {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}


async def run_program(
    program: Program, *, out: Output, err: Output, grace: Callable[[], float], watchdog: Watchdog
) -> int:
    """Run a program to its end and return its exit code, negative for a signal.

    When it ends, whatever it has started in its group is killed. When this is cancelled, the group gets SIGTERM, and
    SIGKILL after `grace()` seconds or at the next cancellation.
    """
    watchdog.ensure_started()
    async with _draining(out) as their_out, _draining(err) as their_err:
        with _input(program.stdin) as stdin, os.fdopen(their_out, "wb") as stdout, os.fdopen(their_err, "wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                *program.argv,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=program.cwd,
                env=program.env,
                start_new_session=True,
            )
        watchdog.watch(process.pid)
        try:
            return await process.wait()
        except asyncio.CancelledError:
            await end_group(process, grace())
            raise
        finally:
            kill_group(process.pid, signal.SIGKILL)
            watchdog.unwatch(process.pid)


def _input(stdin: bytes | None) -> IO[bytes]:
    """Return the program's standard input as a file, so that a program that does not read blocks nothing."""
    if stdin is None:
        return Path(os.devnull).open("rb")
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the caller
    file.write(stdin)
    file.seek(0)
    return file


@asynccontextmanager
async def _draining(output: Output) -> AsyncIterator[int]:
    """Give the writing end of a pipe, to be closed by the caller, whose other end is drained into `output`.

    The pipes are our own: those of asyncio would make waiting for the program wait for everyone who has inherited
    them. A process that left the group may hold a pipe open for ever, so the last output is not awaited for ever.
    They are read here and not by a transport, because uvloop closes a transport's descriptor twice: by the second time
    the number may belong to a file or connection that another thread has just opened.
    """
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    loop = asyncio.get_running_loop()
    is_drained = asyncio.Event()

    def read() -> None:
        try:
            data = os.read(reading, READ_AT_ONCE)
        except BlockingIOError:
            return
        if data:
            output.take(data)
        else:
            loop.remove_reader(reading)
            is_drained.set()

    loop.add_reader(reading, read)
    try:
        yield writing
    finally:
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSING_SECONDS):
                    await is_drained.wait()
        finally:
            loop.remove_reader(reading)
            os.close(reading)
            output.finish()


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
    """Return a description of an exit code."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
