"""Durable calls of a running task: `ctx.step`, `ctx.sleep`, `ctx.sleep_until`, and the same blocking.

What they do is written once, as generators of operations (`sdk.durable_steps`); a worker carries the operations out, in
its loop, from a thread or from a child process. In a context that a test has made, steps run and sleeps are over at
once.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Generator
from datetime import datetime
from typing import Any, Protocol, TypeVar, TypeVarTuple, overload

from drumline.core.durable import Record, RecordStatus, Wait, WaitKind
from drumline.core.duration import Duration
from drumline.core.retry import Backoff
from drumline.sdk.durable_steps import (
    Find,
    Operation,
    Ran,
    Run,
    Save,
    StepPolicy,
    WaitFor,
    sleep_in_steps,
    step_in_steps,
    wait_in_steps,
)

Ts = TypeVarTuple("Ts")
R = TypeVar("R")
T = TypeVar("T")

Key = str | int
"""Tells calls of one name apart."""


class DurableCalls(Protocol):
    """What a worker does for durable calls on its loop."""

    async def find(self, name: str, key: str) -> Record | None:
        """Return what is recorded under a name that this attempt has not used yet."""
        ...

    def begin(self) -> None:
        """Note that the function of a step begins."""
        ...

    async def save(self, save: Save) -> Record:
        """Keep how a step ended, and return what is recorded under its name."""
        ...

    def give_up(self) -> None:
        """Note that a step has ended without a record."""
        ...

    async def wait(self, wait: Wait) -> Record | None:
        """Wait; if nothing else is left to do, the attempt ends here by `Parked`."""
        ...


class BlockingCalls(Protocol):
    """The same for functions that are not async."""

    def find(self, name: str, key: str) -> Record | None:
        """Return what is recorded under a name that this attempt has not used yet."""
        ...

    def begin(self) -> None:
        """Note that the function of a step begins."""
        ...

    def save(self, save: Save) -> Record:
        """Keep how a step ended, and return what is recorded under its name."""
        ...

    def give_up(self) -> None:
        """Note that a step has ended without a record."""
        ...

    def wait(self, wait: Wait) -> Record | None:
        """Wait; the attempt ends here by `Parked`, unless the wait is over already."""
        ...


class DurableContext:
    """The durable calls of a `Context`."""

    __slots__ = ()

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
        return await self._arun(step_in_steps(name, _text(key), function, policy), lambda: _acall(function, args))

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
        await self._arun(sleep_in_steps(name, _text(key), duration=duration, parts=parts))

    async def sleep_until(self, name: str, moment: datetime, *, key: Key | None = None) -> None:
        """Wait until a time; no worker is occupied meanwhile."""
        await self._arun(sleep_in_steps(name, _text(key), moment=moment))

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
        result: T = await self._arun(wait_in_steps(name, _text(key), type, timeout, correlation))
        return result

    @property
    def blocking(self) -> "BlockingDurable":
        """The same calls for functions that are not async: `ctx.blocking.step(…)`."""
        return BlockingDurable(self)

    async def _arun(self, steps: Generator[Operation, Any, T], call: Callable[[], Awaitable[Any]] | None = None) -> T:
        if self.on_durable is None and self.on_blocking is not None:
            steps.close()
            raise RuntimeError("this function is not async: use ctx.blocking.step, ctx.blocking.sleep and so on")
        calls: DurableCalls = AtOnce() if self.on_durable is None else self.on_durable()
        answer: Any = None
        try:
            while True:
                match steps.send(answer):
                    case Find(name=name, key=key):
                        answer = await calls.find(name, key)
                    case Run():
                        answer = await _aran(call, calls)
                    case Save() as save:
                        answer = await calls.save(save)
                    case WaitFor(wait=wait):
                        answer = await calls.wait(wait)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            steps.close()


class BlockingDurable:
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
        steps = step_in_steps(name, _text(key), function, StepPolicy.of(retries, backoff))
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
        self._run(sleep_in_steps(name, _text(key), duration=duration, parts=parts))

    def sleep_until(self, name: str, moment: datetime, *, key: Key | None = None) -> None:
        """Wait until a time; see `Context.sleep_until`."""
        self._run(sleep_in_steps(name, _text(key), moment=moment))

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
        result: T = self._run(wait_in_steps(name, _text(key), type, timeout, correlation))
        return result

    def _run(self, steps: Generator[Operation, Any, T], call: Callable[[], Any] | None = None) -> T:
        context = self._context
        if context.on_blocking is None and context.on_durable is not None:
            steps.close()
            raise RuntimeError("this function is async: await ctx.step, ctx.sleep and so on")
        calls: BlockingCalls = BlockingAtOnce() if context.on_blocking is None else context.on_blocking()
        answer: Any = None
        try:
            while True:
                match steps.send(answer):
                    case Find(name=name, key=key):
                        answer = calls.find(name, key)
                    case Run():
                        answer = _ran(call, calls)
                    case Save() as save:
                        answer = calls.save(save)
                    case WaitFor(wait=wait):
                        answer = calls.wait(wait)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            steps.close()


class BlockingAtOnce:
    """Durable calls without a worker: steps run, and waits are over at once."""

    def find(self, name: str, key: str) -> Record | None:
        """Return nothing: nothing is recorded."""
        del name, key
        return None

    def begin(self) -> None:
        """Do nothing."""

    def save(self, save: Save) -> Record:
        """Return the record without keeping it."""
        return Record(name=save.name, key=save.key, status=save.status, value=save.value, tries=save.tries)

    def give_up(self) -> None:
        """Do nothing."""

    def wait(self, wait: Wait) -> Record | None:
        """Return at once; there are no signals."""
        if wait.kind is WaitKind.SIGNAL:
            raise RuntimeError(f"nobody sends the signal {wait.name!r} here: run the task in a worker to test it")
        return Record(name=wait.name, key=wait.key, status=RecordStatus.DONE)


class AtOnce:
    """The same for async functions."""

    def __init__(self) -> None:
        self._calls = BlockingAtOnce()

    async def find(self, name: str, key: str) -> Record | None:
        """Return nothing: nothing is recorded."""
        return self._calls.find(name, key)

    def begin(self) -> None:
        """Do nothing."""

    async def save(self, save: Save) -> Record:
        """Return the record without keeping it."""
        return self._calls.save(save)

    def give_up(self) -> None:
        """Do nothing."""

    async def wait(self, wait: Wait) -> Record | None:
        """Return at once."""
        return self._calls.wait(wait)


async def _acall(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    called = inspect.unwrap(function)
    if inspect.iscoroutinefunction(called) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        return await function(*args)
    value = await asyncio.to_thread(function, *args)
    return await value if inspect.isawaitable(value) else value


async def _aran(call: Callable[[], Awaitable[Any]] | None, calls: DurableCalls) -> Ran:
    began = time.monotonic()
    calls.begin()
    try:
        value = None if call is None else await call()
    except Exception as error:  # noqa: BLE001 - it is the step's, and judged by its policy
        return Ran(None, error, time.monotonic() - began, calls.give_up)
    except BaseException:
        calls.give_up()
        raise
    return Ran(value, None, time.monotonic() - began, calls.give_up)


def _ran(call: Callable[[], Any] | None, calls: BlockingCalls) -> Ran:
    began = time.monotonic()
    calls.begin()
    try:
        value = None if call is None else call()
    except Exception as error:  # noqa: BLE001 - it is the step's, and judged by its policy
        return Ran(None, error, time.monotonic() - began, calls.give_up)
    except BaseException:
        calls.give_up()
        raise
    return Ran(value, None, time.monotonic() - began, calls.give_up)


def _text(key: Key | None) -> str:
    return "" if key is None else str(key)
