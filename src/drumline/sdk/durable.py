"""Durable calls of a running task: `ctx.step`, `ctx.sleep`, `ctx.sleep_until`, `ctx.restart`, and the same blocking.

Each has its signature twice, since a type cannot say "this, or an awaitable of it"; what it does is written once, as a
generator of operations (`sdk.durable_steps`), which a worker carries out in its loop, from a thread or from a child
process (`sdk.durable_calls`). In a context that a test has made, steps run and sleeps are over at once.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, NoReturn, ParamSpec, TypeVar, TypeVarTuple, overload

from drumline.aio.daemon_threads import DaemonExecutor
from drumline.core.duration import Duration
from drumline.core.retry import Backoff
from drumline.sdk.child_calls import BlockingChildren, ChildContext, Key, key_text
from drumline.sdk.durable_calls import (
    AtOnce,
    BlockingAtOnce,
    BlockingCalls,
    DurableCalls,
    Steps,
    arun_steps,
    run_steps,
)
from drumline.sdk.durable_steps import StepPolicy, payload_of_restart, sleep_in_steps, step_in_steps, wait_in_steps

if TYPE_CHECKING:
    from drumline.sdk.task import Submittable

P = ParamSpec("P")
Ts = TypeVarTuple("Ts")
R = TypeVar("R")
T = TypeVar("T")

STEP_THREADS: Final = 64
"""Steps of async functions whose own function is not async run at once in one process."""


class DurableContext(ChildContext):
    """The durable calls of a `Context`."""

    __slots__ = ()

    name: str
    on_durable: Callable[[], DurableCalls] | None
    """The worker's callback behind durable calls of async functions."""
    on_blocking: Callable[[], BlockingCalls] | None
    """The worker's callback behind durable calls of other functions."""

    @overload
    async def step(
        self,
        name: str,
        function: Callable[[*Ts], Awaitable[R]],
        *args: *Ts,
        key: Key | None = None,
        retries: int | None = None,
        backoff: Backoff | float | None = None,
    ) -> R: ...

    @overload
    async def step(
        self,
        name: str,
        function: Callable[[*Ts], R],
        *args: *Ts,
        key: Key | None = None,
        retries: int | None = None,
        backoff: Backoff | float | None = None,
    ) -> R: ...

    async def step(
        self,
        name: str,
        function: Callable[[*Ts], Any],
        *args: *Ts,
        key: Key | None = None,
        retries: int | None = None,
        backoff: Backoff | float | None = None,
    ) -> Any:
        """Call a function once and record its result under a name; when the task runs again, return the record.

        A function that is not async is called in a thread. Its result must be JSON, and is returned as the type that
        the function is annotated to return. An error ends the attempt, and the task's own retries count; with
        `retries` or `backoff` the step has its own, and after the last of them `StepFailed` is raised, each time that
        the task runs.
        """
        policy = StepPolicy.of(retries, backoff)
        return await self._arun(step_in_steps(name, key_text(key), function, policy), lambda: _acall(function, args))

    async def sleep(  # noqa: PLR0913 - a word for each unit
        self,
        name: str,
        duration: Duration = 0,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        key: Key | None = None,
    ) -> None:
        """Wait for a time, counted from when the task first came here; no worker is occupied meanwhile."""
        parts = {"days": days, "hours": hours, "minutes": minutes, "seconds": seconds}
        await self._arun(sleep_in_steps(name, key_text(key), duration=duration, parts=parts))

    async def sleep_until(self, name: str, moment: datetime, *, key: Key | None = None) -> None:
        """Wait until a time; no worker is occupied meanwhile."""
        await self._arun(sleep_in_steps(name, key_text(key), moment=moment))

    async def wait_for(
        self,
        name: str,
        type: type[T] = object,  # type: ignore[assignment]
        *,
        timeout: Duration | None = None,  # noqa: ASYNC109 - its end is recorded, and may be months away
        key: Key | None = None,
        correlation: str | None = None,
    ) -> T:
        """Return the payload of a signal, as a type; no worker is occupied while it has not come.

        A signal that came before is there. It is one that was sent to this task under the name, or by `app.signal` with
        the `correlation` as its key. When `timeout` is over, counted from when the task first came here,
        `SignalTimeout` is raised.
        """
        result: T = await self._arun(wait_in_steps(name, key_text(key), type, timeout, correlation))
        return result

    async def restart(self, task: "Submittable[P, Any]", /, *args: P.args, **kwargs: P.kwargs) -> NoReturn:
        """Begin a new round of this task: it runs from the start, with these arguments and without records.

        `task` is the task itself, so that its arguments are checked. The id stays, and with it handles, signals that
        were not taken, and the call of a parent. Children that have not ended are cancelled, unless they were started
        with `on_end="abandon"`. The function is left here, by an exception that is no `Exception`.
        """
        payload = payload_of_restart(self.name, task, args, kwargs)
        await self._durable_calls().restart(payload)

    @property
    def blocking(self) -> "BlockingDurable":
        """The same calls for functions that are not async: `ctx.blocking.step(…)`."""
        return BlockingDurable(self)

    def _durable_calls(self) -> DurableCalls:
        if self.on_durable is None and self.on_blocking is not None:
            raise RuntimeError("this function is not async: use ctx.blocking.step, ctx.blocking.sleep and so on")
        return AtOnce() if self.on_durable is None else self.on_durable()

    async def _arun(self, steps: Steps[T], call: Callable[[], Awaitable[Any]] | None = None) -> T:
        return await arun_steps(steps, self._durable_calls(), call)


