"""Signals that programs send: asked of a transport, and how each kind of transport answers."""

import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from msgspec import Raw, Struct

from drumline.core.codec import encode
from drumline.core.durable import NOTHING
from drumline.core.ids import TaskId
from drumline.sdk.arguments import encode_result
from drumline.sdk.transport import HttpMessage, SelfContainedAsk


class SentSignal(Struct, frozen=True):
    """A signal that is kept: its id, whether it is new, and how many tasks it has woken."""

    id: str
    created: bool
    woken: int = 0


@dataclass(frozen=True, slots=True)
class SendSignal(SelfContainedAsk[SentSignal]):
    """Send a signal to a task, or by a key; sent again, it is the same one."""

    name: str
    payload: Raw
    id: str
    task: TaskId | None = None
    key: str | None = None

    def message(self) -> HttpMessage:
        """Return it as a request."""
        name = quote(self.name, safe="")
        path = f"/api/v1/signals/{name}" if self.task is None else f"/api/v1/tasks/{self.task}/signals/{name}"
        body = encode(_Wanted(self.id, self.payload, self.key))
        return HttpMessage(path=path, method="POST", body=body, answer=SentSignal)

    async def answer(self, engine: Any) -> SentSignal:
        """Send it through an engine of this process."""
        sent = await engine.durable.signal(self.name, self.payload, task=self.task, key=self.key, id=self.id)
        return SentSignal(sent.id, sent.created, sent.woken)


class _Wanted(Struct, frozen=True, omit_defaults=True):
    id: str
    payload: Raw = NOTHING
    key: str | None = None


def send_signal(
    name: str, payload: Any, *, id: str | None, task: TaskId | None = None, key: str | None = None
) -> SendSignal:
    """Return a signal to send; it has an id, so that it can be sent again when an answer is lost."""
    return SendSignal(name, Raw(encode_result(payload)), id or secrets.token_hex(16), task, key)
