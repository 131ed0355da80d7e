"""Settings that the store holds for the whole fleet."""

from collections.abc import Mapping
from typing import Any

from drumline.backends.config_rows import config_of, overtaken
from drumline.backends.postgres.access import Access, tell_facts
from drumline.backends.postgres.database import Line, Transaction
from drumline.core.codec import encode
from drumline.core.runtime_config import NO_CONFIG, RuntimeConfig, config_changed
from drumline.ports.runtime_config import MOST_VERSIONS


class RuntimeConfigs(Access):
    """`ports.runtime_config.RuntimeConfigs` on PostgreSQL."""

    async def runtime_version(self) -> int:
        """Return the number of the newest version, 0 if there is none."""
        ((version,),) = await self._database.fetch(Line.DESK, "runtime_version", repeat=True)
        return int(version)

    async def runtime_config(self) -> RuntimeConfig:
        """Return the newest version."""
        newest = await self.runtime_history(limit=1)
        return newest[0] if newest else NO_CONFIG

    async def put_runtime_config(
        self, settings: Mapping[str, Any], *, after: int, by: str, reason: str | None = None
    ) -> RuntimeConfig:
        """Keep a new version; raises `Conflict` if `after` is not the newest one."""
        given = {"settings": encode(settings).decode(), "after": after, "by": by, "reason": reason}

        async def put(transaction: Transaction) -> RuntimeConfig:
            before = [config_of(row) for row in await transaction.fetch("runtime_history", limit=1, before=None)]
            rows = await transaction.fetch("put_runtime_config", **given, now=self._now())
            if not rows:
                ((newest,),) = await transaction.fetch("runtime_version")
                raise overtaken(after, newest)
            new = config_of(rows[0])
            await transaction.fetch("prune_runtime_config", until=new.version - MOST_VERSIONS)
            fact = config_changed(before[0] if before else NO_CONFIG, new)
            await tell_facts(transaction, [fact], now=self._now())
            return new

        return await self._database.transact(Line.DESK, put)

    async def runtime_history(self, *, limit: int, before: int | None = None) -> list[RuntimeConfig]:
        """Return versions, newest first, starting below `before`."""
        rows = await self._database.fetch(Line.DESK, "runtime_history", repeat=True, limit=limit, before=before)
        return [config_of(row) for row in rows]
