"""Asks about limits as HTTP requests."""

from typing import Any
from urllib.parse import quote

from drumline.core.codec import encode
from drumline.sdk.http_jobs import Message
from drumline.sdk.limits import SetLimit
from drumline.sdk.transport import LimitAsk


def message_of_limit(ask: LimitAsk[Any]) -> Message:
    """Return the request that an ask becomes."""
    if isinstance(ask, SetLimit):
        return Message(method="PUT", path=f"/api/v1/limits/{quote(ask.name, safe='')}", body=encode(ask.request))
    raise TypeError(f"cannot send {ask!r}")
