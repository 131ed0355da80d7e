"""Traces, as those see them who do the work: spans with a name, a parent and facts. Usually there are none."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from typing import Final, Protocol

Facts = Mapping[str, str | int]
"""Attributes, under the names of OpenTelemetry's conventions for messaging."""


class TraceKind(StrEnum):
    """Which side of an exchange a span is."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    CLIENT = "client"


class Span(Protocol):
    """Something that takes a while."""

    traceparent: str
    """What makes others its children."""

    def note(self, name: str, value: str | int) -> None:
        """Add a fact."""
        ...

    def fail(self, reason: str) -> None:
        """Note that it did not succeed."""
        ...


class Tracer(Protocol):
    """Makes spans. Callers check `is_on` first, so that disabled tracing costs nothing."""

    is_on: bool

    def span(
        self, name: str, kind: TraceKind, *, parent: str | None, facts: Facts, links: Sequence[str] = ()
    ) -> AbstractContextManager[Span]:
        """Give a span that ends with the block; what is done inside belongs to it."""
        ...


class _NoSpan:
    """Nothing."""

    traceparent = ""

    def note(self, name: str, value: str | int) -> None:
        """Do nothing."""

    def fail(self, reason: str) -> None:
        """Do nothing."""


class _NoTracer:
    """Makes no spans."""

    is_on = False

    def span(
        self, _name: str, _kind: TraceKind, *, parent: str | None, facts: Facts, links: Sequence[str] = ()
    ) -> AbstractContextManager[Span]:
        """Give nothing."""
        del parent, facts, links
        return nullcontext(_NoSpan())


NO_TRACER: Final[Tracer] = _NoTracer()
SYSTEM: Final = {"messaging.system": "drumline"}


def messaging(operation: str, queue: str, **more: str | int) -> dict[str, str | int]:
    """Return the facts of an act on messages; of their conventional names dots are written as two underscores."""
    named = {name.replace("__", "."): value for name, value in more.items()}
    return {
        **SYSTEM,
        "messaging.operation.name": operation,
        "messaging.operation.type": operation,
        "messaging.destination.name": queue,
        **named,
    }
