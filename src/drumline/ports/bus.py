"""The bus: where events go when they leave the house.

The log in the store (`ports/outbox.py`) is the bus that everybody has: the API serves it as a stream. A bus behind this
port is another one besides, such as Kafka, which the relay copies the log to. It may be away for hours: then the log
grows, and nothing else waits.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

CONSUMER: Final = "kafka"
"""The name under which the relay reads the log."""


class Channel(StrEnum):
    """What is sent apart from the rest."""

    EVENTS = "events"
    DEAD_LETTERS = "dead_letters"


class BusBatch(NamedTuple):
    """Messages to send on one channel, in their order."""

    channel: Channel
    keys: Sequence[str]
    """The key of each. Messages of one key in one channel arrive in the order in which they were sent."""
    values: Sequence[bytes]


class Bus(Protocol):
    """Takes messages. At most one page of them is under way, so that nothing piles up in memory."""

    async def send(self, batches: Sequence[BusBatch]) -> None:
        """Hand a page over. It is on its way until `sent` says otherwise; raises `Unavailable`."""
        ...

    async def sent(self, *, seconds: float) -> bool:
        """Wait until everything that was handed over is safely kept there, at most so long; tell whether it is.

        Raises `Unavailable`, with the reason, if some of it was refused: then the whole page has to be sent again,
        for it may be there in part.
        """
        ...

    async def check(self) -> None:
        """Ask whether the bus answers, with nothing to send; raises `Unavailable` within some seconds."""
        ...

    async def forget(self) -> None:
        """Send nothing more of what was handed over."""
        ...

    async def close(self) -> None:
        """Let go of every connection; what is not sent by then is not sent."""
        ...

    @property
    def reason(self) -> str:
        """Why events cannot be sent at the moment, for people; empty if they can."""
        ...
