"""What a client asks about schedules, as values, and how an engine of this process answers."""

from dataclasses import dataclass
from typing import Any, Protocol

from drumline.core.app_schedules import Registered, RegisterRequest
from drumline.core.codec import encode
from drumline.core.task import DEFAULT_TENANT
from drumline.sdk.transport import HttpMessage, ScheduleAsk


@dataclass(frozen=True, slots=True)
class RegisterSchedules(ScheduleAsk[Registered]):
    """Make schedules be as the code of an app says."""

    request: RegisterRequest


class _Registrar(Protocol):
    async def register(self, request: RegisterRequest, *, tenant: str) -> Registered: ...


class HasRegistrar(Protocol):
    """The part of the engine that registers schedules."""

    @property
    def registrar(self) -> _Registrar:
        """What registers them."""
        ...


async def answer_schedule(engine: HasRegistrar, ask: ScheduleAsk[Any]) -> Any:
    """Answer from an engine of this process."""
    if isinstance(ask, RegisterSchedules):
        return await engine.registrar.register(ask.request, tenant=DEFAULT_TENANT)
    raise TypeError(f"cannot answer {ask!r}")


def message_of_schedule(ask: ScheduleAsk[Any]) -> HttpMessage:
    """Return the request that an ask becomes."""
    if isinstance(ask, RegisterSchedules):
        return HttpMessage(
            method="POST", path="/api/v1/schedules/register", body=encode(ask.request), answer=Registered
        )
    raise TypeError(f"cannot send {ask!r}")
