"""`drumline migrate` on PostgreSQL: what is missing, as a list and as a script."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from drumline.cli.errors import ExitCode
from drumline.stores.sql_files import migrations
from tests.cli.conftest import Drumline

pytestmark = pytest.mark.services


@pytest.fixture
def migrating(drumline: Drumline, empty_postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Drumline:
    """Run commands on a database without a schema."""
    monkeypatch.setenv("DATABASE_URL", empty_postgres_url)
    return drumline


def test_the_status_lists_what_is_missing_until_it_is_applied(migrating: Drumline) -> None:
    known = migrations("drumline.stores.postgres")

    before = migrating("migrate", "status")
    applied = migrating("migrate")
    after = migrating("migrate", "status")

    lines = before.out.splitlines()
    assert (before.code, len(lines), lines[0].split()) == (0, len(known), ["main", "0001", "initial"])
    assert f"{len(known)} migrations are missing: drumline migrate applies them." in before.err
    assert (applied.code, applied.out) == (0, "")
    assert (after.code, after.out) == (0, "")
    assert "The schema is up to date." in after.err


def test_the_script_makes_the_schema(migrating: Drumline, empty_postgres_url: str) -> None:
    async def execute(script: str) -> None:
        connection = await asyncpg.connect(empty_postgres_url)
        await connection.execute(script)
        await connection.close()

    script = migrating("migrate", "--sql")
    asyncio.run(execute(script.out))

    assert migrating("migrate", "status").out == ""
    assert migrating("migrate", "--sql").out == ""


def test_a_database_that_cannot_be_reached_is_named(
    drumline: Drumline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://drumline@127.0.0.1:1/none")

    ran = drumline("migrate", "status", "--data", str(tmp_path))

    assert ran.code == ExitCode.UNREACHABLE
    assert "127.0.0.1" in ran.err
