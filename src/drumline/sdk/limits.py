"""Limits that the code of an app declares, and the requests that set them."""

import re
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import quote

from drumline.core.codec import encode
from drumline.core.flow import FlowLimit, LimitRequest
from drumline.core.names import LONGEST_QUEUE
from drumline.core.task import DEFAULT_TENANT
from drumline.sdk.transport import HttpMessage, LimitAsk

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
    """Return the name of the limit that a task's code declares."""
    return f"task:{_NOT_IN_NAMES.sub('-', task)}"[:LONGEST_QUEUE]


def message_of_limit(ask: LimitAsk[Any]) -> HttpMessage:
    """Return the request that an ask becomes."""
    if isinstance(ask, SetLimit):
        return HttpMessage(method="PUT", path=f"/api/v1/limits/{quote(ask.name, safe='')}", body=encode(ask.request))
    raise TypeError(f"cannot send {ask!r}")
