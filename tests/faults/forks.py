"""Processes of Drumline that die thousands of times: each is a fork of one that has loaded everything already.

`python -m tests.faults.forks COUNT ENDED COMMAND…` keeps COUNT processes of a command running. One that was killed is
replaced at once, and its id is written to the file ENDED; any other end ends them all.
"""

import ctypes
import gc
import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

PR_SET_PDEATHSIG = 1
LOADED = ("drumline.lifecycle.servers", "drumline.cli.servers", "drumline.blobs.opening", "asyncpg", "redis.asyncio")


@contextmanager
def forked(
    command: Sequence[str], *, count: int, environment: Mapping[str, str], log: Path, ended: Path
) -> Iterator["subprocess.Popen[bytes]"]:
    """Keep so many processes of a command running inside the block."""
    ended.touch()
    with log.open("ab") as output:
        parent = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.forks", str(count), str(ended), *command],
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,  # so that it ends with all its children
        )
    try:
        yield parent
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait(30)


def end_with_parent() -> None:
    """Let the kernel kill this process when the one that made it is gone."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main(count: int, ended: Path, command: list[str]) -> NoReturn:
    """Fork, and fork again for each that was killed."""
    end_with_parent()
    for name in LOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # nothing of it is looked at again by the collector of a child
    for _ in range(count):
        _fork(command)
    while True:
        pid, status = os.wait()
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            sys.exit(f"process {pid} ended with status {status}")
        with ended.open("a") as file:
            file.write(f"{pid}\n")
        _fork(command)


def _fork(command: list[str]) -> None:
    if os.fork():
        return
    end_with_parent()
    from drumline.cli.main import main as run  # noqa: PLC0415 - only the child is a program of Drumline

    sys.argv = ["drumline", *command]
    run()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
