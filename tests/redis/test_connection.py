"""Speaking with Redis over redis-py's connections, past its streams."""

import asyncio
from typing import Any

import pytest
import redis
from hiredis import pack_command
from redis.asyncio import Connection, Redis
from redis.exceptions import ConnectionError as LostConnection
from redis.exceptions import ResponseError

from drumline.redis.connection import CommandConnection, opened


async def test_this_redis_py_has_what_the_talk_takes_from_it(client: Redis) -> None:
    """Fails with a redis-py that keeps its transport elsewhere; the error says so."""
    talk = CommandConnection(await opened(client.connection_pool))

    assert await talk.ask([pack_command(("PING",))] * 2) == ["PONG", "PONG"]

    await talk.stop_retrying(client.connection_pool)
    assert talk.is_lost
    assert await client.ping()  # redis-py opens the connection again


async def test_an_error_answers_its_command_and_no_other(client: Redis) -> None:
    talk = CommandConnection(await opened(client.connection_pool))

    wrong, right = await talk.ask([pack_command(("NO-SUCH-COMMAND",)), pack_command(("PING",))])

    assert isinstance(wrong, ResponseError)
    assert right == "PONG"
    await talk.stop_retrying(client.connection_pool)


class Moved(Connection):
    """A connection of a redis-py to come, that keeps its transport elsewhere."""

    def __getattribute__(self, name: str) -> Any:
        if name == "_writer":
            raise AttributeError(name)
        return super().__getattribute__(name)


async def test_a_redis_py_that_keeps_its_transport_elsewhere_is_named() -> None:
    with pytest.raises(TypeError, match=rf"redis-py {redis.__version__} keeps no StreamWriter in Moved\._writer"):
        CommandConnection(Moved())


async def test_a_connection_that_was_closed_meanwhile_is_lost() -> None:
    with pytest.raises(LostConnection):
        CommandConnection(Connection())


async def test_nothing_is_asked_over_a_connection_that_was_closed(client: Redis) -> None:
    talk = CommandConnection(await opened(client.connection_pool))
    await talk.stop_retrying(client.connection_pool)

    asked: asyncio.Future[list[Any]] = talk.ask([pack_command(("PING",))])

    with pytest.raises(LostConnection):
        await asked
