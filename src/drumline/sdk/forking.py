"""Forks of tasks that programs make: asked of a transport, and how each kind of transport answers."""

import secrets
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType, field

from drumline.core.codec import encode
from drumline.core.ids import TaskId
from drumline.sdk.arguments import encode_result
from drumline.sdk.transport import HttpMessage, SelfContainedAsk


class ForkedTask(Struct, frozen=True):
    """A task that was made from another: its id, how many records it was given, and whether it is new."""

    id: TaskId
    records: int
    created: bool = True


@dataclass(frozen=True, slots=True)
class ForkTask(SelfContainedAsk[ForkedTask]):
    """Make a task with the records that another has before a step; asked again, it is the same one."""

    task: TaskId
    step: str
    id: str
    key: str = ""
    payload: Raw | None = None

    def message(self) -> HttpMessage:
        """Return it as a request."""
        wanted = _Wanted(self.step, self.id, self.key or None, UNSET if self.payload is None else self.payload)
        path = f"/api/v1/tasks/{self.task}/fork"
        return HttpMessage(path=path, method="POST", body=encode(wanted), answer=ForkedTask)

    async def answer(self, engine: Any) -> ForkedTask:
        """Make it through an engine of this process."""
        made = await engine.forks.fork(self.task, self.step, key=self.key, payload=self.payload, id=self.id)
        return ForkedTask(made.submitted.id, made.records, made.submitted.created)


class _Wanted(Struct, frozen=True, omit_defaults=True):
    step: str = field(name="from")
    id: str
    key: str | None = None
    payload: Raw | UnsetType = UNSET


def fork_task(task: TaskId, step: str, *, key: object, payload: Any, id: str | None) -> ForkTask:
    """Return the fork of a task to make; it has an id, so that it can be asked for again when an answer is lost."""
    raw = None if payload is UNSET else Raw(encode_result(payload))
    return ForkTask(task, step, id or secrets.token_hex(16), "" if key is None else str(key), raw)
