"""Commands and messages over a connection that redis-py has opened, without its streams in between.

redis-py knows how to reach a server: sockets, TLS, logins. But behind it every answer passes through a stream, a parser
and half a dozen coroutines, which on an idle machine take longer than the server and the network together; and a lone
task is waited for all that time. So once a connection is open, its transport gets a protocol of ours.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import redis
from hiredis import Reader
from redis.asyncio import ConnectionPool
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as LostConnection
from redis.exceptions import NoScriptError, RedisError, ResponseError

NOTHING_YET: Final = object()

Heard = Callable[[str, str], None]
"""Called with a channel and a message."""


class RawConnection(asyncio.Protocol, ABC):
    """A connection whose transport speaks with this object. `said` and `lost` are for those who know what to do."""

    def __init__(self, connection: AbstractConnection) -> None:
        self._connection = connection
        self._reader = Reader(
            encoding="utf-8",
            notEnoughData=NOTHING_YET,
            protocolError=LostConnection,
            replyError=_error,
        )
        self._transport = _transport_of(connection)
        self._streams: asyncio.BaseProtocol = self._transport.get_protocol()
        self._transport.set_protocol(self)

    @property
    def is_lost(self) -> bool:
        """Whether the connection has been closed, by whomever."""
        return self._transport.is_closing()

    def say(self, words: bytes) -> None:
        """Send words."""
        self._transport.write(words)

    @abstractmethod
    def said(self, answer: Any) -> None:
        """Take one answer, or one message."""

    @abstractmethod
    def lost(self, error: Exception) -> None:
        """Take note that there will be no more answers."""

    async def stop_retrying(self, pool: ConnectionPool) -> None:
        """Close the connection and give it back to its pool, which opens it again when it is needed."""
        self._transport.abort()  # a farewell by TLS would still be on its way when the event loop is closed
        await self._connection.disconnect(nowait=True)
        await pool.release(self._connection)

    def data_received(self, data: bytes) -> None:
        """Take what has come over the connection."""
        self._reader.feed(data)
        try:
            while (answer := self._reader.gets()) is not NOTHING_YET:
                self.said(answer)
        except RedisError as error:  # this is not Redis that speaks
            self.lost(error)
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the connection is lost, and notify redis-py, which may be waiting for that."""
        self.lost(LostConnection(str(exc) if exc else "Redis has closed the connection"))
        self._streams.connection_lost(exc)


class CommandConnection(RawConnection):
    """Sends commands and returns their answers, one list at a time."""

    def __init__(self, connection: AbstractConnection) -> None:
        super().__init__(connection)
        self._answers: list[Any] = []
        self._count = 0
        self._waiting: asyncio.Future[list[Any]] | None = None

    def ask(self, questions: Sequence[bytes]) -> "asyncio.Future[list[Any]]":
        """Send commands, and return their answers when all are there: for a command that failed, its error."""
        waiting: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        if self.is_lost:
            waiting.set_exception(LostConnection("the connection to Redis was closed"))
            return waiting
        self._answers, self._count, self._waiting = [], len(questions), waiting
        self.say(b"".join(questions))
        return waiting

    def said(self, answer: Any) -> None:
        """Take one answer."""
        self._answers.append(answer)
        if len(self._answers) == self._count and self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            if not waiting.done():
                waiting.set_result(self._answers)

    def lost(self, error: Exception) -> None:
        """Fail what is being asked."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)


class ChannelConnection(RawConnection):
    """A subscription: `heard` is called with each message, in the same step in which it arrives."""

    def __init__(self, connection: AbstractConnection, heard: Heard) -> None:
        super().__init__(connection)
        self._heard = heard
        self.words = 0
        """How many words have come, messages and answers."""
        self.over: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        """Says why nothing more will be heard."""

    def said(self, answer: Any) -> None:
        """Take a message; answers to our own commands only show that the server is alive."""
        self.words += 1
        if isinstance(answer, RedisError):
            self.lost(answer)
        elif isinstance(answer, list) and answer[0] == "message":
            self._heard(answer[1], answer[2])

    def lost(self, error: Exception) -> None:
        """Tell that it is over."""
        if not self.over.done():
            self.over.set_result(error)


async def opened(pool: ConnectionPool) -> AbstractConnection:
    """Return an open connection of a pool."""
    connection: AbstractConnection = await pool.get_connection()  # type: ignore[no-untyped-call]
    return connection


def _transport_of(connection: AbstractConnection) -> asyncio.Transport:
    """Return the transport of an open connection; raises `TypeError` if redis-py keeps it elsewhere.

    redis-py has no public way to it. Should that attribute go, only this would show it: opening connections
    takes every error for a Redis that is away.
    """
    writer: Any = getattr(connection, "_writer", NOTHING_YET)
    if writer is None:
        raise LostConnection("the connection to Redis was closed as soon as it stood")
    if not isinstance(writer, asyncio.StreamWriter):
        raise TypeError(
            f"redis-py {redis.__version__} keeps no StreamWriter in {type(connection).__name__}._writer, through which "
            "Drumline speaks with Redis (ADR 0011): install the version of redis-py that this Drumline was tested with"
        )
    return cast("asyncio.Transport", writer.transport)  # of a stream: it reads too, which its type does not promise


def _error(text: str) -> RedisError:
    return NoScriptError(text) if text.startswith("NOSCRIPT") else ResponseError(text)
