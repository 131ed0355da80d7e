"""Limits that stand in the code of an app, as clients ask for them."""

import re
from dataclasses import dataclass
from typing import Any, Final, Protocol

from drumline.core.flow import FlowLimit, LimitRequest
from drumline.core.names import LONGEST_QUEUE
from drumline.core.task import DEFAULT_TENANT
from drumline.sdk.transport import LimitAsk

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_.:@-]+")


@dataclass(frozen=True, slots=True)
class SetLimit(LimitAsk[None]):
    """Set a limit, in place of the one of that name."""

    name: str
    request: LimitRequest


class _Flow(Protocol):
    async def set(self, name: str, request: LimitRequest, *, tenant: str) -> tuple[FlowLimit, FlowLimit | None]: ...


class HasFlow(Protocol):
    """The part of the engine that sets limits."""

    @property
    def flow(self) -> _Flow:
        """What sets them."""
        ...


async def answer_limit(engine: HasFlow, ask: LimitAsk[Any]) -> None:
    """Answer from an engine of this process."""
    if not isinstance(ask, SetLimit):
        raise TypeError(f"cannot answer {ask!r}")
    await engine.flow.set(ask.name, ask.request, tenant=DEFAULT_TENANT)


def limit_name(task: str) -> str:
    """Return the name of the limit that stands in a task's code."""
    return f"task:{_NOT_IN_NAMES.sub('-', task)}"[:LONGEST_QUEUE]
