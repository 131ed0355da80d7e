"""Accepting connections: a few at a time, within the limits on connections, and also when files run out.

The event loop's own server accepts all that wait in the backlog before it hands on the first one, which may be more
than the process may have open.
"""

import asyncio
import errno
import os
import resource
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import structlog

from drumline.api.connections import UNIX, Connections, Peer
from drumline.api.refusals import refusal

log: structlog.stdlib.BoundLogger = structlog.get_logger()

AT_ONCE: Final = 64
"""Connections that are accepted between two turns of the event loop."""
MOST_FILES: Final = 65_536
"""Files that the process asks to be allowed, where the system lets it."""
RESERVED_FILES: Final = 256
"""Files that are left for databases, queues and everything else; at most half of those that are allowed."""
REST_SECONDS: Final = 1.0
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_GONE: Final = frozenset({errno.ECONNABORTED, errno.EPROTO, errno.EPERM, errno.ENETDOWN, errno.EHOSTUNREACH})


def allow_files() -> int:
    """Have the system allow as many open files as it will, up to a limit, and return how many that is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft


def most_connections(wanted: int, files: int) -> int:
    """Return how many connections there may be with so many files."""
    return max(1, min(wanted, files - min(RESERVED_FILES, files // 2)))


class Acceptor:
    """Accepts connections on a listening socket until it is closed."""

    def __init__(
        self, listening: socket.socket, connections: Connections, protocol: Callable[[Peer], asyncio.Protocol]
    ) -> None:
        self._listening = listening
        self._connections = connections
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._spare: int | None = os.open(os.devnull, os.O_RDONLY)
        """A file to give up, so that a connection can be accepted and closed when there are no more."""
        self._opening: set[asyncio.Task[None]] = set()
        self._resting: asyncio.TimerHandle | None = None
        listening.setblocking(False)
        self._begin()

    def close(self) -> None:
        """Accept nothing more."""
        self._loop.remove_reader(self._listening.fileno())
        if self._resting is not None:
            self._resting.cancel()
        self._give_up_spare()

    async def wait_closed(self) -> None:
        """Wait for connections that are just being opened."""
        await asyncio.gather(*self._opening, return_exceptions=True)

    def _begin(self) -> None:
        self._loop.add_reader(self._listening.fileno(), self._accept)

    def _give_up_spare(self) -> None:
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                accepted, address = self._listening.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self._shed()
                elif error.errno not in _GONE:
                    log.exception("accept.failed")
                return
            self._admit(accepted, address[0] if isinstance(address, tuple) else UNIX)

    def _admit(self, accepted: socket.socket, address: str) -> None:
        accepted.setblocking(False)
        peer = self._connections.admit(address)
        if peer is None:
            _turn_away(accepted)
            return
        opening = self._loop.create_task(self._open(accepted, peer), name="open connection")
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)

    async def _open(self, accepted: socket.socket, peer: Peer) -> None:
        opened: list[asyncio.Protocol] = []

        def protocol() -> asyncio.Protocol:
            opened.append(self._protocol(peer))
            return opened[0]

        try:
            await self._loop.connect_accepted_socket(protocol, accepted)
        except OSError as error:  # the client has gone, or there is no memory for it
            log.debug("connection.not_opened", error=repr(error))
            accepted.close()
            self._connections.released(peer)

    def _shed(self) -> None:
        """Close one connection that waits, where no file is left to serve it with."""
        self._connections.refusals.note("files", "")
        self._give_up_spare()
        with suppress(OSError):
            self._listening.accept()[0].close()
        try:
            self._spare = os.open(os.devnull, os.O_RDONLY)
        except OSError:  # another thread has taken the file: asking again at once would only cost processor time
            self._loop.remove_reader(self._listening.fileno())
            self._resting = self._loop.call_later(REST_SECONDS, self._begin)


def _turn_away(accepted: socket.socket) -> None:
    """Refuse a connection without waiting for anything."""
    with accepted, suppress(OSError):
        accepted.send(refusal("overloaded", "the server has as many connections as it can serve; try again"))
        accepted.shutdown(socket.SHUT_WR)
        accepted.recv(65_536)  # what is unread when a socket is closed takes the answer with it
