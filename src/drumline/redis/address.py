"""From an address to a client: one server, or a cluster."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as LostConnection

Client = Redis | RedisCluster


class Address:
    """Where Redis is: `redis://`, `rediss://`, `unix://`, or `redis+cluster://` with one or more `host:port`."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        scheme, _, kind = parts.scheme.partition("+")
        self.is_cluster = bool(kind)
        if kind not in {"", "cluster"} or scheme not in {"redis", "rediss", "unix"}:
            raise ValueError(f"{parts.scheme}:// is no address of a Redis")
        login, _, hosts = parts.netloc.rpartition("@")
        self._hosts = hosts.split(",") if self.is_cluster else [hosts]
        self._urls = [
            urlunsplit((scheme, f"{login}@{host}" if login else host, parts.path, parts.query, ""))
            for host in self._hosts
        ]

    def connect(self, *, connect: float) -> Client:
        """Return a client, which connects on first use. Callers set the timeouts of their commands."""
        options = _options(connect)
        if not self.is_cluster:
            return Redis.from_url(self._urls[0], **options)
        nodes = [ClusterNode(host, port) for host, port in map(_host_and_port, self._hosts)]
        return RedisCluster.from_url(
            self._urls[0],
            startup_nodes=nodes,
            # A slot without a node is no reason to refuse the others: the queue is on one, the read model on all.
            require_full_coverage=False,
            # Else redis-py closes all connections after some slots have moved, also those that others are using.
            reinitialize_steps=0,
            **options,
        )

    def subscribers(self, *, connect: float) -> Sequence[Redis]:
        """Return clients to listen with, any of which will do: a cluster carries a message to all its nodes."""
        return [Redis.from_url(url, **_options(connect)) for url in self._urls]


def _options(connect: float) -> dict[str, Any]:
    return {
        "protocol": 2,
        "decode_responses": True,
        "socket_connect_timeout": connect,
        "socket_timeout": None,
        "client_name": "drumline",
        # A connection that broke while idle is replaced once, at once; a server that is slow is not asked twice.
        "retry": Retry(NoBackoff(), 1, supported_errors=(LostConnection,)),
    }


def _host_and_port(host: str) -> tuple[str, int]:
    name, _, port = host.rpartition(":")
    return (name.strip("[]"), int(port)) if name else (host, 6379)
