"""Every driver with every ending of a transaction: a task is there exactly if the caller's own rows are."""

import sqlite3
import subprocess
import sys

import asyncpg
import pytest

from tests.transactions.cases import BEFORE, INSIDE, ON_POSTGRES, ON_SQLITE, Ending, run_case

KILLED = -9
COMMITTED = {Ending.COMMIT, Ending.CRASH_AFTER}


def told(driver: str, url: str, ending: Ending) -> str:
    """Run a case and return its task's id; in a process of its own where that is killed, or can be set up once only."""
    if driver != "django" and ending not in {Ending.CRASH_BEFORE, Ending.CRASH_AFTER}:
        return run_case(driver, url, ending)
    program = [sys.executable, "-m", "tests.transactions.cases", driver, url, ending]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == (KILLED if ending.startswith("crash") else 0), ran.stderr
    return ran.stdout.strip()


def expected(ending: Ending) -> list[int]:
    if ending is Ending.SAVEPOINT:
        return [BEFORE]
    return [INSIDE] if ending in COMMITTED else []


@pytest.mark.parametrize("ending", Ending)
@pytest.mark.parametrize("driver", ON_POSTGRES)
def test_a_task_is_stored_on_postgres_exactly_if_the_transaction_commits(
    driver: str, ending: Ending, shop_postgres: str
) -> None:
    task = told(driver, shop_postgres, ending)
    assert postgres_rows(shop_postgres) == (expected(ending), [task] if ending in COMMITTED else [])


@pytest.mark.parametrize("ending", Ending)
@pytest.mark.parametrize("driver", ON_SQLITE)
def test_a_task_is_stored_in_a_file_exactly_if_the_transaction_commits(
    driver: str, ending: Ending, shop_sqlite: str
) -> None:
    task = told(driver, shop_sqlite, ending)
    connection = sqlite3.connect(shop_sqlite.removeprefix("sqlite:///"))
    orders = [order for (order,) in connection.execute("SELECT id FROM orders")]
    tasks = [id_ for (id_,) in connection.execute("SELECT id FROM task_live WHERE state = 1")]
    events = connection.execute("SELECT count(*) FROM outbox").fetchone()[0]
    connection.close()
    assert (orders, tasks) == (expected(ending), [task] if ending in COMMITTED else [])
    assert bool(events) == (ending in COMMITTED)


def postgres_rows(url: str) -> tuple[list[int], list[str]]:
    import asyncio  # noqa: PLC0415

    async def look() -> tuple[list[int], list[str]]:
        connection = await asyncpg.connect(url)
        orders = [row[0] for row in await connection.fetch("SELECT id FROM orders")]
        tasks = [str(row[0]) for row in await connection.fetch("SELECT id FROM drumline.task_live WHERE state = 1")]
        told = [str(task) for row in await connection.fetch("SELECT tasks FROM drumline.outbox") for task in row[0]]
        await connection.close()
        assert told == tasks
        return orders, tasks

    return asyncio.run(look())
