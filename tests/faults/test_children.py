"""Families of tasks while workers and schedulers are killed: each call has one child, and no child is an orphan.

DRUMLINE_TEST_FIB=16 python -m pytest tests/faults/test_children.py -k alone     3,193 tasks, takes a quarter of an hour
"""

import os
import time
from random import Random

import psycopg
import pytest

from tests.faults.conftest import MakeFleet
from tests.faults.fleet import APP, Fleet, until

FAMILIES = APP.parent / "families.py"
FIB = 9
ALONE = int(os.environ.get("DRUMLINE_TEST_FIB") or 6)
"""The number whose recursive calls one worker runs; at any time one of these tasks has something to do."""
SQUARES = 150
KILLS = 12
KILL_EVERY = 1.5
VICTIMS = ("near-1", "far-1", "scheduler-1")

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(1200 if ALONE < 12 else 7200)]


def one(fleet: Fleet, query: str) -> int:
    with psycopg.connect(fleet.postgres.url()) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0] or 0)


def submit(fleet: Fleet, name: str, payload: dict[str, int]) -> str:
    status, answer = fleet.ask("POST", "/api/v1/tasks", {"name": name, "payload": payload})
    assert status == 201
    return str(answer["id"])


def fib_of(n: int) -> int:
    """Return a number of the sequence."""
    return n if n < 2 else fib_of(n - 1) + fib_of(n - 2)


def tasks_of_fib(n: int) -> int:
    """Return how many tasks the recursive calls of a number make."""
    return 1 if n < 2 else 1 + tasks_of_fib(n - 1) + tasks_of_fib(n - 2)


def test_recursive_calls_and_maps_end_though_workers_and_schedulers_are_killed(
    make_fleet: MakeFleet, chance: Random
) -> None:
    with make_fleet(apis=1, schedulers=1, near=1, far=1, app=FAMILIES, poison_after="1000") as fleet:
        fib = submit(fleet, "fib", {"n": FIB})
        squares = submit(fleet, "squares", {"count": SQUARES})
        tree = submit(fleet, "tree", {"depth": 2})
        kills = 0
        while kills < KILLS:
            time.sleep(KILL_EVERY)
            victim = chance.choice(VICTIMS)
            fleet.kill(victim)
            fleet.restart(victim)
            kills += 1
        until(lambda: one(fleet, "SELECT count(*) FROM drumline.task_link") >= _links(), 240)
        assert fleet.ask("POST", f"/api/v1/tasks/{tree}/cancel")[0] == 200
        fleet.kill("scheduler-1")
        fleet.restart("scheduler-1")
        until(lambda: one(fleet, "SELECT count(*) FROM drumline.task_live") == 0, 240)

        assert fleet.get(f"/api/v1/tasks/{fib}")["result"] == 34
        assert fleet.get(f"/api/v1/tasks/{squares}")["result"] == sum(x * x for x in range(SQUARES))
        assert fleet.get(f"/api/v1/tasks/{tree}")["status"] == "CANCELLED"
        assert one(fleet, "SELECT count(*) FROM drumline.task_link") == _links()
        assert one(fleet, "SELECT count(*) FROM drumline.task") == _links() + 3, "a task has no parent"
        assert one(fleet, "SELECT count(*) FROM drumline.task_link WHERE state IS NULL") == 0, "a child is an orphan"
        assert one(fleet, "SELECT count(*) FROM drumline.child_note") == 0
        print(f"{_links()} children, {kills + 1} kills")  # noqa: T201


def test_recursive_calls_end_on_a_worker_alone_that_runs_one_task_at_a_time_and_is_killed_every_two_seconds(
    make_fleet: MakeFleet,
) -> None:
    with make_fleet(apis=1, schedulers=1, near=1, far=0, app=FAMILIES, poison_after="1000", concurrency=1) as fleet:
        fib = submit(fleet, "fib", {"n": ALONE})
        kills = 0
        while fleet.get(f"/api/v1/tasks/{fib}")["status"] != "COMPLETED":
            time.sleep(2.0)
            fleet.kill("near-1")
            kills += 1
            fleet.restart("near-1")
            fleet.until_at_work(240)
        until(lambda: one(fleet, "SELECT count(*) FROM drumline.task_live") == 0, 240)

        assert fleet.get(f"/api/v1/tasks/{fib}")["result"] == fib_of(ALONE)
        assert one(fleet, "SELECT count(*) FROM drumline.task") == tasks_of_fib(ALONE), "a call has two children"
        assert one(fleet, "SELECT count(*) FROM drumline.task_link WHERE state IS NULL") == 0, "a child is an orphan"
        completed = "SELECT count(*) AS n FROM drumline.attempt WHERE outcome = 3 GROUP BY task_id"
        assert one(fleet, f"SELECT max(n) FROM ({completed}) AS x") == 1, "a task was completed twice"
        print(f"{tasks_of_fib(ALONE)} tasks, {kills} kills")  # noqa: T201


def _links() -> int:
    """Return how many children there are: of the numbers, of the squares, and of two levels of trees with leaves."""
    return tasks_of_fib(FIB) - 1 + SQUARES + 2 + 4 + 8
