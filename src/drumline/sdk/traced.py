"""Traces of submissions: the headers that carry a trace to the server, and the spans of what is submitted."""

import asyncio
import sys
from contextvars import Context, copy_context
from importlib import import_module
from typing import NamedTuple
from weakref import WeakKeyDictionary

from drumline.aio.batcher import Batcher, BatchWeights
from drumline.core.errors import DrumlineError
from drumline.core.ids import TaskId
from drumline.core.task import TaskRequest
from drumline.core.trace import CURRENT_TRACE
from drumline.sdk.transport import SubmitMany, Transport

Answer = TaskId | DrumlineError
Trace = tuple[tuple[str, str], ...]
"""The headers that carry a trace."""


class TracedRequest(NamedTuple):
    """A request with the trace and the context of its caller."""

    request: TaskRequest
    trace: Trace
    context: Context


class TracedSubmissions:
    """Joins concurrent submissions that belong to the same trace."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._batchers: WeakKeyDictionary[asyncio.AbstractEventLoop, Batcher[TracedRequest, Answer]]
        self._batchers = WeakKeyDictionary()

    def joined(
        self, request: TaskRequest, headers: dict[str, str], loop: asyncio.AbstractEventLoop
    ) -> "asyncio.Future[Answer]":
        """Submit a request in the current context; the future gives the task's id, or the reason why not."""
        batcher = self._batchers.get(loop)
        if batcher is None:
            weights = BatchWeights[TracedRequest](lambda each: len(each.request.payload))
            batcher = self._batchers[loop] = Batcher(self._flush, name="traced asubmit", parallel=8, weights=weights)
        return batcher.joined(TracedRequest(request, tuple(headers.items()), copy_context()))

    async def _flush(self, requests: list[TracedRequest]) -> list[Answer]:
        traces: dict[Trace, list[int]] = {}
        for place, each in enumerate(requests):
            traces.setdefault(each.trace, []).append(place)
        answers: dict[int, Answer] = {}

        async def submit(places: list[int]) -> None:
            ask = SubmitMany([requests[place].request for place in places])
            try:
                answers.update(zip(places, await self._transport.asend(ask), strict=True))
            except DrumlineError as error:  # of this request only: other traces have theirs
                answers.update(dict.fromkeys(places, error))

        loop = asyncio.get_running_loop()
        await asyncio.gather(
            *(loop.create_task(submit(places), context=requests[places[0]].context) for places in traces.values())
        )
        return [answers[place] for place in range(len(requests))]


def is_traced() -> bool:
    """Tell whether the program may be traced: cheap, since it is asked for every submission."""
    return "opentelemetry.trace" in sys.modules or CURRENT_TRACE.get() is not None


def trace_headers() -> dict[str, str]:
    """Return the headers that carry the current trace: of OpenTelemetry, where the program uses it, or of our own."""
    headers: dict[str, str] = {}
    # A program may make spans without loading what writes them as headers.
    if "opentelemetry.trace" in sys.modules:
        import_module("opentelemetry.propagate").inject(headers)
    if not headers and (current := CURRENT_TRACE.get()) is not None:
        headers["traceparent"] = current
    return headers
