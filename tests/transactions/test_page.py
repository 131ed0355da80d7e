"""The examples of the how-to that need PostgreSQL: the others are run with those of the other pages."""

from typing import Any

import asyncpg
import pytest

from tests.docs.pages import ROOT, blocks_of

pytestmark = pytest.mark.services

BLOCKS = [
    block
    for block in blocks_of(ROOT / "docs" / "how-to" / "transactions.md")
    if block.notes.get("not run") == "PostgreSQL"
]
SETUP = """
import os
from drumline import Drumline
app = Drumline("shop", url="http://127.0.0.1:1")
@app.task
def charge(order: int) -> int:
    return order
"""


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
