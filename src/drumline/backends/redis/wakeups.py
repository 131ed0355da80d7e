"""Wake-ups between processes: one message per push, heard by everyone who waits."""

import asyncio
from collections import Counter
from itertools import cycle
from typing import Final

import structlog
from redis.asyncio import Redis
from redis.asyncio.client import PubSub

from drumline.backends.redis.address import Address
from drumline.backends.redis.line import CONNECT_SECONDS, FAILURES
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
    async with client.pubsub(ignore_subscribe_messages=True) as subscription:
        async with asyncio.timeout(CONNECT_SECONDS * 2):
            await subscription.subscribe(channel)
        while True:
            message = await _next_message(subscription)
            sender, counts = parse(message)
            if sender != origin:  # those who wait in this process were woken already
                for queue, count in counts.items():
                    woken(queue, count)


async def _next_message(subscription: PubSub) -> str:
    is_asked = False
    while True:
        message = await subscription.get_message(timeout=SILENCE)
        if message is not None and message["type"] == "message":
            return str(message["data"])
        if message is not None:
            is_asked = False
        elif is_asked:
            raise TimeoutError("the server that was listened to has fallen silent")
        else:
            async with asyncio.timeout(CONNECT_SECONDS):
                await subscription.ping()
            is_asked = True


def message_of(origin: str, counts: Counter[str]) -> str:
    """Return a wake-up: who sends it, then each queue with its number of new tasks; nothing if there are none."""
    return "".join((origin, *[f" {queue}={count}" for queue, count in counts.items()])) if counts else ""


def parse(message: str) -> tuple[str, dict[str, int]]:
    """Return who sent a wake-up, and the number of new tasks by queue."""
    origin, *words = message.split(" ")
    return origin, {queue: int(count) for queue, _, count in (each.rpartition("=") for each in words)}
