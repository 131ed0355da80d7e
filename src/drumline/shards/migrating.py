"""Migrations of an installation with several databases."""

import structlog

from drumline.core.errors import DrumlineError, Unavailable
from drumline.ports.sealing import Box
from drumline.ports.shards import ShardRow
from drumline.ports.store import Store
from drumline.shards.service import OpenStore, open_urls

log: structlog.stdlib.BoundLogger = structlog.get_logger()


async def migrate_shards(directory: Store, box: Box, open_store: OpenStore) -> int:
    """Bring the schema of the shards besides the directory to this version, one after the other; return how many.

    One that cannot be migrated does not keep the others from it: `Unavailable` names all of those. The migration can be
    repeated at any time.
    """
    rows = await directory.shards.shards()
    failures = []
    for row in rows:
        try:
            await _migrate(row, box, open_store)
        except DrumlineError as error:
            failures.append(f"{row.name} ({error.message})")
        else:
            log.info("shard.migrated", shard=row.name)
    if failures:
        raise Unavailable(f"not migrated: {', '.join(failures)}; run the migration again once that is mended")
    return len(rows)


async def _migrate(row: ShardRow, box: Box, open_store: OpenStore) -> None:
    store_url, _ = open_urls(box, row)
    store = await open_store(store_url)
    try:
        await store.migrate()
    finally:
        await store.close()
