import asyncio

import asyncpg
import pytest
from structlog.testing import capture_logs

from drumline.core.errors import Conflict, Unavailable
from drumline.lifecycle.migrations import missing_migrations
from drumline.lifecycle.processes import run_migrate
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.stores.postgres import PostgresStore
from drumline.stores.postgres.migrating import MAJOR, major_of, script_of
from drumline.stores.sql_files import migrations
from tests.factories import submit


async def test_a_fresh_database_gets_the_schema(empty_postgres_url: str) -> None:
    store = await PostgresStore.open(empty_postgres_url)
    await store.migrate()

    details = await store.check()

    assert details["schema"] == migrations("drumline.stores.postgres")[-1][0]
    assert await submit(store)
    await store.close()


async def test_migrating_again_changes_nothing(empty_postgres_url: str) -> None:
    store = await PostgresStore.open(empty_postgres_url)
    await store.migrate()
    task = await submit(store)

    await store.migrate()

    assert (await store.queries.get([task]))[0] is not None
    await store.close()


async def test_many_migrators_at_once_do_not_disturb_one_another(empty_postgres_url: str) -> None:
    stores = [await PostgresStore.open(empty_postgres_url) for _ in range(5)]

    await asyncio.gather(*(store.migrate() for store in stores))

    assert await submit(stores[0])
    for store in stores:
        await store.close()


async def test_a_newer_major_schema_is_refused(empty_postgres_url: str) -> None:
    store = await PostgresStore.open(empty_postgres_url)
    await store.migrate()
    connection = await asyncpg.connect(empty_postgres_url)
    await connection.execute("INSERT INTO drumline.migration VALUES (9999, $1, 'future')", MAJOR + 1)
    await connection.close()

    with pytest.raises(Conflict, match="newer"):
        await store.migrate()
    with pytest.raises(Conflict, match="Upgrade this one"):
        await PostgresStore.open(empty_postgres_url)

    await store.close()


async def test_a_newer_migration_of_the_same_major_is_lived_with(empty_postgres_url: str) -> None:
    store = await PostgresStore.open(empty_postgres_url)
    await store.migrate()
    connection = await asyncpg.connect(empty_postgres_url)
    await connection.execute("INSERT INTO drumline.migration VALUES (9999, $1, 'soon')", MAJOR)
    await connection.execute("ALTER TABLE drumline.task ADD COLUMN soon int4")
    await connection.close()

    await store.migrate()

    assert await submit(store)
    await store.close()


async def test_a_database_without_the_schema_says_what_to_do(empty_postgres_url: str) -> None:
    store = await PostgresStore.open(empty_postgres_url)

    with pytest.raises(Unavailable, match="drumline migrate"):
        await submit(store)

    await store.close()


def test_every_migration_names_its_major() -> None:
    majors = [major_of(script) for _, _, script in migrations("drumline.stores.postgres")]

    assert majors == sorted(majors)
    assert majors[-1] == MAJOR


async def test_a_migration_that_comes_late_is_applied_though_a_newer_one_was(empty_postgres_url: str) -> None:
    store = await PostgresStore.open(empty_postgres_url)
    await store.migrate()
    connection = await asyncpg.connect(empty_postgres_url)
    await connection.execute("DROP TABLE drumline.progress")
    await connection.execute("DELETE FROM drumline.migration WHERE number = 10")

    await store.migrate()

    assert await connection.fetchval("SELECT to_regclass('drumline.progress') IS NOT NULL")
    await connection.close()
    await store.close()


async def test_the_script_of_what_is_missing_makes_the_schema_and_nothing_is_missing_then(
    empty_postgres_url: str,
) -> None:
    store = await PostgresStore.open(empty_postgres_url)
    missing = await store.missing_migrations()
    assert missing == migrations("drumline.stores.postgres")

    connection = await asyncpg.connect(empty_postgres_url)
    await connection.execute(script_of(missing))
    await connection.close()

    assert await store.missing_migrations() == []
    await store.migrate()  # does nothing
    assert await submit(store)
    await store.close()


async def test_what_is_missing_is_told_for_each_database(empty_postgres_url: str) -> None:
    settings = Settings(store_url=Secret(empty_postgres_url))

    ((shard, missing),) = await missing_migrations(settings)
    assert (shard, missing) == ("main", migrations("drumline.stores.postgres"))

    await run_migrate(settings)
    assert [each.missing for each in await missing_migrations(settings)] == [[]]


async def test_the_first_migration_warns_of_nothing(empty_postgres_url: str) -> None:
    settings = Settings(store_url=Secret(empty_postgres_url))

    with capture_logs() as logs:
        await run_migrate(settings)

    assert [line for line in logs if line["log_level"] == "warning"] == []
