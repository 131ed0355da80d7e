"""One transport, used by blocking and async callers alike.

What a handle does is written once, as steps: a generator that yields asks and is sent their answers. `run` takes the
steps blocking, `arun` on the caller's event loop.
"""

import asyncio
import os
import re
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary, ref

from drumline.aio.batcher import Batcher, BatchWeights
from drumline.core.clock import Clock, SystemClock
from drumline.core.errors import DrumlineError, Unavailable
from drumline.core.ids import TaskId
from drumline.core.task import TaskRequest
from drumline.sdk.context import current_or_none
from drumline.sdk.threads import running_loop
from drumline.sdk.traced import TracedSubmissions, is_traced, trace_headers
from drumline.sdk.transport import Ask, Pause, SubmitMany, Transport

T = TypeVar("T")
Submissions = Batcher[TaskRequest, TaskId | DrumlineError]
Steps = Generator[Ask[Any], Any, T]
"""An act in steps: yields asks, is sent their answers (or thrown their errors), returns its result."""

LARGEST_JOIN: Final = 1_000
PARALLEL_JOINS: Final = 2
LONG_POLL: Final = 10.0
"""Seconds of one question "has it ended?"; short enough that a lost connection is noticed."""

_CLOCK: Final = SystemClock()


class Client:
    """Takes steps through a transport, and joins concurrent async submissions into batches."""

    def __init__(self, transport: Transport, *, clock: Clock | None = None, long_poll: float = LONG_POLL) -> None:
        self.transport = transport
        self.clock = clock or _CLOCK
        """By which its handles measure how long they wait."""
        self.long_poll = long_poll
        """Seconds of one question "has it ended?"."""
        self._batchers: WeakKeyDictionary[asyncio.AbstractEventLoop, Submissions] = WeakKeyDictionary()
        self._last: tuple[Callable[[], asyncio.AbstractEventLoop | None], Submissions]
        self._last = (lambda: None), self._new_batcher()
        self._traced = TracedSubmissions(transport)

    def submit(self, request: TaskRequest) -> TaskId:
        """Store one task, or raise the reason why not."""
        (answer,) = self.transport.send(SubmitMany((request,)))
        return id_or_raise(answer)

    async def asubmit(self, request: TaskRequest) -> TaskId:
        """Store one task together with those that others submit on this loop at the same time."""
        return id_or_raise(await self.joined(request))

    def joined(self, request: TaskRequest) -> "asyncio.Future[TaskId | DrumlineError]":
        """Do as `asubmit` does; the future gives the task's id, or the reason why not."""
        loop = asyncio.get_running_loop()
        if is_traced() and (headers := trace_headers()):
            return self._traced.joined(request, headers, loop)
        last_loop, batcher = self._last
        if last_loop() is not loop:
            batcher = self._batcher_on(loop)
        return batcher.joined(request)

    def run(self, steps: Steps[T]) -> T:
        """Take the steps, blocking the calling thread."""
        try:
            ask = next(steps)
            while True:
                try:
                    answer = self._send(ask)
                except DrumlineError as error:
                    ask = steps.throw(error)
                else:
                    ask = steps.send(answer)
        except StopIteration as stop:
            result: T = stop.value
            return result

    async def arun(self, steps: Steps[T]) -> T:
        """Take the steps on the running event loop."""
        try:
            ask = next(steps)
            while True:
                try:
                    answer = await self._asend(ask)
                except DrumlineError as error:
                    ask = steps.throw(error)
                else:
                    ask = steps.send(answer)
        except StopIteration as stop:
            result: T = stop.value
            return result

    def close(self) -> None:
        """Close the transport."""
        self.transport.close()

    def _send(self, ask: Ask[Any]) -> Any:
        return time.sleep(ask.seconds) if isinstance(ask, Pause) else self.transport.send(ask)

    async def _asend(self, ask: Ask[Any]) -> Any:
        return await (asyncio.sleep(ask.seconds) if isinstance(ask, Pause) else self.transport.asend(ask))

    def _batcher_on(self, loop: asyncio.AbstractEventLoop) -> Submissions:
        """Return the batcher of a loop, and remember it as the last that was used."""
        batcher = self._batchers.get(loop)
        if batcher is None:
            batcher = self._batchers[loop] = self._new_batcher()
        self._last = ref(loop), batcher
        return batcher

    def _new_batcher(self) -> Submissions:
        return Batcher(
            self._flush,
            name="asubmit",
            largest=LARGEST_JOIN,
            parallel=PARALLEL_JOINS,
            weights=BatchWeights(lambda request: len(request.payload)),
        )

    async def _flush(self, requests: list[TaskRequest]) -> Sequence[TaskId | DrumlineError]:
        return await self.transport.asend(SubmitMany(requests))


def only(ask: Ask[T]) -> Steps[T]:
    """Return the steps of an act that is one ask."""
    answer: T = yield ask
    return answer


def warn_if_blocking(twin: str, *, level: int = 3) -> None:
    """Warn when a blocking call is made on an event loop; inside an async task refuse it.

    The loop of an async task is the worker's: blocking it stops every other task, and may stop the very server that
    should answer. Elsewhere (a notebook has a loop, too) it is only slow.
    `level` is how many frames away the caller's line is.
    """
    if running_loop() is None:
        return
    message = f"this call blocks the running event loop; use `await ….{twin}(…)` instead"
    if current_or_none() is not None:
        raise RuntimeError(message)
    warnings.warn(message, RuntimeWarning, stacklevel=level)


def id_or_raise(answer: TaskId | DrumlineError) -> TaskId:
    """Return the id that answers a single submission, or raise the error."""
    if isinstance(answer, DrumlineError):
        # Its place in the batch means nothing to one who submitted a single task.
        answer.field = re.sub(r"^tasks\[\d+\]\.?", "", answer.field or "") or None
        raise answer
    return answer


OUTAGE: Final = 60.0
"""Seconds that waiting endures a server that cannot be reached, so that a restart does not end it."""


def ended(
    ask: Callable[[float], Ask[T]],
    has_ended: Callable[[T], bool],
    *,
    seconds: float,
    clock: Clock,
    long_poll: float = LONG_POLL,
) -> Steps[T | None]:
    """Return what is asked for once it has ended, or as it was last seen when the time is over.

    `ask` makes the question from the seconds that its answer may be waited for.
    """
    now = clock.monotonic()
    deadline, lost_after = now + seconds, now + OUTAGE
    seen: T | None = None
    while True:
        try:
            seen = yield ask(min(long_poll, max(deadline - now, 0.0)))
        except Unavailable:
            if clock.monotonic() > min(deadline, lost_after):
                raise
            yield Pause(0.5)
            now = clock.monotonic()
            continue
        now = clock.monotonic()
        if has_ended(seen) or now >= deadline:
            return seen
        lost_after = now + OUTAGE


class Forks:
    """How often this process was forked from one that had loaded this module."""

    count: int = 0


def _forked() -> None:
    Forks.count += 1


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_forked)
