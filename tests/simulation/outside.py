"""What is outside of the installation: a receiver of webhooks, and a Kafka. Both refuse for a time, or answer late."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

import httpx

from drumline.core.errors import Unavailable
from drumline.ports.bus import BusBatch, Channel
from drumline.testing.loop import SimulatedLoop

HANG_SECONDS = 4.0
"""Longer than a notifier of the simulation waits for an answer."""


@dataclass
class Receiver:
    """A server of somebody else that is told by webhooks."""

    loop: SimulatedLoop
    random: Random
    down_until: float = 0.0
    accepted: list[str] = field(default_factory=list)
    """The ids of messages that it has taken; one may come more than once."""


class ReceiverTransport(httpx.AsyncBaseTransport):
    """The way of a notifier to the receiver."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a webhook; while the receiver is down, by one of the ways in which servers fail."""
        receiver = self._receiver
        await asyncio.sleep(receiver.random.random() * 0.02)
        if receiver.loop.time() >= receiver.down_until:
            receiver.accepted.append(request.headers["webhook-id"])
            return _empty(204)
        match receiver.random.randrange(4):
            case 0:
                raise httpx.ConnectError("refused")
            case 1:
                return _empty(503)
            case 2:
                receiver.accepted.append(request.headers["webhook-id"])  # and its answer is lost
                raise httpx.ReadError("reset")
            case _:
                await asyncio.sleep(HANG_SECONDS)
                return _empty(204)


def _empty(status: int) -> httpx.Response:
    return httpx.Response(status, stream=httpx.ByteStream(b""))


class Message(NamedTuple):
    """What a broker has kept."""

    channel: Channel
    key: str
    value: bytes


@dataclass
class Broker:
    """A Kafka: what it has kept, in the order in which it came."""

    loop: SimulatedLoop
    random: Random
    down_until: float = 0.0
    kept: list[Message] = field(default_factory=list)

    @property
    def is_down(self) -> bool:
        """Whether it refuses."""
        return self.loop.time() < self.down_until


class SimulatedBus:
    """`ports.bus.Bus` of a relay: while the broker is down it refuses, keeps a part of a batch, or does not answer."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._under_way: list[Message] = []

    @property
    def reason(self) -> str:
        """Why nothing can be sent at the moment."""
        return "the simulated broker is down" if self._broker.is_down else ""

    async def send(self, batches: Sequence[BusBatch]) -> None:
        """Hand a page over."""
        await asyncio.sleep(self._broker.random.random() * 0.01)
        if self._broker.is_down and self._broker.random.random() < 0.5:
            raise Unavailable("the simulated broker refuses")
        self._under_way = [
            Message(batch.channel, key, value)
            for batch in batches
            for key, value in zip(batch.keys, batch.values, strict=True)
        ]

    async def sent(self, *, seconds: float) -> bool:
        """Wait until the broker has kept it all."""
        broker = self._broker
        await asyncio.sleep(broker.random.random() * 0.01)
        if broker.is_down:
            count = broker.random.randrange(len(self._under_way) + 1)
            broker.kept += self._under_way[:count]
            if broker.random.random() < 0.5:
                self._under_way = []
                raise Unavailable("the simulated broker has refused some of it")
            self._under_way = self._under_way[count:]
            await asyncio.sleep(seconds)
            if self._under_way:
                return False
        broker.kept += self._under_way
        self._under_way = []
        return True

    async def check(self) -> None:
        """Ask whether the broker answers."""
        await asyncio.sleep(self._broker.random.random() * 0.01)
        if self._broker.is_down:
            raise Unavailable("the simulated broker does not answer")

    async def forget(self) -> None:
        """Send nothing more of what was handed over."""
        self._under_way = []

    async def close(self) -> None:
        """Let go of it."""
        self._under_way = []
