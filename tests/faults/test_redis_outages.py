"""Redis is emptied, restarted, frozen and stopped under load: that costs speed for a while, and nothing else."""

import time
from collections.abc import Iterator
from itertools import count
from random import Random
from statistics import median, quantiles

import pytest
from redis import Redis

from tests.faults.conftest import MakeFleet
from tests.faults.fleet import Fleet, until
from tests.faults.load import Load
from tests.faults.traces import runs_of
from tests.faults.verdict import judge

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(240)]

FROZEN_SECONDS = 10.0
STOPPED_SECONDS = 20.0
HEALED_SECONDS = 15.0
SLOW = 1.5
"""Seconds that a submission may take at most when the machine is busy; the wait for Redis is not among them."""
FAST = 0.1
"""Seconds until a task starts when wake-ups arrive; a few times that when the idle have to look by themselves."""
AS_BEFORE = 2.0
"""How many times what it was with Redis it may be, where the machine is so busy that that was more already."""


def test_without_redis_submissions_are_answered_and_tasks_go_on(make_fleet: MakeFleet, chance: Random) -> None:
    numbers = count()
    with make_fleet(schedulers=1, far=1) as fleet:
        fast = max(FAST, AS_BEFORE * _usual_latency(fleet, numbers))
        with Load(fleet, chance) as load:
            _empty_again_and_again(fleet, chance)
            fleet.redis.kill()
            fleet.redis.start()
            until(lambda: _is_filled(fleet), HEALED_SECONDS)

            began = time.monotonic()
            fleet.redis.freeze()
            _spend(fleet, FROZEN_SECONDS)
            fleet.redis.kill()
            _spend(fleet, STOPPED_SECONDS)
            ended = time.monotonic()
            fleet.redis.start()
            filled_after = until(lambda: _is_filled(fleet), HEALED_SECONDS)
            until(lambda: all(fleet.health(api=api)["whole"] == "UP" for api in (0, 1)), HEALED_SECONDS)
        verdict = judge(fleet, load, within=30)
        took = [answer.took for answer in load.since(began) if answer.sent < ended]
        took_before = [answer.took for answer in load.answers if answer.sent < began]
        slow = max(SLOW, AS_BEFORE * quantiles(took_before, n=100)[-1])
        fast_after = until(lambda: _usual_latency(fleet, numbers) < fast, 30)

        told = f"{verdict}, filled {filled_after:.1f} s after; submitting p50 {median(took) * 1000:.0f} ms, "
        told += f"p99 {quantiles(took, n=100)[-1] * 1000:.0f} ms; quick again {fast_after:.1f} s after the end"
        print(told)  # noqa: T201
        assert max(answer.tries for answer in load.answers) == 1, "a submission was refused"
        assert verdict.doubles == 0
        assert verdict.outcomes.keys() == {"completed", "retried"}, told
        assert quantiles(took, n=100)[-1] < slow, told


def _empty_again_and_again(fleet: Fleet, chance: Random) -> None:
    with Redis.from_url(fleet.redis.url()) as client:
        for _ in range(4):
            time.sleep(chance.uniform(0.5, 1.5))
            client.flushall()
    until(lambda: _is_filled(fleet), HEALED_SECONDS)


def _spend(fleet: Fleet, seconds: float) -> None:
    """Let time pass without Redis, and see that the fleet knows, and works."""
    deadline = time.monotonic() + seconds
    until(lambda: fleet.health()["redis"] == "DOWN", 10)
    assert fleet.health()["whole"] == "DEGRADED"
    while (left := deadline - time.monotonic()) > 0:
        before = _begun(fleet)
        time.sleep(min(left, 3.0))
        if left > 3.0:
            assert _begun(fleet) > before, "nothing was started for three seconds"


def _begun(fleet: Fleet) -> int:
    return sum(map(len, runs_of(fleet.traces).values()))


def _is_filled(fleet: Fleet) -> bool:
    redis = fleet.ask("GET", "/actuator/health")[1]["components"]["redis"]
    return redis["status"] == "UP" and bool(redis["details"]["is_filled"])


def _usual_latency(fleet: Fleet, numbers: Iterator[int]) -> float:
    return median(_start_latency(fleet, next(numbers)) for _ in range(15))


def _start_latency(fleet: Fleet, number: int) -> float:
    """Return the seconds from before a submission until the task began.

    No worker waits at the second API server: those who do are woken through Redis, or look by themselves.
    """
    key = f"late-{number}"
    payload = {"file": str(fleet.traces), "key": key, "seconds": 0.0}
    sent = time.time()
    assert fleet.ask("POST", "/api/v1/tasks", {"name": "traced.wait", "payload": payload}, api=1)[0] == 201
    until(lambda: key in runs_of(fleet.traces), 30)
    return runs_of(fleet.traces)[key][0].began - sent
