"""A limit of three, workers near and far, and kills: never more than three leases, and never fewer for long.

With fifty workers, for some minutes, killed at random all the time:

    DRUMLINE_TEST_LIMIT_WORKERS=50 DRUMLINE_TEST_LIMIT_SECONDS=240 pytest -s tests/faults/test_limits.py
"""

import asyncio
import os
import threading
import time
from random import Random
from typing import Self

import asyncpg
import pytest

from drumline.core.session import SESSION_TTL
from tests.faults.conftest import MakeFleet
from tests.faults.fleet import Fleet, until

MOST = 3
ENOUGH = 30
WORKERS = int(os.environ.get("DRUMLINE_TEST_LIMIT_WORKERS", "4"))
SECONDS = float(os.environ.get("DRUMLINE_TEST_LIMIT_SECONDS", "18"))
TASKS = round(85 * SECONDS)
"""More than three at a time can do meanwhile, at twenty a second each."""
NEAR = max(2, WORKERS // 10)
"""Those on the store itself: each needs a handful of its connections."""

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(180 + 2 * SECONDS)]


def moments(chance: Random) -> list[float]:
    """Return when somebody is killed: twice at once, then every few seconds until what they leave can be freed."""
    times = [0.5, 1.5]
    while times[-1] < SECONDS - SESSION_TTL - 5:
        times.append(times[-1] + chance.uniform(0.5, 4.0))
    return times


class Watch:
    """Looks at the leases in the store itself: how many there are, and for how long there were too few."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._look()), name="watch")
        self.most = 0
        self.longest_below = 0.0
        self.looks = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join(30)

    async def _look(self) -> None:
        connection = await asyncpg.connect(self._url)
        full_at = None
        while not self._stop.is_set():
            running = await connection.fetchval("SELECT count(*) FROM drumline.task_live WHERE state = 2")
            now = time.monotonic()
            if running >= MOST or full_at is None:
                full_at = now if running >= MOST else full_at
            else:
                self.longest_below = max(self.longest_below, now - full_at)
            self.most = max(self.most, running)
            self.looks += 1
            await asyncio.sleep(0.005)
        await connection.close()


def submit(fleet: Fleet) -> None:
    payload = {"file": str(fleet.traces), "seconds": 0.05}
    tasks = [{"name": "traced.wait", "payload": {**payload, "key": f"k{number}"}} for number in range(TASKS)]
    for place in range(0, TASKS, 1000):
        status, _ = fleet.ask("POST", "/api/v1/tasks/batch", {"tasks": tasks[place : place + 1000]})
        assert status in {200, 201}


def test_a_limit_of_three_is_never_exceeded_and_never_sticks_below(make_fleet: MakeFleet, chance: Random) -> None:
    with make_fleet(apis=1, schedulers=1, near=NEAR, far=WORKERS - NEAR, poison_after="1000") as fleet:
        workers = [name for name in fleet.members if name.startswith(("near-", "far-"))]
        limit = {"task": "traced.wait", "max_concurrent": MOST}
        assert fleet.ask("PUT", "/api/v1/limits/three", limit)[0] == 201
        submit(fleet)

        with Watch(fleet.postgres.url()) as watch:
            began = time.monotonic()
            for at in moments(chance):
                time.sleep(max(0.0, began + at - time.monotonic()))
                killed = chance.choice(workers)
                fleet.kill(killed)
                fleet.restart(killed)
            time.sleep(max(0.0, began + SECONDS - time.monotonic()))
            # Those who were killed may have had all three; on a busy machine it takes a while until others go on.
            until(lambda: len(fleet.tasks("COMPLETED")) > ENOUGH, 30)

        done = len(fleet.tasks("COMPLETED"))
        kills = len(fleet.killed)
        print(f"{watch.looks} looks, {kills} kills, below for {watch.longest_below:.1f} s at most, {done} done")  # noqa: T201
        assert watch.most == MOST
        assert watch.longest_below < SESSION_TTL
        assert ENOUGH < done < TASKS, "there was always something waiting"
