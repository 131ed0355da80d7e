"""Text messages through the HTTP gateway of a provider: how a message is asked for, and what the answer means.

Two request shapes are known: `twilio` (form fields under an account, basic authentication) and `vonage` (JSON with key
and secret, a status for each message). Other providers that speak one of them are reached by their own URL.
"""

import base64
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from drumline.core.codec import encode

Provider = Literal["twilio", "vonage"]

URLS: Final[Mapping[Provider, str]] = MappingProxyType(
    {"twilio": "https://api.twilio.com", "vonage": "https://rest.nexmo.com"}
)
"""Where each provider is, unless the settings say otherwise."""
RETRYABLE: Final = frozenset((408, 425, 429))
KEPT_IN_ERROR: Final = 300
SENT: Final = "0"
THROTTLED: Final = frozenset(("1", "5"))
"""Statuses of a message for which Vonage asks to come again: too many at once, or a fault of its own."""


class SmsGateway(Struct, frozen=True, kw_only=True):
    """The gateway, and as whom messages are sent."""

    provider: Provider
    url: str | None = None
    account: str = ""
    token: str = ""
    sender: str = ""
    timeout: float = 15.0


class Sms(Struct, frozen=True, kw_only=True):
    """A message to one phone."""

    to: str
    text: str
    sender: str
    account: str
    token: str
    reference: str
    """The same for every try, for providers that show it."""


class SmsRequest(Struct, frozen=True, kw_only=True):
    """What is posted to the gateway."""

    url: str
    headers: Mapping[str, str]
    body: bytes


class SmsFailed(Exception):
    """The message was not accepted; `permanent` tells whether trying again is of any use."""

    def __init__(self, kind: str, message: str, *, permanent: bool) -> None:
        super().__init__(message)
        self.kind = kind
        self.permanent = permanent


def request_of(sms: Sms, settings: SmsGateway) -> SmsRequest:
    """Return what asks the provider for a message."""
    base = (settings.url or URLS[settings.provider]).rstrip("/")
    return _REQUESTS[settings.provider](sms, base)


def message_id_of(settings: SmsGateway, status: int, text: str) -> str:
    """Return the id under which the provider has accepted a message, or raise `SmsFailed`."""
    if not 200 <= status < 300:
        permanent = status < 500 and status not in RETRYABLE
        raise SmsFailed(f"HTTP {status}", f"the gateway answered {status}: {text[:KEPT_IN_ERROR]}", permanent=permanent)
    try:
        answer = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise SmsFailed("UnreadableAnswer", f"the gateway answered {text[:KEPT_IN_ERROR]!r}", permanent=True) from error
    return _ANSWERS[settings.provider](answer if isinstance(answer, dict) else {})


def _twilio_request(sms: Sms, base: str) -> SmsRequest:
    word = base64.b64encode(f"{sms.account}:{sms.token}".encode()).decode()
    return SmsRequest(
        url=f"{base}/2010-04-01/Accounts/{quote(sms.account, safe='')}/Messages.json",
        headers={"authorization": f"Basic {word}", "content-type": "application/x-www-form-urlencoded"},
        body=urlencode({"To": sms.to, "From": sms.sender, "Body": sms.text}).encode(),
    )


def _twilio_answer(answer: Mapping[str, Any]) -> str:
    if not isinstance(answer.get("sid"), str):
        raise SmsFailed("UnreadableAnswer", "the gateway's answer has no sid", permanent=True)
    return str(answer["sid"])


def _vonage_request(sms: Sms, base: str) -> SmsRequest:
    body = {
        "api_key": sms.account,
        "api_secret": sms.token,
        "to": sms.to.removeprefix("+"),
        "from": sms.sender.removeprefix("+"),
        "text": sms.text,
        "type": "text" if sms.text.isascii() else "unicode",
        "client-ref": sms.reference,
    }
    return SmsRequest(url=f"{base}/sms/json", headers={"content-type": "application/json"}, body=encode(body))


def _vonage_answer(answer: Mapping[str, Any]) -> str:
    messages = answer.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(each, dict) for each in messages):
        raise SmsFailed("UnreadableAnswer", "the gateway's answer has no messages", permanent=True)
    for each in messages:
        status = str(each.get("status"))
        if status != SENT:
            words = str(each.get("error-text") or "")[:KEPT_IN_ERROR]
            raise SmsFailed(f"status {status}", f"the gateway refused it: {words}", permanent=status not in THROTTLED)
    return str(messages[0].get("message-id", ""))


_REQUESTS: Final[Mapping[Provider, Callable[[Sms, str], SmsRequest]]] = MappingProxyType(
    {"twilio": _twilio_request, "vonage": _vonage_request}
)
_ANSWERS: Final[Mapping[Provider, Callable[[Mapping[str, Any]], str]]] = MappingProxyType(
    {"twilio": _twilio_answer, "vonage": _vonage_answer}
)
