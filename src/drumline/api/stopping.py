"""Waiting that ends early: when the server stops, or when the client has hung up."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

from drumline.aio.events import StopEvent
from drumline.api.exchange import exchange_of
from drumline.core.errors import DrumlineError

T = TypeVar("T")


async def hung_up(receive: Receive) -> None:
    """Return once the client is gone. Only for requests whose body has been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def unless_stopped(work: Coroutine[Any, Any, T], *, stop: StopEvent, receive: Receive) -> T | None:
    """Return what `work` gives; None, with the work cancelled, if the server stops or the client leaves first."""
    exchange = exchange_of(receive)
    if stop.is_set() or (exchange is not None and exchange.disconnected):
        work.close()
        return None
    interruption = _Interruption()
    stop.add_callback(interruption.interrupt)
    watching = None
    if exchange is not None:
        exchange.when_gone(interruption.interrupt)
    else:
        watching = asyncio.create_task(hung_up(receive), name="long poll: client")
        watching.add_done_callback(lambda _: interruption.interrupt())
    try:
        return await work
    except asyncio.CancelledError:
        if interruption.take_back():
            return None
        raise
    finally:
        interruption.take_back()
        stop.remove_callback(interruption.interrupt)
        if exchange is not None:
            exchange.when_gone(None)
        if watching is not None:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


class _Interruption:
    """Cancels the task that made it, once, and knows its own cancellation from those of others.

    The work goes on in the task of its request: a long poll, of which there are thousands, needs no other.
    """

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self._before = 0 if self._task is None else self._task.cancelling()
        self._is_over = self._has_cancelled = False

    def interrupt(self) -> None:
        """Cancel the task, unless the work is over."""
        if self._task is not None and not self._is_over and not self._has_cancelled:
            self._has_cancelled = True
            self._task.cancel()

    def take_back(self) -> bool:
        """Cancel nothing any more; tell whether this was what cancelled the task, and nothing else."""
        is_first, self._is_over = not self._is_over, True
        if not is_first or not self._has_cancelled or self._task is None:
            return False
        return self._task.uncancel() <= self._before


async def each_while(
    items: AsyncIterator[T], check: Callable[[], Awaitable[None]], *, every: float = 1.0
) -> AsyncIterator[T]:
    """Yield what `items` yields, until it ends or `check`, made each second, raises a refusal."""
    loop = asyncio.get_running_loop()
    ended = object()
    check_at = loop.time() + every
    following: asyncio.Task[T | object] | None = None

    async def next_one() -> T | object:
        return await anext(items, ended)

    try:
        while True:
            following = following or asyncio.create_task(next_one(), name="followed answer")
            await asyncio.wait({following}, timeout=max(check_at - loop.time(), 0))
            if loop.time() >= check_at:
                await check()
                check_at = loop.time() + every
            if following.done():
                item, following = following.result(), None
                if item is ended:
                    return
                yield item  # type: ignore[misc]  # whatever is not the end came from `items`
    except DrumlineError:
        return
    finally:
        if following is not None:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


async def each_unless_stopped(items: AsyncIterator[T], *, stop: StopEvent, receive: Receive) -> AsyncIterator[T]:
    """Yield what `items` yields, until it ends, the server stops or the client leaves."""
    ended = object()

    async def following() -> T | object:
        return await anext(items, ended)

    while True:
        item = await unless_stopped(following(), stop=stop, receive=receive)
        if item is None or item is ended:
            return
        yield item  # type: ignore[misc]  # whatever is not the end came from `items`
