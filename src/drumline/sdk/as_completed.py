"""Handles in the order in which their tasks end."""

from collections.abc import AsyncIterator, Iterable, Iterator
from datetime import timedelta
from typing import Generic, TypeVar

from drumline.core.clock import Clock, SystemClock
from drumline.core.duration import Duration, format_duration, parse_duration
from drumline.core.ids import TaskId
from drumline.sdk.checking import wrong
from drumline.sdk.client import Client, Steps, ended, warn_if_blocking
from drumline.sdk.errors import WaitTimeout
from drumline.sdk.handle import TaskHandle
from drumline.sdk.task_asks import MOST_IDS, GetEnded
from drumline.sdk.transport import Get

R_co = TypeVar("R_co", covariant=True)

TURN_SECONDS = 0.25
"""How long a round waits for one part of many tasks before it asks about the next."""


class AsCompleted(Generic[R_co]):
    """Gives each handle once its task has ended, however it ended: by `for` or by `async for`."""

    def __init__(
        self, handles: Iterable[TaskHandle[R_co]], timeout: Duration | None = None, *, clock: Clock | None = None
    ) -> None:
        self._clock = clock
        self._handles = tuple(handles)
        for handle in self._handles:
            if not isinstance(handle, TaskHandle):
                raise wrong("each item", "a handle, as task.submit(…) gives it", handle, of="as_completed")
        self._within = None if timeout is None else parse_duration(timeout, field="timeout")

    def __iter__(self) -> Iterator[TaskHandle[R_co]]:
        warn_if_blocking("as_completed: async for")
        round_ = self._begin()
        while round_.pending:
            for client, part in round_.parts():
                yield from round_.take(client.run(round_.steps(part)))
            if round_.is_over:
                raise next(iter(round_.pending.values()))[0].client.run(round_.timed_out())

    async def __aiter__(self) -> AsyncIterator[TaskHandle[R_co]]:
        round_ = self._begin()
        while round_.pending:
            for client, part in round_.parts():
                for handle in round_.take(await client.arun(round_.steps(part))):
                    yield handle
            if round_.is_over:
                raise await next(iter(round_.pending.values()))[0].client.arun(round_.timed_out())

    def _begin(self) -> "_Rounds[R_co]":
        clocks = [self._clock] if self._clock else [handle.client.clock for handle in self._handles[:1]]
        return _Rounds(self._handles, self._within, clocks[0] if clocks else SystemClock())


class _Rounds(Generic[R_co]):
    """The tasks that have not ended yet, asked about in parts: a part is of one client, and fits one request."""

    def __init__(self, handles: tuple[TaskHandle[R_co], ...], within: timedelta | None, clock: Clock) -> None:
        self.pending: dict[TaskId, list[TaskHandle[R_co]]] = {}
        for handle in handles:
            self.pending.setdefault(handle.id, []).append(handle)
        self._within = within
        self._clock = clock
        self._deadline = float("inf") if within is None else clock.monotonic() + within.total_seconds()
        self._is_alone = True

    def parts(self) -> list[tuple[Client, list[TaskId]]]:
        """Return what to ask about in this round."""
        of_client: dict[int, tuple[Client, list[TaskId]]] = {}
        for task, (handle, *_) in self.pending.items():
            of_client.setdefault(id(handle.client), (handle.client, []))[1].append(task)
        parts = [
            (client, tasks[start : start + MOST_IDS])
            for client, tasks in of_client.values()
            for start in range(0, len(tasks), MOST_IDS)
        ]
        self._is_alone = len(parts) == 1
        return parts

    def steps(self, part: list[TaskId]) -> Steps[tuple[TaskId, ...] | None]:
        """Return the steps that wait for the first of a part: to the end if there is no other part."""
        left = max(self._deadline - self._clock.monotonic(), 0.0)
        seconds = left if self._is_alone else min(left, TURN_SECONDS)
        return ended(lambda wait: GetEnded(part, wait), bool, seconds=seconds, clock=self._clock)

    def take(self, tasks: tuple[TaskId, ...] | None) -> list[TaskHandle[R_co]]:
        """Return the handles of tasks that have ended."""
        return [handle for task in tasks or () for handle in self.pending.pop(task, ())]

    @property
    def is_over(self) -> bool:
        """Whether the time has passed while some tasks had not ended."""
        return bool(self.pending) and self._clock.monotonic() >= self._deadline

    def timed_out(self) -> Steps[WaitTimeout]:
        """Return the error that names one of the tasks that have not ended."""
        first = next(iter(self.pending))
        info = yield Get(first)
        after = "" if self._within is None else f" after {format_duration(self._within)}"
        message = f"{len(self.pending)} of the tasks have not ended{after}; {first} is {info.status.value}"
        return WaitTimeout(message, first, info.status)


def as_completed(handles: Iterable[TaskHandle[R_co]], timeout: Duration | None = None) -> AsCompleted[R_co]:
    """Return handles in the order in which their tasks end, for a loop with `for` or with `async for`.

    Each comes once, completed or not: `handle.result()` then returns or raises at once. When the time is over before
    all have come, `WaitTimeout` is raised.
    """
    return AsCompleted(handles, timeout)
