"""A private Redis Cluster."""

import shutil
import signal
import subprocess
import time
from contextlib import suppress

from tests.harness.programs import PATIENCE, Program, free_port, path_of, private_folder, run_as

NODES = 6
BUS = 10_000
"""A node talks to the others on its port plus this."""


class RedisClusterServers:
    """Three primaries with a replica each."""

    def __init__(self) -> None:
        user = run_as("redis")
        self._folders = [private_folder("redis-cluster", user) for _ in range(NODES)]
        self._nodes = []
        for folder in self._folders:
            port = _port()
            command = [path_of("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
            command += ["--save", "", "--cluster-enabled", "yes", "--cluster-node-timeout", "2000"]
            command += ["--repl-diskless-sync-delay", "0"]
            node = Program(command, folder=folder, user=user, port=port)
            node.start(node.accepts)
            self._nodes.append(node)
        addresses = [f"127.0.0.1:{node.port}" for node in self._nodes]
        cli = path_of("redis-cli")
        create = [cli, "--cluster", "create", *addresses, "--cluster-replicas", "1", "--cluster-yes"]
        subprocess.run(create, check=True, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while not all(self._is_ready(cli, node.port) for node in self._nodes):
            if time.monotonic() > deadline:
                raise RuntimeError("the nodes did not form a cluster")
            time.sleep(0.05)
        self.url = "redis+cluster://" + ",".join(addresses[:3])
        self.port = self._nodes[0].port
        """The port of one of the nodes, which knows the others."""

    @staticmethod
    def _is_ready(cli: str, port: int) -> bool:
        """Tell whether a node sees the whole cluster, each primary with its replica."""
        facts = subprocess.run([cli, "-p", str(port), "cluster", "info"], check=True, capture_output=True, text=True)
        nodes = subprocess.run([cli, "-p", str(port), "cluster", "nodes"], check=True, capture_output=True, text=True)
        return "cluster_state:ok" in facts.stdout and nodes.stdout.count("slave") == NODES // 2

    def kill(self, port: int) -> None:
        """Stop a node at once; its replica takes over after some seconds, if there is one."""
        next(node for node in self._nodes if node.port == port).stop(signal.SIGKILL)

    def remove(self) -> None:
        """Stop, and leave nothing behind."""
        for node in self._nodes:
            node.stop(signal.SIGKILL)
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)


def _port() -> int:
    while True:
        port = free_port()
        with suppress(OSError, OverflowError):
            free_port(port + BUS)
            return port
