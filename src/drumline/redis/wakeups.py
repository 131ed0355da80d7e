"""Wake-ups between processes: one message per push, heard by everyone who waits."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import cycle
from typing import Final

import structlog
from hiredis import pack_command
from redis.asyncio import Redis

from drumline.core.clock import Instant
from drumline.core.ids import SessionId, TaskId
from drumline.ports.store import Hint
from drumline.redis.address import Address
from drumline.redis.client import CONNECT_SECONDS, FAILURES
from drumline.redis.connection import ChannelConnection, Heard, opened
from drumline.redis.keys import parse_lane

RECONNECT_AFTER: Final = 0.5
SILENCE: Final = 10.0
"""Seconds without a message after which the server is asked whether it is still there."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


async def listen(address: Address, channels: Sequence[str], heard: Heard) -> None:
    """Call `heard` for each message, through every loss of the connection, until cancelled.

    What is said meanwhile is not heard: those who wait look by themselves each second.
    """
    clients = address.subscribers(connect=CONNECT_SECONDS)
    try:
        for client in cycle(clients):
            try:
                await _listen_once(client, channels, heard)
            except FAILURES as error:
                log.debug("redis.deaf", error=repr(error))
            await asyncio.sleep(RECONNECT_AFTER)
    finally:
        for client in clients:
            await client.aclose()


async def _listen_once(client: Redis, channels: Sequence[str], heard: Heard) -> None:
    """Listen until the connection is lost, which is raised."""
    async with asyncio.timeout(CONNECT_SECONDS * 2):
        ear = ChannelConnection(await opened(client.connection_pool), heard)
    try:
        ear.say(pack_command(("SUBSCRIBE", *channels)))  # type: ignore[arg-type]
        patience = CONNECT_SECONDS
        while True:
            words = ear.words
            await asyncio.wait({ear.over}, timeout=patience)
            if ear.over.done():
                raise ear.over.result()
            if ear.words > words:
                patience = SILENCE
            elif patience == SILENCE:
                ear.say(pack_command(("PING",)))
                patience = CONNECT_SECONDS
            else:
                raise TimeoutError("the server that was listened to has fallen silent")
    finally:
        await ear.stop_retrying(client.connection_pool)


def message_of(origin: str, counts: Counter[str]) -> str:
    """Return a wake-up: who sends it, then each queue with its number of new tasks; nothing if there are none."""
    return "".join((origin, *[f" {queue}={count}" for queue, count in counts.items()])) if counts else ""


def parse(message: str) -> tuple[str, dict[str, int]]:
    """Return who sent a wake-up, and the number of new tasks by queue."""
    origin, *words = message.split(" ")
    return origin, {queue: int(count) for queue, _, count in (each.rpartition("=") for each in words)}


def parse_handed(message: str) -> tuple[SessionId, Hint]:
    """Return the session that a task is handed to, and the hint at it."""
    session, due_at, task, lane = message.split(" ", 3)
    return SessionId(int(session)), Hint(TaskId(task), parse_lane(lane), Instant(int(due_at)))
