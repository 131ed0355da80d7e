"""One idempotency key is one task, through whichever API servers it comes, and at whatever instant."""

import threading
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from tests.faults.conftest import MakeFleet
from tests.faults.fleet import Body, Fleet, until
from tests.faults.traces import runs_of

pytestmark = [pytest.mark.faults, pytest.mark.services]

ROUNDS = 200
BATCHES = 40
BATCH = 25


def test_one_key_through_two_servers_at_the_same_instant_makes_one_task(make_fleet: MakeFleet, chance: Random) -> None:
    with make_fleet(schedulers=0, near=1, far=0) as fleet:
        batches = [chance.sample(range(BATCH), BATCH) for _ in range(BATCHES)]
        again = [chance.sample(order, BATCH) for order in batches]

        ones = _at_once(fleet, [[_task(fleet, f"one-{number}")] for number in range(ROUNDS)] * 2)
        manies = _at_once(
            fleet,
            [
                [_task(fleet, f"many-{number}-{place}") for place in order]
                for orders in (batches, again)
                for number, order in enumerate(orders)
            ],
        )

        for answers in (*ones, *manies):
            for one, other in answers:
                assert one["id"] == other["id"]
                assert one["created"] is not other["created"]
        tasks = fleet.tasks()
        assert len(tasks) == ROUNDS + BATCHES * BATCH
        assert len({task["idempotency_key"] for task in tasks.values()}) == len(tasks)
        until(lambda: not fleet.tasks("QUEUED", "PROCESSING"), 30)
        assert all(len(runs) == 1 for runs in runs_of(fleet.traces).values())


Pair = tuple[Body, Body]


def _at_once(fleet: Fleet, submissions: list[list[Body]]) -> list[list[Pair]]:
    """Submit the first half through one server and the second half through the other, in step; return the answers."""
    start = threading.Barrier(2)
    half = len(submissions) // 2

    def submit(api: int) -> list[dict[str, Body]]:
        answers = []
        for tasks in submissions[api * half : (api + 1) * half]:
            start.wait(30)
            answers.append(_submit(fleet, tasks, api))
        return answers

    with ThreadPoolExecutor(2) as callers:
        firsts, seconds = callers.map(submit, (0, 1))
    return [[(one[key], other[key]) for key in one] for one, other in zip(firsts, seconds, strict=True)]


def _submit(fleet: Fleet, tasks: list[Body], api: int) -> dict[str, Body]:
    """Return the answers by key."""
    keys = [task["idempotency_key"] for task in tasks]
    if len(tasks) == 1:
        status, body = fleet.ask("POST", "/api/v1/tasks", tasks[0], api=api)
        assert status == (201 if body["created"] else 200), body
        return {keys[0]: body}
    status, body = fleet.ask("POST", "/api/v1/tasks/batch", {"tasks": tasks}, api=api)
    assert status == 200, body
    return dict(zip(keys, body["tasks"], strict=True))


def _task(fleet: Fleet, key: str) -> Body:
    payload = {"file": str(fleet.traces), "key": key, "seconds": 0.0}
    return {"name": "traced.wait", "payload": payload, "idempotency_key": key}
