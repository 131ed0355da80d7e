"""Asks about schedules as requests of the public API."""

from typing import Any

from drumline.core.app_schedules import Registered
from drumline.core.codec import encode
from drumline.sdk.http_jobs import Message
from drumline.sdk.schedules import RegisterSchedules
from drumline.sdk.transport import ScheduleAsk


def message_of_schedule(ask: ScheduleAsk[Any]) -> Message:
    """Return the request that an ask becomes."""
    if isinstance(ask, RegisterSchedules):
        return Message(method="POST", path="/api/v1/schedules/register", body=encode(ask.request), answer=Registered)
    raise TypeError(f"cannot send {ask!r}")
