"""Asks every shard of an installation what `shards.py` judges."""

import asyncio
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from drumline.core.doctor_report import Finding, PostgresFacts
from drumline.core.errors import DrumlineError
from drumline.core.shard_map import DIRECTORY
from drumline.lifecycle.doctor.findings import problem
from drumline.lifecycle.doctor.shards import MOVES, ShardFacts, judge_shards
from drumline.ports.sealing import Box
from drumline.ports.shards import ShardRow
from drumline.settings import Settings
from drumline.settings.secret_key import box_of
from drumline.shards.service import open_urls
from drumline.stores.postgres import PostgresStore
from drumline.stores.postgres.examining import examine_postgres
from drumline.stores.postgres.migrating import MAJOR

ANSWER_SECONDS: Final = 30.0
MOVE_SECONDS: Final = 2.0
"""Longer than a move of slots takes: one that is under way is not reported."""


async def examine_shards(settings: Settings, directory: PostgresFacts, known: frozenset[int]) -> list[Finding]:
    """Return what is found of the shards; nothing in an installation with one database."""
    asking = ShardAsking(settings, directory, await asyncio.to_thread(box_of, settings), known)
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            findings = await asking.ask()
            if any(finding.check == MOVES for finding in findings):
                await asyncio.sleep(MOVE_SECONDS)
                findings = await asking.ask()
            return findings
    except (DrumlineError, TimeoutError) as error:
        return [problem("shard.list", f"the list of shards cannot be read: {error}", "See what stands above.")]


class ShardAsking:
    """Asks the databases and the Redis servers of an installation."""

    def __init__(self, settings: Settings, directory: PostgresFacts, box: Box, known: frozenset[int]) -> None:
        self._settings = settings
        self._directory = directory
        self._box = box
        self._known = known

    async def ask(self) -> list[Finding]:
        """Return the findings of all shards."""
        store = await PostgresStore.open(_postgresql(str(self._settings.store_url)))
        try:
            rows = await store.shards.shards()
            if not rows and not (await store.shards.shard_map()).histories:
                return []
            others = await asyncio.gather(*(self._facts(row) for row in rows))
            directory = ShardFacts(
                name=DIRECTORY,
                postgres=self._directory,
                identity=await store.slots.identity(),
                entries=await store.slots.entries(),
            )
            # The map last: what is opened meanwhile is then in it, or is found open again at the second look.
            shard_map = await store.shards.shard_map()
        finally:
            await store.close()
        shards: Sequence[ShardFacts] = (directory, *others)
        return list(judge_shards(shards, shard_map, known=self._known, major=MAJOR))

    async def _facts(self, row: ShardRow) -> ShardFacts:
        try:
            store_url, queue_url = open_urls(self._box, row)
        except DrumlineError as error:
            return ShardFacts(name=row.name, state=row.state, error=f"its address cannot be read: {error.message}")
        facts = await self._ask_store(row, _postgresql(store_url))
        return facts if queue_url is None else await _with_redis(facts, queue_url)

    async def _ask_store(self, row: ShardRow, url: str) -> ShardFacts:
        try:
            postgres = await examine_postgres(url)
        except DrumlineError as error:
            return ShardFacts(name=row.name, state=row.state, error=error.message)
        if postgres.is_by_statement or not self._known <= set(postgres.applied):
            return ShardFacts(name=row.name, state=row.state, postgres=postgres)
        try:
            store = await PostgresStore.open(url)
            try:
                identity, entries = await store.slots.identity(), await store.slots.entries()
            finally:
                await store.close()
        except DrumlineError as error:
            return ShardFacts(name=row.name, state=row.state, error=error.message)
        return ShardFacts(name=row.name, state=row.state, postgres=postgres, identity=identity, entries=entries)


async def _with_redis(facts: ShardFacts, url: str) -> ShardFacts:
    from drumline.redis.examining import examine_redis  # noqa: PLC0415 - a driver that not all have

    try:
        return replace(facts, redis=await examine_redis(url), is_cluster="+cluster" in url)
    except DrumlineError as error:
        return replace(facts, redis_error=error.message)


def _postgresql(url: str) -> str:
    return url.replace("postgres://", "postgresql://", 1)
