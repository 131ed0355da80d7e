"""A limit of three, workers near and far, and kills: never more than three leases, and never fewer for long."""

import asyncio
import threading
import time
from random import Random
from typing import Self

import asyncpg
import pytest

from drumline.core.session import SESSION_TTL
from tests.faults.conftest import MakeFleet
from tests.faults.fleet import Fleet, until

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(180)]

MOST = 3
TASKS = 1500
ENOUGH = 30
SECONDS = 18.0
KILLS_AT = (0.5, 1.5)


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
    status, _ = fleet.ask("POST", "/api/v1/tasks/batch", {"tasks": tasks})
    assert status in {200, 201}


def test_a_limit_of_three_is_never_exceeded_and_never_sticks_below(make_fleet: MakeFleet, chance: Random) -> None:
    with make_fleet(apis=1, schedulers=1, near=2, far=2, poison_after="20") as fleet:
        limit = {"task": "traced.wait", "max_concurrent": MOST}
        assert fleet.ask("PUT", "/api/v1/limits/three", limit)[0] == 201
        submit(fleet)

        with Watch(fleet.postgres.url()) as watch:
            began = time.monotonic()
            for at in KILLS_AT:
                time.sleep(max(0.0, began + at - time.monotonic()))
                killed = chance.choice(["near-1", "near-2", "far-1", "far-2"])
                fleet.kill(killed)
                fleet.restart(killed)
            time.sleep(max(0.0, began + SECONDS - time.monotonic()))
            # Those who were killed may have had all three; on a busy machine it takes a while until others go on.
            until(lambda: len(fleet.tasks("COMPLETED")) > ENOUGH, 30)

        done = len(fleet.tasks("COMPLETED"))
        print(f"{watch.looks} looks, below for {watch.longest_below:.1f} s at most, {done} done")  # noqa: T201
        assert watch.most == MOST
        assert watch.longest_below < SESSION_TTL
        assert ENOUGH < done < TASKS, "there was always something waiting"
