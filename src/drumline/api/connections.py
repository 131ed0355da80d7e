"""Which connections there are, by address, and which of them is closed when there is no room for one more.

A connection that waits for a request gives way to a new one: first those that never sent a whole request, the oldest
first, then those that are idle between two requests. So a client that opens connections and says nothing shuts nobody
out. Only when every connection is being served is a new one refused.
"""

from collections.abc import Iterator
from typing import Final, Protocol

from drumline.api.addresses import Addresses, group_of
from drumline.api.refusals import Refusals
from drumline.core.limits import HttpLimits
from drumline.core.metrics import Metrics

UNIX: Final = "unix"
"""The address of peers that have none."""


class Connection(Protocol):
    """A connection as the registry sees it."""

    def evict(self) -> None:
        """Close, since the place is needed."""
        ...

    def check(self, now: float) -> None:
        """Close if a time limit has passed."""
        ...


class Peer:
    """The connections of one address."""

    __slots__ = ("count", "fresh", "group", "idle", "is_proxy")

    def __init__(self, group: str, *, is_proxy: bool) -> None:
        self.group = group
        self.is_proxy = is_proxy
        self.count = 0
        self.fresh: dict[Connection, None] = {}
        """Connections that have not sent a whole request yet, the oldest first."""
        self.idle: dict[Connection, None] = {}
        """Connections between two requests, the longest idle first."""

    def waiting(self) -> Connection | None:
        """Return the connection that gives way first, if there is one."""
        return next(iter(self.fresh), None) or next(iter(self.idle), None)


class Connections:
    """All connections of a server."""

    def __init__(
        self, limits: HttpLimits, *, most: int, addresses: Addresses, refusals: Refusals, metrics: Metrics
    ) -> None:
        self.limits = limits
        self.refusals = refusals
        self._most = most
        self._addresses = addresses
        self._peers: dict[str, Peer] = {}
        self._peer_of: dict[Connection, Peer] = {}
        self._count = 0
        metrics.before_reading.append(lambda: metrics.http_connections.set(self._count))

    def __iter__(self) -> Iterator[Connection]:
        return iter(list(self._peer_of))

    def __len__(self) -> int:
        return self._count

    def admit(self, address: str) -> Peer | None:
        """Return the peer that a new connection belongs to, with a place taken for it; None if there is no room."""
        peer = self._peer(address)
        if not peer.is_proxy and peer.count >= self.limits.connections_per_address and not self._evict(peer):
            self.refusals.note("connections_per_address", address)
            return None
        if self._count >= self._most and not self._evict(peer) and not self._evict(self._largest()):
            self.refusals.note("connections", address)
            self._forget(peer)
            return None
        peer.count += 1
        self._count += 1
        return peer

    def opened(self, connection: Connection, peer: Peer) -> None:
        """Note a connection that has just been opened."""
        self._peer_of[connection] = peer
        peer.fresh[connection] = None

    def busy(self, connection: Connection) -> None:
        """Note that a request is being served."""
        peer = self._peer_of.get(connection)
        if peer is not None:
            peer.fresh.pop(connection, None)
            peer.idle.pop(connection, None)

    def idle(self, connection: Connection) -> None:
        """Note that every request was answered."""
        peer = self._peer_of.get(connection)
        if peer is not None:
            peer.idle[connection] = None

    def closed(self, connection: Connection) -> None:
        """Note that a connection is gone."""
        peer = self._peer_of.pop(connection, None)
        if peer is not None:
            peer.fresh.pop(connection, None)
            peer.idle.pop(connection, None)
            self.released(peer)

    def released(self, peer: Peer) -> None:
        """Free the place of a connection that is gone, or that never came to be."""
        peer.count -= 1
        self._count -= 1
        self._forget(peer)

    def _forget(self, peer: Peer) -> None:
        if not peer.count:
            self._peers.pop(peer.group, None)

    def _peer(self, address: str) -> Peer:
        group = group_of(address)
        peer = self._peers.get(group)
        if peer is None:
            is_proxy = address == UNIX or self._addresses.is_proxy(address)
            peer = self._peers[group] = Peer(group, is_proxy=is_proxy)
        return peer

    def _largest(self) -> Peer:
        return max(self._peers.values(), key=lambda peer: len(peer.fresh) + len(peer.idle))

    def _evict(self, peer: Peer) -> bool:
        connection = peer.waiting()
        if connection is None:
            return False
        self.refusals.note("evicted", peer.group)
        connection.evict()
        self.closed(connection)
        return True
