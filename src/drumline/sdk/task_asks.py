"""What only some clients ask about tasks: their executions, and which of many have ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from drumline.core.child_views import ChildInfo
from drumline.core.clock import to_datetime
from drumline.core.codec import encode
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.views import PublicExecution, execution_fields
from drumline.sdk.client import Steps, only
from drumline.sdk.transport import HttpMessage, SelfContainedAsk

MOST_IDS = 1_000
"""Tasks that one request may wait for."""


class TaskAttemptInfo(PublicExecution[datetime], frozen=True, kw_only=True):
    """One execution of a task, as the HTTP API shows it."""

    error: ErrorInfo | None = None


class _Attempts(Struct):
    items: tuple[TaskAttemptInfo, ...]


class _Ids(Struct):
    ids: tuple[TaskId, ...]


@dataclass(frozen=True, slots=True)
class GetTaskAttempts(SelfContainedAsk[tuple[TaskAttemptInfo, ...]]):
    """Return the executions of a task, oldest first."""

    task: TaskId

    def message(self) -> HttpMessage:
        """Return it as an HTTP request."""
        path = f"/api/v1/tasks/{quote(self.task, safe='')}/attempts"
        return HttpMessage(path=path, answer=_Attempts, read=lambda answer: answer.items)

    async def answer(self, engine: Any) -> tuple[TaskAttemptInfo, ...]:
        """Answer it from an engine in this process."""
        return tuple(
            TaskAttemptInfo(**execution_fields(view, to_datetime), error=view.error)
            for view in await engine.queries.attempts(self.task)
        )


class _Children(Struct):
    items: tuple[ChildInfo, ...]
    next_cursor: TaskId | None = None


@dataclass(frozen=True, slots=True)
class GetChildren(SelfContainedAsk[_Children]):
    """Return a page of the children of a task."""

    task: TaskId
    after: TaskId | None = None

    def message(self) -> HttpMessage:
        """Return it as an HTTP request."""
        cursor = "" if self.after is None else f"?cursor={quote(self.after, safe='')}"
        return HttpMessage(path=f"/api/v1/tasks/{quote(self.task, safe='')}/children{cursor}", answer=_Children)

    async def answer(self, engine: Any) -> _Children:
        """Answer it from an engine in this process."""
        page = await engine.children.children(self.task, ChildInfo, to_datetime, after=self.after)
        return _Children(page.children, page.next_cursor)


def all_children(task: TaskId) -> Steps[tuple[ChildInfo, ...]]:
    """Return the children of a task, page by page."""
    found: list[ChildInfo] = []
    after: TaskId | None = None
    while True:
        page = yield from only(GetChildren(task, after))
        found += page.items
        after = page.next_cursor
        if after is None:
            return tuple(found)


@dataclass(frozen=True, slots=True)
class GetEnded(SelfContainedAsk[tuple[TaskId, ...]]):
    """Return which of some tasks have ended, waiting up to `wait` seconds for the first; one that is gone counts."""

    tasks: Sequence[TaskId]
    wait: float = 0.0

    def message(self) -> HttpMessage:
        """Return it as an HTTP request."""
        return HttpMessage(
            method="POST",
            path="/api/v1/tasks/ended",
            body=encode({"ids": list(self.tasks)}),
            wait=self.wait,
            answer=_Ids,
            read=lambda answer: answer.ids,
        )

    async def answer(self, engine: Any) -> tuple[TaskId, ...]:
        """Answer it from an engine in this process."""
        ended: tuple[TaskId, ...] = await engine.queries.wait_for_any(self.tasks, seconds=self.wait)
        return ended
