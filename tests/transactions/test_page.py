"""The examples of the how-to that need PostgreSQL: the others are run with those of the other pages."""

from typing import Any

import asyncpg
import pytest

from drumline import Drumline
from tests.docs.pages import ROOT, blocks_of
from tests.harness.fixtures import WORKER

pytestmark = pytest.mark.services

ALL = blocks_of(ROOT / "docs" / "how-to" / "transactions.md")
BLOCKS = [block for block in ALL if block.notes.get("not run") == "PostgreSQL"]
USER = f"shop_page_{WORKER}"

app = Drumline("shop", url="http://127.0.0.1:1")


@app.task
def charge(order: int) -> int:
    return order


SETUP = """
import os
from drumline import Drumline
app = Drumline("shop", url="http://127.0.0.1:1")
@app.task
def charge(order: int) -> int:
    return order
"""


async def test_the_rights_that_the_page_grants_are_enough(shop_postgres: str) -> None:
    grants = next(block.code for block in ALL if block.notes.get("not run") == "for an administrator")
    owner = await asyncpg.connect(shop_postgres)
    await owner.execute(f"DROP ROLE IF EXISTS {USER}; CREATE ROLE {USER}")
    try:
        await owner.execute(grants.replace("TO shop;", f"TO {USER};"))
        async with owner.transaction():
            await owner.execute(f"SET LOCAL ROLE {USER}")
            await charge.options(key="a", expires="1h").asubmit(7, tx=owner)
            with app.dag("order") as dag:
                dag.add(charge, dag.add(charge, 1).out)
            await dag.asubmit(tx=owner)
        assert await owner.fetchval("SELECT count(*) FROM drumline.task") == 3
    finally:
        await owner.execute(f"DROP OWNED BY {USER}; DROP ROLE {USER}")
        await owner.close()


async def test_the_statements_run(shop_postgres: str) -> None:
    connection = await asyncpg.connect(shop_postgres)
    transaction = connection.transaction()
    await transaction.start()
    (block,) = [block for block in BLOCKS if block.language == "sql"]

    await connection.execute(block.code)
    await connection.execute("INSERT INTO orders (id) VALUES (9)")

    assert await connection.fetchval("SELECT count(*) FROM drumline.task") == 3
    await transaction.rollback()
    await connection.close()


def test_the_programs_run(shop_postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_URL", shop_postgres)
    space: dict[str, Any] = {}
    exec(SETUP, space)
    programs = [block for block in BLOCKS if block.language == "python"]

    for block in programs:
        exec(compile(block.code, block.place, "exec"), space)

    assert len(programs) >= 2
