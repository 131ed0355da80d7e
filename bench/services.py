"""Private PostgreSQL and Redis servers for one benchmark run, and what is asked of processes.

Each server gets its own folder and a free port on the loopback address, and is stopped by
its own process id. PostgreSQL keeps every promise it makes about disks; Redis keeps nothing.
"""

import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HOST: Final = "127.0.0.1"
PORTS: Final = (20_000, 32_000)  # below those that connections are given
START_SECONDS: Final = 20.0
STOP_SECONDS: Final = 20.0
WORKER_STOP_SECONDS: Final = 5.0
POSTGRES_SETTINGS: Final = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",
    "max_connections": "200",
    "logging_collector": "off",
}


class ServiceUnavailable(Exception):
    """A server is not installed, or did not start."""


@dataclass(frozen=True, kw_only=True)
class Postgres:
    """A running PostgreSQL server."""

    port: int
    pid: int
    binaries: Path

    def url(self, database: str = "postgres") -> str:
        """Return the address of `database`."""
        return f"postgresql://postgres@{HOST}:{self.port}/{database}"

    def version(self) -> str:
        """Return the version the server states."""
        return self.execute("SHOW server_version").strip()

    def recreate(self, database: str) -> str:
        """Drop `database` if it is there, make it anew, and return its address."""
        self.execute(f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)')
        self.execute(f'CREATE DATABASE "{database}"')
        return self.url(database)

    def execute(self, statement: str, database: str = "postgres") -> str:
        """Run one statement by psql and return what it prints, unaligned."""
        psql = [str(self.binaries / "psql"), "--no-psqlrc", "-qAt", "-v", "ON_ERROR_STOP=1"]
        command = [*psql, "-c", statement, self.url(database)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@dataclass(frozen=True, kw_only=True)
class Redis:
    """A running Redis server."""

    port: int
    pid: int

    @property
    def url(self) -> str:
        """Return the address of database 0."""
        return f"redis://{HOST}:{self.port}/0"

    def version(self) -> str:
        """Return the version the server states."""
        lines = self.execute("INFO server").splitlines()
        return next(line.partition(":")[2] for line in lines if line.startswith("redis_version:"))

    def flush(self) -> None:
        """Forget every key."""
        self.execute("FLUSHALL")

    def execute(self, command: str) -> str:
        """Send one inline command and return the reply as it came."""
        with socket.create_connection((HOST, self.port), timeout=START_SECONDS) as link:
            link.sendall(f"{command}\r\nQUIT\r\n".encode())
            return b"".join(iter(lambda: link.recv(65536), b"")).decode()


@contextmanager
def postgres() -> Iterator[Postgres]:
    """Run a PostgreSQL server of our own, durable to the disk."""
    binaries, port = _postgres_binaries(), free_port()
    with _folder() as folder:
        data = folder / "data"
        initdb = [str(binaries / "initdb"), "-D", str(data), "-U", "postgres"]
        made = _start([*initdb, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"], folder)
        if made.wait() != 0:
            raise ServiceUnavailable(_log_of(folder))
        settings = [f"--{name}={value}" for name, value in POSTGRES_SETTINGS.items()]
        command = [str(binaries / "postgres"), "-D", str(data), "-p", str(port), *settings]
        with _running(command, folder, stop=signal.SIGINT) as server:
            running = Postgres(port=port, pid=server.pid, binaries=binaries)
            _await_ready([str(binaries / "pg_isready"), "-q", "-h", HOST, "-p", str(port)], server, folder)
            yield running


@contextmanager
def redis() -> Iterator[Redis]:
    """Run a Redis server of our own, without persistence."""
    binary, port = shutil.which("redis-server"), free_port()
    if binary is None:
        raise ServiceUnavailable("redis-server is not installed")
    with _folder() as folder:
        options = ["--save", "", "--appendonly", "no", "--dir", str(folder), "--daemonize", "no"]
        command = [binary, "--bind", HOST, "--port", str(port), *options]
        with _running(command, folder, stop=signal.SIGTERM) as server:
            _await_port(port, server, folder)
            yield Redis(port=port, pid=server.pid)


def stop_groups(workers: Sequence[subprocess.Popen[bytes]]) -> None:
    """End the workers and whatever they started, gently first."""
    for worker in workers:
        worker.terminate()
    deadline = time.monotonic() + WORKER_STOP_SECONDS
    for worker in workers:
        with suppress(subprocess.TimeoutExpired):
            worker.wait(max(0.0, deadline - time.monotonic()))
        # Each worker leads a process group of its own, which may outlive it.
        with suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process and its descendants."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(stat.parent.name))
    tree = [pid]
    for member in tree:
        tree.extend(parents.get(member, []))
    pages = sum(int(Path(f"/proc/{member}/statm").read_text().split()[1]) for member in tree)
    return round(pages * os.sysconf("SC_PAGESIZE") / 2**20, 1)


def _postgres_binaries() -> Path:
    """Find the newest PostgreSQL: Debian's folders first, then PATH."""
    folders = Path("/usr/lib/postgresql").glob("*/bin")
    found = sorted(folders, key=lambda folder: float(folder.parent.name), reverse=True)
    on_path = shutil.which("postgres")
    candidates = found + ([Path(on_path).resolve().parent] if on_path else [])
    for candidate in candidates:
        if (candidate / "initdb").exists() and (candidate / "postgres").exists():
            return candidate
    raise ServiceUnavailable("PostgreSQL is not installed (no initdb in PATH or /usr/lib/postgresql)")


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def free_ports(count: int) -> list[int]:
    """Return as many different ports that nobody listens on, all of 15 bits: Temporal keeps them in such columns."""
    found: list[int] = []
    with ExitStack() as held:
        for port in random.sample(range(*PORTS), len(range(*PORTS))):
            if len(found) == count:
                break
            probe = held.enter_context(socket.socket())
            with suppress(OSError):
                probe.bind((HOST, port))
                found.append(port)
    return found


def _owner() -> str | None:
    """Return whom a server should run as: nobody special unless we are root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@contextmanager
def _folder() -> Iterator[Path]:
    """Give a temporary folder that belongs to the servers' user."""
    folder = Path(tempfile.mkdtemp(prefix="drumline-bench-"))
    try:
        owner = _owner()
        if owner is not None:
            shutil.chown(folder, user=owner)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start `command` in `folder` as the servers' user, its words kept in a log there."""
    owner = _owner()
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            user=owner,
            group=None if owner is None else pwd.getpwnam(owner).pw_gid,
            extra_groups=None if owner is None else [],
            # Keys pressed in the terminal must not reach a server before the workers are gone.
            start_new_session=True,
        )


@contextmanager
def _running(command: list[str], folder: Path, *, stop: signal.Signals) -> Iterator[subprocess.Popen[bytes]]:
    """Keep `command` running for the length of the block."""
    server = _start(command, folder)
    try:
        yield server
    finally:
        server.send_signal(stop)
        try:
            server.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _await_ready(probe: list[str], server: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait until `probe` exits with zero."""
    deadline = time.monotonic() + START_SECONDS
    while subprocess.run(probe, check=False).returncode != 0:
        _check_alive(server, folder, deadline)
        time.sleep(0.05)


def _await_port(port: int, server: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait until somebody listens on `port`."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
        except OSError:
            _check_alive(server, folder, deadline)
            time.sleep(0.02)
        else:
            return


def _check_alive(server: subprocess.Popen[bytes], folder: Path, deadline: float) -> None:
    """Raise if `server` has ended or is late."""
    if server.poll() is not None or time.monotonic() > deadline:
        raise ServiceUnavailable(_log_of(folder))


def _log_of(folder: Path) -> str:
    """Return the end of a server's log."""
    return (folder / "log").read_text(errors="replace")[-2000:]
