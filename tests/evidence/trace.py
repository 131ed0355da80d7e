"""What a witness outside of the system saw, in its order: the simulator and the chaos run write it, judges read it.

A trace is a file of JSON lines. An operation of a client has an `op` of its own: it begins with a line of phase
`invoke`, and ends with `ok`, with `fail` (it certainly has had no effect) or with `unknown` (it may have had one, also
later). Executions are recorded by the tasks themselves, the rest by the witness.
"""

from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct


class Phase(Enum):
    """Where an operation of a client stands."""

    INVOKE = "invoke"
    OK = "ok"
    FAIL = "fail"
    UNKNOWN = "unknown"


class Operation(Struct, frozen=True, kw_only=True, tag="op", tag_field="line", omit_defaults=True):
    """A step of an operation of a client: `submit`, `submit_job`, `cancel`, `retry`, `read`, `pause`, `resume` …"""

    at: float
    """Seconds since the trace began, by the witness's clock."""
    op: int
    client: str
    what: str
    phase: Phase
    task: str | None = None
    """The task it is about; for submissions known when they are ok."""
    key: str | None = None
    """The idempotency key of a submission."""
    state: str | None = None
    """What a read has seen: a status as the API tells it, or `none` if there is no such task."""
    detail: dict[str, Any] = {}


class Execution(Struct, frozen=True, kw_only=True, tag="run", tag_field="line", omit_defaults=True):
    """What a task noted while it ran: `begin`, then `end`, `error`, `parked` or `stopped`; one killed has no end.

    `stopped` is an execution that its worker has ended: because of a timeout, a cancellation, a lost lease, or because
    it gives the task back. Not every witness can note it. `parked` is one that ended because the store said so, in
    answer to a durable call: it waits, or its lease is gone. By then the next execution may have begun.
    """

    at: float
    task: str
    moment: str
    worker: str
    """The process in which it ran."""
    attempt: int = 1
    pid: int | None = None
    """Its number, where a worker keeps its name when it is started again."""
    limit: str | None = None
    """The limit under which it ran, for judges that count."""
    epoch: int = 0
    """The epoch of the lease under which it ran, where the witness knows it."""


class Ending(Struct, frozen=True, kw_only=True, tag="final", tag_field="line", omit_defaults=True):
    """What the store says of a task in the end, with all its attempts."""

    at: float
    task: str
    state: str
    attempts: tuple[str, ...] = ()
    """The outcome of each attempt, in their order: `completed`, `retried`, `crashed`, `released`, `failed`, …"""
    epochs: tuple[int, ...] = ()
    """The epochs of their leases, where the witness knows them."""
    leased: tuple[float | None, ...] = ()
    """When the store says that it leased each of them, in seconds since the trace began; None for one without a lease.
    """
    ended: tuple[float, ...] = ()
    """When the store says that each of them ended, or that it gave its lease up."""
    key: str | None = None
    job: str | None = None
    parent: str | None = None
    """The task that started it, if one did."""
    schedule: str | None = None
    fire_time: str | None = None
    finished: float | None = None
    """When the store says that it ended, in seconds since the trace began."""


class Fault(Struct, frozen=True, kw_only=True, tag="fault", tag_field="line", omit_defaults=True):
    """What was done to the system: `kill`, `stop`, `flush`, `cut`, `lose_reply`, `clock` …, to whom, and until when."""

    at: float
    kind: str
    target: str
    until: float | None = None
    detail: dict[str, Any] = {}


class Note(Struct, frozen=True, kw_only=True, tag="note", tag_field="line", omit_defaults=True):
    """A step inside the system that specifications are about, as `claimed`, `settled`, `fired`, `published`."""

    at: float
    process: str
    what: str
    task: str | None = None
    detail: dict[str, Any] = {}


Line = Operation | Execution | Ending | Fault | Note

_DECODER = msgspec.json.Decoder(Line)
_ENCODER = msgspec.json.Encoder()


def write(path: Path, lines: Iterable[Line]) -> None:
    """Write a trace."""
    with path.open("wb") as file:
        for line in lines:
            file.write(_ENCODER.encode(line) + b"\n")


def read(path: Path) -> Iterator[Line]:
    """Read a trace."""
    with path.open("rb") as file:
        for line in file:
            yield _DECODER.decode(line)
