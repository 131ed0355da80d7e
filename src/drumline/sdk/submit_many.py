"""Many calls in one submission, typed: a list of calls gives a list, a tuple of calls a tuple."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, overload

from drumline.core.errors import DrumlineError
from drumline.core.ids import TaskId
from drumline.sdk.app_hooks import AppHooks
from drumline.sdk.checking import wrong
from drumline.sdk.client import Client, warn_if_blocking
from drumline.sdk.handle import TaskHandle
from drumline.sdk.task import Call
from drumline.sdk.transaction import client_in
from drumline.sdk.transport import SubmitMany

R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")


# A tuple is iterable too, and would give a list; the forms for tuples come first, and win.


class SubmitsMany:
    """The part of an app that submits many calls at once."""

    hooks: AppHooks

    @property
    def client(self) -> Client:
        """The client, connected on first use."""
        raise NotImplementedError

    async def aclient(self) -> Client:
        """Return the client, connecting without blocking the event loop."""
        raise NotImplementedError

    @overload
    def submit_many(  # type: ignore[overload-overlap]
        self, calls: tuple[Call[A], Call[B]], *, tx: object = None
    ) -> tuple[TaskHandle[A] | DrumlineError, TaskHandle[B] | DrumlineError]: ...
    @overload
    def submit_many(  # type: ignore[overload-overlap]
        self, calls: tuple[Call[A], Call[B], Call[C]], *, tx: object = None
    ) -> tuple[TaskHandle[A] | DrumlineError, TaskHandle[B] | DrumlineError, TaskHandle[C] | DrumlineError]: ...
    @overload
    def submit_many(  # type: ignore[overload-overlap]
        self, calls: tuple[Call[A], Call[B], Call[C], Call[D]], *, tx: object = None
    ) -> tuple[
        TaskHandle[A] | DrumlineError,
        TaskHandle[B] | DrumlineError,
        TaskHandle[C] | DrumlineError,
        TaskHandle[D] | DrumlineError,
    ]: ...
    @overload
    def submit_many(  # type: ignore[overload-overlap]
        self, calls: tuple[Call[R], ...], *, tx: object = None
    ) -> tuple[TaskHandle[R] | DrumlineError, ...]: ...
    @overload
    def submit_many(self, calls: Iterable[Call[R]], *, tx: object = None) -> list[TaskHandle[R] | DrumlineError]: ...
    def submit_many(self, calls: Iterable[Call[Any]], *, tx: object = None) -> Any:
        """Submit many calls at once; each gets its handle or its error, in order. Raises only if none was stored.

        A list or a generator gives a list. A tuple gives a tuple, in which a type checker knows each result by its
        place.
        With `tx` they are stored in the caller's transaction, as by `Task.submit`.
        """
        warn_if_blocking("asubmit_many")
        calls = _calls(calls)
        requests = self.hooks.prepare_many([call.request for call in calls])
        client = self.client if tx is None else client_in(self, tx)
        return _handles(calls, client.transport.send(SubmitMany(requests)) if calls else [], client)

    @overload
    async def asubmit_many(  # type: ignore[overload-overlap]
        self, calls: tuple[Call[A], Call[B]], *, tx: object = None
    ) -> tuple[TaskHandle[A] | DrumlineError, TaskHandle[B] | DrumlineError]: ...
    @overload
    async def asubmit_many(  # type: ignore[overload-overlap]
        self, calls: tuple[Call[A], Call[B], Call[C]], *, tx: object = None
    ) -> tuple[TaskHandle[A] | DrumlineError, TaskHandle[B] | DrumlineError, TaskHandle[C] | DrumlineError]: ...
    @overload
    async def asubmit_many(  # type: ignore[overload-overlap]
        self, calls: tuple[Call[A], Call[B], Call[C], Call[D]], *, tx: object = None
    ) -> tuple[
        TaskHandle[A] | DrumlineError,
        TaskHandle[B] | DrumlineError,
        TaskHandle[C] | DrumlineError,
        TaskHandle[D] | DrumlineError,
    ]: ...
    @overload
    async def asubmit_many(  # type: ignore[overload-overlap]
        self, calls: tuple[Call[R], ...], *, tx: object = None
    ) -> tuple[TaskHandle[R] | DrumlineError, ...]: ...
    @overload
    async def asubmit_many(
        self, calls: Iterable[Call[R]], *, tx: object = None
    ) -> list[TaskHandle[R] | DrumlineError]: ...
    async def asubmit_many(self, calls: Iterable[Call[Any]], *, tx: object = None) -> Any:
        """Submit many calls at once, as `submit_many` does."""
        calls = _calls(calls)
        requests = await self.hooks.aprepare_many([call.request for call in calls])
        client = await self.aclient() if tx is None else client_in(self, tx)
        return _handles(calls, await client.transport.asend(SubmitMany(requests)) if calls else [], client)


def _calls(calls: Iterable[Call[Any]]) -> Sequence[Call[Any]]:
    if not isinstance(calls, Iterable):
        raise wrong("calls", "a list or a tuple of calls, as task.call(…) gives them", calls, of="submit_many")
    taken: list[Call[Any]] = []
    for call in calls:  # checked one by one, so that what never ends is refused at its first item
        if not isinstance(call, Call):
            raise wrong("each item", "a call, as task.call(…) gives it", call, of="submit_many")
        taken.append(call)
    return tuple(taken) if isinstance(calls, tuple) else taken


def _handles(
    calls: Sequence[Call[Any]], answers: Sequence[TaskId | DrumlineError], client: Client
) -> Sequence[TaskHandle[Any] | DrumlineError]:
    handles = [
        answer if isinstance(answer, DrumlineError) else call.handle(answer, client)
        for call, answer in zip(calls, answers, strict=True)
    ]
    return tuple(handles) if isinstance(calls, tuple) else handles
