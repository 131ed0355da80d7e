"""What a worker and its child processes say to each other: frames of a length and a MessagePack struct. No pickle."""

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Struct

from drumline.core.durable import Wait
from drumline.sdk.children import Outcomes

HEADER: Final = 4


class Order(Struct, frozen=True, kw_only=True, tag="order"):
    """Call this function. The payload is JSON, as the task carries it."""

    module: str
    qualname: str
    path: tuple[str, ...]
    """The worker's `sys.path`, so that the child finds the same modules."""
    task: str
    epoch: int
    nonce: int
    may_settle: bool
    """Whether it may record its end itself: not if it was given secrets, which the child cannot blot out."""
    name: str
    queue: str
    attempt: int
    deadline: float | None
    fire_time: int | None
    payload: bytes


class Hidden(Struct, frozen=True):
    """Environment variables that are sent to the child by socket: other programs could read its environment."""

    variables: dict[str, str]


class File(Struct, frozen=True, tag="file"):
    """The function has made an artifact."""

    name: str
    data: bytes
    content_type: str


class ProgressFrame(Struct, frozen=True, tag="advanced"):
    """The function says how far it is."""

    done: float
    total: float | None
    message: str


class FindFrame(Struct, frozen=True, tag="find"):
    """The function asks what is recorded under a name; it waits for a `Told`."""

    name: str
    key: str


class BeganFrame(Struct, frozen=True, tag="began"):
    """A step of the function has begun."""


class GaveUpFrame(Struct, frozen=True, tag="gave_up"):
    """A step of the function has ended without a record."""


class SaveFrame(Struct, frozen=True, tag="save"):
    """The function has a record to keep, in JSON; it waits for a `Told`."""

    save: bytes


class WaitFrame(Struct, frozen=True, tag="wait"):
    """The function waits for something; it waits for a `Told`."""

    wait: Wait


class StartFrame(Struct, frozen=True, tag="start"):
    """The function starts children, in JSON; it waits for a `Told`."""

    start: bytes


class OutcomesFrame(Struct, frozen=True, tag="outcomes"):
    """The function asks how children ended; it waits for a `Told`."""

    outcomes: Outcomes


class RestartFrame(Struct, frozen=True, tag="restart"):
    """The function ends its round, with the payload of the next one; it waits for a `Told`."""

    payload: bytes


class Told(Struct, frozen=True, kw_only=True, tag="told"):
    """The answer to a durable call: a record in JSON, or what was asked of children; or why there is no answer."""

    record: bytes | None = None
    is_parked: bool = False
    error: str | None = None
    is_permanent: bool = False


class Ended(Struct, frozen=True, tag="ended"):
    """The function has ended; the outcome is JSON."""

    outcome: bytes


DurableFrame = FindFrame | BeganFrame | GaveUpFrame | SaveFrame | WaitFrame | StartFrame | OutcomesFrame | RestartFrame
Reply = File | ProgressFrame | DurableFrame | Ended

_encode: Final = msgspec.msgpack.Encoder().encode
decode_hidden: Final[Callable[[bytes], Hidden]] = msgspec.msgpack.Decoder(Hidden).decode
decode_order: Final[Callable[[bytes], Order | Told]] = msgspec.msgpack.Decoder(Order | Told).decode
decode_reply: Final[Callable[[bytes], Reply]] = msgspec.msgpack.Decoder(Reply).decode


def frame(message: Hidden | Order | Told | Reply) -> bytes:
    """Return a message as it travels."""
    body = _encode(message)
    return len(body).to_bytes(HEADER, "big") + body
