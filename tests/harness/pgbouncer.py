"""A private PgBouncer in front of a PostgreSQL server."""

import shutil
import signal
from urllib.parse import urlsplit

from scripts import programs
from tests.harness.programs import Program, free_port, path_of, private_folder, run_as


def missing() -> str | None:
    """Return why there is no PgBouncer to be had, or None if there is."""
    return programs.missing("pgbouncer")


class PgBouncer:
    """Pools connections by transaction: any statement may meet any server connection."""

    def __init__(self, server_url: str, *, settings: dict[str, str] | None = None) -> None:
        server = urlsplit(server_url)
        user = run_as("postgres")
        self._folder = private_folder("pgbouncer", user)
        self._user = server.username
        port = free_port()
        (self._folder / "users.txt").write_text(f'"{server.username}" ""\n')
        chosen = {
            "listen_addr": "127.0.0.1",
            "listen_port": str(port),
            "unix_socket_dir": "",
            "auth_type": "trust",
            "auth_file": str(self._folder / "users.txt"),
            "pool_mode": "transaction",
            "default_pool_size": "4",
            "max_client_conn": "200",
        } | (settings or {})
        lines = [f"{name} = {value}" for name, value in chosen.items()]
        databases = f"[databases]\n* = host={server.hostname} port={server.port}\n"
        config = self._folder / "pgbouncer.ini"
        config.write_text(databases + "[pgbouncer]\n" + "\n".join(lines) + "\n")
        command = [path_of("pgbouncer"), str(config)]
        self._program = Program(command, folder=self._folder, user=user, port=port)
        self._program.start(self._program.accepts)

    def url(self, database: str) -> str:
        """Return the address of a database behind the pooler."""
        return f"postgresql://{self._user}@127.0.0.1:{self._program.port}/{database}"

    def remove(self) -> None:
        """Stop, and leave nothing behind."""
        # There are no clients left to wait for. Not the gentler SIGQUIT: what is started in the background by a shell
        # ignores that, and so do its children.
        self._program.stop(signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)
