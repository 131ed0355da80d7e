"""Waiting that ends early: when the server stops, or when the client has hung up."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

from drumline.core.errors import DrumlineError

T = TypeVar("T")


async def hung_up(receive: Receive) -> None:
    """Return once the client is gone. Only for requests whose body has been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def unless_stopped(work: Coroutine[Any, Any, T], *, stop: asyncio.Event, receive: Receive) -> T | None:
    """Return what `work` gives; None, with the work cancelled, if the server stops or the client leaves first."""
    if stop.is_set():
        work.close()
        return None
    working = asyncio.create_task(work, name="long poll")
    others = (
        asyncio.create_task(stop.wait(), name="long poll: stop"),
        asyncio.create_task(hung_up(receive), name="long poll: client"),
    )
    try:
        await asyncio.wait({working, *others}, return_when=asyncio.FIRST_COMPLETED)
        return await working if working.done() else None
    finally:
        for task in (working, *others):
            task.cancel()
        await asyncio.gather(working, *others, return_exceptions=True)


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


async def each_unless_stopped(items: AsyncIterator[T], *, stop: asyncio.Event, receive: Receive) -> AsyncIterator[T]:
    """Yield what `items` yields, until it ends, the server stops or the client leaves."""
    ended = object()

    async def following() -> T | object:
        return await anext(items, ended)

    while True:
        item = await unless_stopped(following(), stop=stop, receive=receive)
        if item is None or item is ended:
            return
        yield item  # type: ignore[misc]  # whatever is not the end came from `items`
