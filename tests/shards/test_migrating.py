"""A migration brings every database of an installation to the same schema."""

from collections.abc import Sequence
from pathlib import Path

import asyncpg
import pytest

from drumline.core.errors import Unavailable
from drumline.lifecycle.processes import run_migrate
from drumline.settings import load_settings
from drumline.settings.fields import Settings
from drumline.shards.service import seal_urls
from drumline.stores.postgres import PostgresStore
from drumline.stores.sealing import AesBox, new_key_text, parse_keys

KEY = new_key_text()
BOX = AesBox(parse_keys(KEY))


def settings_of(url: str, data: Path) -> Settings:
    return load_settings({"DRUMLINE_STORE_URL": url, "DRUMLINE_SECRET_KEY": KEY, "DRUMLINE_DATA": str(data)})


async def add(directory_url: str, name: str, url: str) -> None:
    directory = await PostgresStore.open(directory_url)
    store_url, _ = seal_urls(BOX, name, url, None)
    await directory.shards.add_shard(name, store_url=store_url, queue_url=None)
    await directory.close()


async def applied(url: str) -> Sequence[int]:
    connection = await asyncpg.connect(url)
    try:
        return [row[0] for row in await connection.fetch("SELECT number FROM drumline.migration ORDER BY 1")]
    finally:
        await connection.close()


async def test_every_shard_is_migrated_though_one_is_away(
    shard_urls: tuple[str, ...], empty_postgres_url: str, tmp_path: Path
) -> None:
    await add(shard_urls[0], "away", "postgresql://127.0.0.1:1/nowhere")
    await add(shard_urls[0], "pg2", empty_postgres_url)

    with pytest.raises(Unavailable, match="not migrated: away"):
        await run_migrate(settings_of(shard_urls[0], tmp_path))

    assert await applied(empty_postgres_url) == await applied(shard_urls[0])


async def test_addresses_that_cannot_be_opened_are_told(shard_urls: tuple[str, ...], tmp_path: Path) -> None:
    await add(shard_urls[0], "pg2", shard_urls[1])
    settings = load_settings({"DRUMLINE_STORE_URL": shard_urls[0], "DRUMLINE_DATA": str(tmp_path)})

    with pytest.raises(Unavailable, match="not migrated: pg2"):
        await run_migrate(settings)
