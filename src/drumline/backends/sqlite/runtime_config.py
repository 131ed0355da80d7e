"""Settings that the store holds for the whole fleet."""

import sqlite3
from collections.abc import Mapping
from typing import Any

from drumline.backends.config_rows import config_of, overtaken
from drumline.backends.sqlite.access import Access, tell_facts
from drumline.backends.sqlite.statements import SQL
from drumline.core.codec import encode
from drumline.core.runtime_config import NO_CONFIG, RuntimeConfig, config_changed
from drumline.ports.runtime_config import MOST_VERSIONS


class RuntimeConfigs(Access):
    """`ports.runtime_config.RuntimeConfigs` on SQLite."""

    async def runtime_version(self) -> int:
        """Return the number of the newest version, 0 if there is none."""
        (version,) = await self._database.read(lambda connection: connection.execute(SQL["runtime_version"]).fetchone())
        return int(version)

    async def runtime_config(self) -> RuntimeConfig:
        """Return the newest version."""
        return await self._database.read(_newest)

    async def put_runtime_config(
        self, settings: Mapping[str, Any], *, after: int, by: str, reason: str | None = None
    ) -> RuntimeConfig:
        """Keep a new version; raises `Conflict` if `after` is not the newest one."""
        given = {"settings": encode(settings).decode(), "after": after, "by": by, "reason": reason}

        def put(connection: sqlite3.Connection) -> RuntimeConfig:
            before, now = _newest(connection), self._now()
            row = connection.execute(SQL["put_runtime_config"], given | {"now": now}).fetchone()
            if row is None:
                raise overtaken(after, before.version)
            new = config_of(row)
            connection.execute(SQL["prune_runtime_config"], {"until": new.version - MOST_VERSIONS})
            tell_facts(connection, now, [config_changed(before, new)])
            return new

        return await self._database.write(put)

    async def runtime_history(self, *, limit: int, before: int | None = None) -> list[RuntimeConfig]:
        """Return versions, newest first, starting below `before`."""
        span = {"limit": limit, "before": before}
        rows = await self._database.read(lambda connection: connection.execute(SQL["runtime_history"], span).fetchall())
        return [config_of(row) for row in rows]


def _newest(connection: sqlite3.Connection) -> RuntimeConfig:
    row = connection.execute(SQL["runtime_history"], {"limit": 1, "before": None}).fetchone()
    return NO_CONFIG if row is None else config_of(row)
