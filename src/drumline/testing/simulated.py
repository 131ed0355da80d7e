"""`simulated(app)`: a world for the time of a block, in blocking and in async code."""

from datetime import datetime
from typing import Any

from drumline.sdk.app import Drumline
from drumline.testing.host import Host
from drumline.testing.world import World


class Simulation:
    """What `simulated` returns: enter it with `with` or `async with`."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def __enter__(self) -> World:
        self._host.open()
        return World(self._host)

    def __exit__(self, *error: object) -> None:
        self._host.close()

    async def __aenter__(self) -> World:
        return self.__enter__()

    async def __aexit__(self, *error: object) -> None:
        self.__exit__(*error)


def simulated(
    app: Drumline[Any], *apps: Drumline[Any], start: datetime | None = None, eager: bool = False
) -> Simulation:
    """Run apps in a world of their own inside the block: no server, no network, no threads, and virtual time.

    The world begins at `start`, which has to have a time zone, or else on 1 January 2026. If it is `eager`, a
    submission returns when the task has ended, or waits for a retry.
    """
    if start is not None and start.tzinfo is None:
        raise ValueError("start must have a time zone, such as datetime(2026, 3, 1, tzinfo=UTC)")
    return Simulation(Host((app, *apps), start=start, eager=eager))
