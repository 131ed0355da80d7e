"""A private Redis server."""

import os
import shutil
import signal

from scripts import programs
from tests.harness.programs import Program, free_port, path_of, private_folder, run_as

ADDRESS = os.environ.get("DRUMLINE_TEST_REDIS_URL")
"""An existing server to use instead of a private one. Its databases 1 to 15 are emptied."""
DATABASES = 16


def missing() -> str | None:
    """Return why there is no Redis to be had, or None if there is."""
    return None if ADDRESS else programs.missing("redis")


class RedisServer:
    """A server in a folder of its own, on a port of its own, that keeps nothing on disk."""

    def __init__(self) -> None:
        user = run_as("redis")
        self._folder = private_folder("redis", user)
        port = free_port()
        command = [path_of("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        command += ["--save", "", "--appendonly", "no", "--databases", str(DATABASES), "--daemonize", "no"]
        self._program = Program(command, folder=self._folder, user=user, port=port)
        self.start()

    def url(self, database: int = 0) -> str:
        """Return the address of a database."""
        return f"redis://127.0.0.1:{self._program.port}/{database}"

    def start(self) -> None:
        """Start the server, and wait until it listens."""
        self._program.start(self._program.accepts)

    def stop(self) -> None:
        """Stop in order."""
        self._program.stop(signal.SIGTERM)

    def kill(self) -> None:
        """Stop at once."""
        self._program.stop(signal.SIGKILL)

    def freeze(self) -> None:
        """Let it answer nothing, with its connections open."""
        self._program.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._program.signal(signal.SIGCONT)

    def remove(self) -> None:
        """Stop, and leave nothing behind."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)
