"""TCP proxies between the processes and their services, run by a thread of their own."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from tests.harness.proxy import Proxy


class Wires:
    """A proxy for each service, by name."""

    def __init__(self, targets: Mapping[str, int]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="wires", daemon=True)
        self._thread.start()
        self._proxies = {name: Proxy("127.0.0.1", port) for name, port in targets.items()}
        for proxy in self._proxies.values():
            self._await(proxy.start())

    def url(self, name: str, url: str) -> str:
        """Return an address of the same service that leads through its proxy."""
        return self._proxies[name].url(url)

    def do(self, name: str, act: Callable[[Proxy], None]) -> None:
        """Do something to a proxy."""

        async def acted() -> None:
            act(self._proxies[name])

        self._await(acted())

    def close(self) -> None:
        """Drop every connection."""
        for proxy in self._proxies.values():
            self._await(proxy.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _await(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)
