"""Several databases, the first of which is the directory, and what can be seen of limits from outside."""

from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg

from drumline.core.clock import Clock
from drumline.core.flow import FlowLimit, LimitRequest, accept_limit
from drumline.core.ids import SessionId
from drumline.core.limit_shares import Amount
from drumline.core.shard_map import DIRECTORY
from drumline.core.task import ClaimedTask
from drumline.engine.limit_shares import ShareMover
from drumline.ports.limit_shares import LimitShares
from drumline.stores.driver import Line
from drumline.stores.postgres import PostgresStore
from tests.factories import claim_request

SHARDS = (DIRECTORY, "pg2", "pg3")


async def open_shards(urls: Sequence[str], clock: Clock | None = None) -> dict[str, PostgresStore]:
    """Open databases by name, the directory first."""
    return {name: await PostgresStore.open(url, clock=clock) for name, url in zip(SHARDS, urls, strict=True)}


class Given:
    """`ShareShards`: databases that are given, whatever becomes of them."""

    def __init__(self, shards: Mapping[str, Any]) -> None:
        self._shards = shards

    def names(self) -> Sequence[str]:
        return list(self._shards)

    def reachable(self) -> Mapping[str, LimitShares]:
        return self._shards

    def note_away(self, name: str) -> None:
        """Ask again all the same."""

    async def refresh(self) -> None:
        """Stay with those that were given."""

    def shares_came(self, name: str) -> None:
        """Have no workers that wait."""

    async def limits_gone(self, name: str) -> None:
        """Have no queue."""


def mover_of(shards: Mapping[str, PostgresStore], clock: Clock | None = None) -> ShareMover:
    """Return a mover that reaches all of these."""
    return ShareMover(Given({name: store.limit_shares for name, store in shards.items()}), clock=clock)


async def set_limit(shards: Mapping[str, PostgresStore], name: str = "few", **fields: Any) -> FlowLimit:
    """Set a limit in the directory, and let all databases know."""
    limit, _ = await shards[DIRECTORY].limits.set_limit(accept_limit(name, LimitRequest(**fields), tenant="default"))
    assert await mover_of(shards).spread() == []
    return limit


async def claim_limited(store: PostgresStore, session: SessionId, *names: str, limit: int = 10) -> list[ClaimedTask]:
    """Claim tasks under limits."""
    (answer,) = await store.claim([claim_request(session, *names, limit=limit, limited=True)])
    return list(answer.tasks)


async def total(shards: Mapping[str, PostgresStore], limit: int, key: str | None = None) -> Amount:
    """Return what all shares and all transfers that were not applied add up to."""
    running = starts = 0
    for name, store in shards.items():
        for holding in await store.limit_shares.holdings([(limit, key)]):
            running += holding.share.running
            starts += holding.share.starts
        for transfer in await store.limit_shares.transfers(most=1000):
            if (transfer.limit, transfer.key) == (limit, key) and not await _is_applied(
                shards[transfer.taker], name, transfer.number
            ):
                running += transfer.amount.running
                starts += transfer.amount.starts
    return Amount(running, starts)


async def _is_applied(taker: PostgresStore, giver: str, number: int) -> bool:
    """Tell whether a transfer was applied, from the rows themselves."""
    rows = await taker.limits._database.fetch(Line.REQUEST, "limits_received")
    return bool(dict(tuple(row) for row in rows).get(giver, 0) >= number)


async def running_in(urls: Mapping[str, str]) -> dict[str, int]:
    """Return how many tasks run in each database, from the leases themselves."""
    found = {}
    for name, url in urls.items():
        connection = await asyncpg.connect(url)
        found[name] = await connection.fetchval("SELECT count(*) FROM drumline.task_live WHERE state = 2")
        await connection.close()
    return found
