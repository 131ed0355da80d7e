"""Settings that the store holds for the whole fleet."""

from collections.abc import Iterable, Mapping
from typing import Any

from drumline.core.clock import Instant
from drumline.core.codec import decode, encode
from drumline.core.errors import Conflict
from drumline.core.runtime_config import NO_CONFIG, RuntimeConfig, config_changed
from drumline.ports.runtime_config import MOST_VERSIONS
from drumline.stores.driver import Line, Part, Transaction, tell_facts


class RuntimeConfigs(Part):
    """`ports.runtime_config.RuntimeConfigs`."""

    async def runtime_version(self) -> int:
        """Return the number of the newest version, 0 if there is none."""
        ((version,),) = await self._database.fetch(Line.REQUEST, "runtime_version", repeat=True)
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
            before = [_config(row) for row in await transaction.fetch("runtime_history", limit=1, before=None)]
            rows = await transaction.fetch("put_runtime_config", **given, now=self._now())
            if not rows:
                ((newest,),) = await transaction.fetch("runtime_version")
                raise _overtaken(after, newest)
            new = _config(rows[0])
            await transaction.fetch("prune_runtime_config", until=new.version - MOST_VERSIONS)
            fact = config_changed(before[0] if before else NO_CONFIG, new)
            await tell_facts(transaction, [fact], now=self._now())
            return new

        return await self._database.transact(Line.REQUEST, put)

    async def runtime_history(self, *, limit: int, before: int | None = None) -> list[RuntimeConfig]:
        """Return versions, newest first, starting below `before`."""
        rows = await self._database.fetch(Line.REQUEST, "runtime_history", repeat=True, limit=limit, before=before)
        return [_config(row) for row in rows]


def _config(row: Iterable[Any]) -> RuntimeConfig:
    """Return a row as a version."""
    version, changed_at, changed_by, reason, settings = row
    return RuntimeConfig(
        version=version,
        settings=decode(settings, dict[str, Any]),
        changed_at=Instant(changed_at),
        changed_by=changed_by,
        reason=reason,
    )


def _overtaken(after: int, newest: int) -> Conflict:
    """Return why a version cannot follow another."""
    return Conflict(f"the runtime configuration is at version {newest}, not {after}: look at it again", field="version")
