"""Tasks in an outbox, while relays are killed and its database is stopped: each is stored once."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from drumline import Drumline
from drumline.stores.sqlite import SqliteStore
from drumline.transactions.relay import Outbox
from tests.faults.fleet import until
from tests.harness.postgres import PostgresServer

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(300)]

ROUNDS = 6
TASKS = 40
"""Tasks in each round, in two transactions; a third transaction of as many is rolled back."""
STOPPED_SECONDS = float(os.environ.get("DRUMLINE_TEST_STOPPED") or 3.0)

app = Drumline("shop", url="http://127.0.0.1:1")


@app.task
def charge(order: int) -> int:
    return order


class Relay:
    """`drumline relay` in a process of its own."""

    def __init__(self, url: str, folder: Path) -> None:
        command = [sys.executable, "-m", "drumline.cli.main", "relay", url, "--data", str(folder)]
        with (folder / "relay.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

    def kill(self) -> None:
        assert self._process.poll() is None, "the relay has ended by itself"
        self._process.kill()
        self._process.wait(30)


def submit(url: str, first: int) -> list[str]:
    """Submit tasks in transactions, and return the ids of those that are committed."""
    ids: list[str] = []
    with psycopg.connect(url) as connection:
        for part in range(3):
            orders = range(first + part * TASKS, first + (part + 1) * TASKS, 2)
            handles = [charge.submit(order, tx=connection) for order in orders]
            if part == 2:
                connection.rollback()
            else:
                connection.commit()
                ids += [handle.id for handle in handles]
    return ids


def stored(folder: Path) -> list[str]:
    connection = sqlite3.connect(folder / "drumline.db")
    try:
        return [id_ for (id_,) in connection.execute("SELECT id FROM task ORDER BY id")]
    finally:
        connection.close()


def test_nothing_is_lost_or_doubled_while_relays_are_killed_and_the_database_is_stopped(
    durable_postgres: PostgresServer, tmp_path: Path
) -> None:
    url = durable_postgres.url()
    asyncio.run(Outbox(url).install())
    asyncio.run(_make_store(tmp_path))
    committed: list[str] = []
    relay = Relay(url, tmp_path)
    for number in range(ROUNDS):
        committed += submit(url, number * 1000)
        before = len(stored(tmp_path))
        until(lambda before=before: len(stored(tmp_path)) > before, 60)  # type: ignore[misc]
        if number == ROUNDS // 2:
            durable_postgres.stop()
            time.sleep(STOPPED_SECONDS)
            durable_postgres.start()
        relay.kill()
        relay = Relay(url, tmp_path)

    until(lambda: len(stored(tmp_path)) >= len(committed), 90, (tmp_path / "relay.log").read_text)
    until(lambda: asyncio.run(Outbox(url).look(10)) == (0, []), 60)
    relay.kill()

    assert sorted(stored(tmp_path)) == sorted(committed)


async def _make_store(folder: Path) -> None:
    await (await SqliteStore.open(folder / "drumline.db")).close()