class BlockingDurable(BlockingChildren):
    """Durable calls of functions that are not async; each blocks its thread until it is done."""

    __slots__ = ("_context",)

    def __init__(self, context: DurableContext) -> None:
        self._context = context

    def step(
        self,
        name: str,
        function: Callable[[*Ts], R],
        *args: *Ts,
        key: Key | None = None,
        retries: int | None = None,
        backoff: Backoff | float | None = None,
    ) -> R:
        """Call a function once and record its result under a name; see `Context.step`."""
        steps = step_in_steps(name, key_text(key), function, StepPolicy.of(retries, backoff))
        result: R = self._run(steps, lambda: function(*args))
        return result

    def sleep(  # noqa: PLR0913 - a word for each unit
        self,
        name: str,
        duration: Duration = 0,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        key: Key | None = None,
    ) -> None:
        """Wait for a time, counted from when the task first came here; see `Context.sleep`."""
        parts = {"days": days, "hours": hours, "minutes": minutes, "seconds": seconds}
        self._run(sleep_in_steps(name, key_text(key), duration=duration, parts=parts))

    def sleep_until(self, name: str, moment: datetime, *, key: Key | None = None) -> None:
        """Wait until a time; see `Context.sleep_until`."""
        self._run(sleep_in_steps(name, key_text(key), moment=moment))

    def wait_for(
        self,
        name: str,
        type: type[T] = object,  # type: ignore[assignment]
        *,
        timeout: Duration | None = None,
        key: Key | None = None,
        correlation: str | None = None,
    ) -> T:
        """Return the payload of a signal, as a type; see `Context.wait_for`."""
        result: T = self._run(wait_in_steps(name, key_text(key), type, timeout, correlation))
        return result

    def restart(self, task: "Submittable[P, Any]", /, *args: P.args, **kwargs: P.kwargs) -> NoReturn:
        """Begin a new round of this task, with these arguments and without records; see `Context.restart`."""
        payload = payload_of_restart(self._context.name, task, args, kwargs)
        self._blocking_calls().restart(payload)

    def _blocking_calls(self) -> BlockingCalls:
        context = self._context
        if context.on_blocking is None and context.on_durable is not None:
            raise RuntimeError("this function is async: await ctx.step, ctx.sleep and so on")
        return BlockingAtOnce() if context.on_blocking is None else context.on_blocking()

    def _run(self, steps: Steps[T], call: Callable[[], Any] | None = None) -> T:
        return run_steps(steps, self._blocking_calls(), call)


async def _acall(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    called = inspect.unwrap(function)
    if inspect.iscoroutinefunction(called) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        return await function(*args)
    call: Callable[[], Any] = partial(copy_context().run, function, *args)
    value = await asyncio.get_running_loop().run_in_executor(_step_threads(), call)
    return await value if inspect.isawaitable(value) else value


@cache
def _step_threads() -> DaemonExecutor:
    return DaemonExecutor("step thread", STEP_THREADS)
