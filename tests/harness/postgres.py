"""A private PostgreSQL server."""

import atexit
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from scripts import programs
from tests.harness.programs import Program, free_port, path_of, private_folder, run_as

ADDRESS = os.environ.get("DRUMLINE_TEST_POSTGRES_URL")
"""An existing server to use instead of a private one: a URL without a database, of a user who may create some."""
USER = "drumline"

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "max_wal_size": "2GB",
    "autovacuum_naptime": "15s",
    "log_min_messages": "warning",
}
FORGETFUL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""Faster, and wrong as soon as the machine fails: for tests that only need the server's logic."""


def missing() -> str | None:
    """Return why there is no PostgreSQL to be had, or None if there is."""
    return None if ADDRESS else programs.missing("postgresql")


class PostgresServer:
    """A server in a folder of its own, on a port of its own."""

    def __init__(
        self,
        *,
        durable: bool,
        settings: dict[str, str] | None = None,
        copy_of: "PostgresServer | None" = None,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start a server, on the data that are in `folder` if there are some, with more in its environment."""
        user = run_as("postgres")
        self._folder = folder or private_folder("postgres", user)
        self._data = self._folder / "data"
        self._user = user
        port = free_port()
        if copy_of is not None:
            _follow(copy_of, self._data, user)
        elif not self._data.exists():
            _initialise(self._data, user)
        chosen = SETTINGS | ({} if durable else FORGETFUL) | (settings or {})
        options = [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]
        command = [path_of("postgres"), "-D", str(self._data), "-p", str(port), *options]
        self._program = Program(command, folder=self._folder, user=user, port=port, environment=environment)
        self.start()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._program.port

    def url(self, database: str = "postgres") -> str:
        """Return the address of a database."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start the server, and wait until it takes queries."""
        self._program.start(self._takes_queries)

    def stop(self) -> None:
        """Stop in order, as `pg_ctl stop -m fast` does."""
        self._program.stop(signal.SIGINT)

    def crash(self) -> None:
        """Stop at once, without a checkpoint, as `pg_ctl stop -m immediate` does."""
        self._program.stop(signal.SIGQUIT)

    def kill(self) -> None:
        """End every process of the server at once, as a power cut would."""
        self._program.kill_all()

    def runs(self) -> bool:
        """Tell whether the server's first process is there."""
        return self._program.runs()

    def promote(self) -> None:
        """Make a server that follows another one take writes."""
        command = [path_of("pg_ctl"), "promote", "-D", str(self._data), "-w", "-t", "60"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=self._user, cwd=self._folder)

    def freeze(self) -> None:
        """Let no process of the server do anything, with its connections open."""
        self._program.signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let them go on."""
        self._program.signal_all(signal.SIGCONT)

    def remove(self) -> None:
        """Stop, and leave nothing behind."""
        self.thaw()
        self.crash()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _takes_queries(self) -> bool:
        command = [path_of("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return self._program.accepts() and subprocess.run(command, check=False).returncode == 0


def _follow(primary: "PostgresServer", data: Path, user: str | None) -> None:
    """Copy a server that runs, so that the copy follows it."""
    command = [path_of("pg_basebackup"), "-D", str(data), "-R", "-X", "stream", "-c", "fast", "--no-sync"]
    address = ["-h", "127.0.0.1", "-p", str(primary.port), "-U", USER]
    subprocess.run([*command, *address], check=True, user=user, cwd=data.parent)


def _initialise(data: Path, user: str | None) -> None:
    """Copy what `initdb` made once: that is several times faster than to have it made again."""
    subprocess.run(["cp", "-a", str(_initialised(user)), str(data)], check=True)


@cache
def _initialised(user: str | None) -> Path:
    """Return a data folder that no server has used yet; it goes when this process ends."""
    folder = private_folder("postgres-new", user)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    command = [path_of("initdb"), "-D", str(folder / "data"), "-U", USER, "-A", "trust", "-E", "UTF8"]
    subprocess.run([*command, "--locale=C", "--no-sync"], check=True, stdout=subprocess.DEVNULL, user=user, cwd=folder)
    return folder / "data"
