"""Work and its task in one transaction: whoever is killed, each transfer is applied exactly once.

DRUMLINE_TEST_TRANSFERS=10000 python -m pytest tests/faults/test_transfers.py    takes some minutes
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import psycopg
import pytest

from tests.faults.conftest import MakeFleet
from tests.faults.fleet import Fleet, until

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(1800)]

APP = Path(__file__).parent / "apps" / "transfers.py"
TRANSFERS = int(os.environ.get("DRUMLINE_TEST_TRANSFERS") or 200)
KILL_EVERY = 1.0
FEWEST_KILLS = 6
PROGRESS = 20
"""Transfers that are ordered between two kills: a program that is killed while it starts gets nowhere."""
WORKERS = ("near-1", "near-2")
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'orders'"


def one(url: str, query: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0] or 0)


class Orders:
    """The program that orders transfers; it goes on after the last one that was committed."""

    def __init__(self, url: str, count: int) -> None:
        self._url = url
        self._count = count
        self._process: subprocess.Popen[bytes] | None = None
        self.killed = 0

    def start(self) -> None:
        # A program that was killed may have sent a commit, which its connection still carries out.
        until(lambda: one(self._url, CONNECTIONS) == 0, 30)
        first = one(self._url, "SELECT max(number) + 1 FROM ordered")
        environment = {**os.environ, "SHOP_URL": self._url}
        command = [sys.executable, str(APP), str(first), str(self._count)]
        self._process = subprocess.Popen(command, env=environment)

    @property
    def is_done(self) -> bool:
        return self._process is not None and self._process.poll() == 0

    def kill(self) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(30)
            self.killed += 1
        else:
            assert self._process.returncode == 0


def test_each_transfer_is_applied_once_though_programs_and_workers_are_killed(
    make_fleet: MakeFleet, chance: Random
) -> None:
    def prepare(fleet: Fleet) -> None:
        for name in WORKERS:
            fleet.members[name].environment["SHOP_URL"] = fleet.postgres.url()
        with psycopg.connect(fleet.postgres.url()) as connection:
            connection.execute(_tables())

    with make_fleet(apis=1, schedulers=1, near=2, far=0, app=APP, prepare=prepare, poison_after="1000") as fleet:
        url = fleet.postgres.url()
        orders = Orders(url, TRANSFERS)
        orders.start()
        kills = ordered = 0
        while not orders.is_done or kills < FEWEST_KILLS:
            time.sleep(KILL_EVERY)
            last, ordered = ordered, one(url, "SELECT count(*) FROM ordered")
            if ordered < min(last + PROGRESS, TRANSFERS):
                ordered = last
                continue
            victim = chance.choice(["orders", *WORKERS])
            if victim == "orders":
                orders.kill()
                orders.start()
            else:
                fleet.kill(victim)
                fleet.restart(victim)
            kills += 1
        until(
            lambda: one(url, "SELECT count(DISTINCT number) FROM applied") == TRANSFERS,
            120 + TRANSFERS / 10,
        )

        assert one(url, "SELECT count(*) FROM ordered") == TRANSFERS
        assert one(url, "SELECT count(*) FROM applied") == TRANSFERS, "a transfer was applied twice"
        assert one(url, "SELECT sum(balance) FROM debit") == -TRANSFERS
        assert one(url, "SELECT sum(balance) FROM credit") == TRANSFERS
        assert one(url, "SELECT count(*) FROM drumline.task") == TRANSFERS
        assert one(url, "SELECT count(*) FROM drumline.task_live") == 0
        print(f"{TRANSFERS} transfers, {kills} kills, {orders.killed} of the program that orders")  # noqa: T201


def _tables() -> bytes:
    """Return the statements of the app, which cannot be imported here: it reads where its database is."""
    text = APP.read_text(encoding="utf-8")
    return text.split('TABLES = """')[1].split('"""')[0].encode()
