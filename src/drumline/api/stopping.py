"""Waiting that ends early: when the server stops, or when the client has hung up."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

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
