"""Starting and stopping programs; scripts/programs.toml names those that there are."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from scripts.programs import find_program, missing, owner

NOT_BUILT = "the web interface is missing: make ui"
PATIENCE = 30.0
"""Seconds that a program is given to start or to stop."""


def path_of(program: str) -> str:
    """Return the path of a program of scripts/programs.toml, or skip the test with the line that says how to get it."""
    found = find_program(program)
    if found is None:
        pytest.skip(str(missing(owner(program).name)))
    return found


def free_port(wanted: int = 0) -> int:
    """Return a port, any or a certain one, and reserve it for a program of this process.

    A socket that never listens stays bound to it until this process ends. So neither another process nor an outgoing
    connection gets the port, also while its program is down; the program does, because servers set SO_REUSEADDR.
    Other systems than Linux would refuse the program too: there the port is only likely to stay free.
    """
    with socket.socket() as held:
        held.bind(("127.0.0.1", wanted))
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # not before: it must not share the port itself
        port: int = held.getsockname()[1]
        if sys.platform == "linux":
            held.detach()
        return port


def run_as(*names: str) -> str | None:
    """Return the user that a server which refuses to be root should run as; None when we are not root."""
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in (*names, "nobody") if name in known), None)


def private_folder(prefix: str, user: str | None) -> Path:
    """Make a folder that belongs to `user` alone. Servers that are not root could not pass pytest's own folders."""
    folder = Path(tempfile.mkdtemp(prefix=f"drumline-{prefix}-", dir="/tmp"))
    if user is not None:
        shutil.chown(folder, user)
    return folder


class Program:
    """A server process and its output."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        user: str | None,
        port: int,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.port = port
        self._environment = environment or {}
        self._command = command
        self._folder = folder
        self._user = user
        self._log = folder / "output.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, is_ready: Callable[[], bool], *, seconds: float = PATIENCE) -> None:
        """Start, and wait until `is_ready` says so."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                user=self._user,
                cwd=self._folder,
                env={**os.environ, **self._environment},
            )
        deadline = time.monotonic() + seconds
        while not is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self._command[0]} did not start:\n{self._log.read_text()}")
            time.sleep(0.01)

    @property
    def pid(self) -> int:
        """The process; it must have been started."""
        assert self._process is not None
        return self._process.pid

    def signal(self, number: int) -> None:
        """Send a signal to the process."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def signal_all(self, number: int) -> None:
        """Send a signal to the process and to every process below it."""
        if self._process is None or self._process.poll() is not None:
            return
        process = psutil.Process(self._process.pid)
        # Stopped first, so that it makes no more children: one that is made after they were listed would be left out.
        process.suspend()
        while process.status() != psutil.STATUS_STOPPED:
            time.sleep(0.001)
        for each in (*process.children(recursive=True), process):
            with suppress(psutil.NoSuchProcess):
                each.send_signal(number)

    def kill_all(self) -> None:
        """Kill the process and every process below it, and wait until none of them is there any more."""
        if self.runs():
            below = psutil.Process(self.pid).children(recursive=True)
            self.signal_all(signal.SIGKILL)
            psutil.wait_procs(below, PATIENCE)
        self.stop(signal.SIGKILL)

    def stop(self, number: int) -> None:
        """Send a signal, and wait until the process has gone; one that does not go by itself is killed."""
        self.signal(number)
        if self._process is not None:
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(PATIENCE)
            self._process = None

    def runs(self) -> bool:
        """Tell whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def accepts(self) -> bool:
        """Tell whether something listens on the port."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False
