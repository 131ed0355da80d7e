"""Which migrations the databases of an installation lack."""

import asyncio
from typing import NamedTuple

from drumline.core.errors import Invalid
from drumline.core.shard_map import DIRECTORY
from drumline.settings.fields import Settings
from drumline.settings.secret_key import box_of
from drumline.shards.service import open_urls
from drumline.stores.sql_files import Migration


class DatabaseMigrations(NamedTuple):
    """What `drumline migrate` would apply to one database."""

    shard: str
    missing: list[Migration]


async def missing_migrations(settings: Settings) -> list[DatabaseMigrations]:
    """Return what each database lacks, the directory first; nothing is changed."""
    if settings.sqlite_path is not None or settings.store_url is None:
        raise Invalid("a store on SQLite is migrated whenever it is opened", field="store.url")
    from drumline.stores.postgres import PostgresStore  # noqa: PLC0415 - not everybody has its driver

    directory = await PostgresStore.open(_plain(str(settings.store_url)))
    try:
        found = [DatabaseMigrations(DIRECTORY, await directory.missing_migrations())]
        if all(each.name != "shards" for each in found[0].missing):
            box = await asyncio.to_thread(box_of, settings)
            for row in await directory.shards.shards():
                shard = await PostgresStore.open(_plain(open_urls(box, row)[0]))
                try:
                    found.append(DatabaseMigrations(row.name, await shard.missing_migrations()))
                finally:
                    await shard.close()
    finally:
        await directory.close()
    return found


def _plain(url: str) -> str:
    return url.replace("postgres://", "postgresql://", 1)
