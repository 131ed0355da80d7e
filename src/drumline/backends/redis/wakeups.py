"""Wake-ups between processes: one message per push, heard by everyone who waits."""

import asyncio
from collections import Counter
from itertools import cycle
from typing import Final

import structlog
from hiredis import pack_command
from redis.asyncio import Redis

from drumline.backends.redis.address import Address
from drumline.backends.redis.line import CONNECT_SECONDS, FAILURES
from drumline.backends.redis.talk import Ear, opened
from drumline.ports.queue import Woken

RECONNECT_AFTER: Final = 0.5
SILENCE: Final = 10.0
"""Seconds without a message after which the server is asked whether it is still there."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


async def listen(address: Address, channel: str, origin: str, woken: Woken) -> None:
    """Call `woken` for the messages of others, through every loss of the connection, until cancelled.

    What is said meanwhile is not heard: those who wait look by themselves each second.
    """
    clients = address.subscribers(connect=CONNECT_SECONDS)
    try:
        for client in cycle(clients):
            try:
                await _listen_once(client, channel, origin, woken)
            except FAILURES as error:
                log.debug("redis.deaf", error=repr(error))
            await asyncio.sleep(RECONNECT_AFTER)
    finally:
        for client in clients:
            await client.aclose()


async def _listen_once(client: Redis, channel: str, origin: str, woken: Woken) -> None:
    """Listen until the connection is lost, which is raised."""

    def heard(message: str) -> None:
        sender, counts = parse(message)
        if sender != origin:  # those who wait in this process were woken already
            for queue, count in counts.items():
                woken(queue, count)

    async with asyncio.timeout(CONNECT_SECONDS * 2):
        ear = Ear(await opened(client.connection_pool), heard)
    try:
        ear.say(pack_command(("SUBSCRIBE", channel)))  # type: ignore[arg-type]
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
        await ear.hang_up(client.connection_pool)


def message_of(origin: str, counts: Counter[str]) -> str:
    """Return a wake-up: who sends it, then each queue with its number of new tasks; nothing if there are none."""
    return "".join((origin, *[f" {queue}={count}" for queue, count in counts.items()])) if counts else ""


def parse(message: str) -> tuple[str, dict[str, int]]:
    """Return who sent a wake-up, and the number of new tasks by queue."""
    origin, *words = message.split(" ")
    return origin, {queue: int(count) for queue, _, count in (each.rpartition("=") for each in words)}
