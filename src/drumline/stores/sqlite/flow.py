"""Keeping flow limits, and sorting what waits under them by its keys."""

import sqlite3
from collections.abc import Sequence

import msgspec

from drumline.core.clock import Instant
from drumline.core.errors import NotFound
from drumline.core.flow import NO_KEY, NOTHING_USED, FlowLimit, LimitUse, key_of
from drumline.core.ids import TaskId
from drumline.core.state import State
from drumline.core.task import Lane, decode_options
from drumline.ports.hint import Hint
from drumline.stores.flow_rows import (
    AHEAD_MS,
    LimitedLane,
    check_limits,
    counts_differently,
    limited_lanes,
    since_of,
)
from drumline.stores.sqlite.access import batch_of
from drumline.stores.sqlite.limiting import Limiting, key_numbers, keys_of, read_limits, slot_uses, write_slots
from drumline.stores.sqlite.statements import SQL


class Flow(Limiting):
    """`ports.flow.Flow` on SQLite."""

    async def set_limit(self, limit: FlowLimit) -> tuple[FlowLimit, FlowLimit | None]:
        """Keep a limit, in place of one of the same tenant and name; return it, and that one if there was one."""

        def act(connection: sqlite3.Connection) -> tuple[FlowLimit, FlowLimit | None]:
            others = read_limits(connection, limit.tenant)
            check_limits(limit, others)
            before = next((other for other in others if other.name == limit.name), None)
            row = msgspec.structs.asdict(limit) | {"now": self._now()}
            connection.execute(SQL["set_limit"], row)
            kept = next(each for each in read_limits(connection, limit.tenant) if each.name == limit.name)
            if before is not None and counts_differently(before, kept):
                connection.execute(SQL["delete_slots"], {"id": kept.id})
            _adopt(connection, kept)
            return kept, before

        return await self._database.write(act)

    async def delete_limit(self, name: str, *, tenant: str) -> FlowLimit:
        """Forget a limit and return it; raises `NotFound`."""

        def act(connection: sqlite3.Connection) -> FlowLimit:
            found = next((limit for limit in read_limits(connection, tenant) if limit.name == name), None)
            if found is None:
                raise NotFound(f"there is no limit {name}", field="name")
            connection.execute(SQL["delete_slots"], {"id": found.id})
            connection.execute(SQL["delete_limit"], {"id": found.id})
            return found

        return await self._database.write(act)

    async def limits(self, *, tenant: str | None = None) -> list[FlowLimit]:
        """Return the limits there are, by tenant and name."""
        return await self._database.read(lambda connection: read_limits(connection, tenant))

    async def limit_uses(self, task: TaskId, *, tenant: str | None = None) -> list[LimitUse]:
        """Return the limits that a queued task is under, and how much of each is used."""
        return await self._database.write(lambda connection: self._limit_uses(connection, task, tenant))

    async def running_under(self, limits: Sequence[int]) -> dict[int, int]:
        """Return how many tasks run under each of these limits."""
        given = {"limits": batch_of(limits)}
        return dict(
            await self._database.read(lambda connection: connection.execute(SQL["running_under"], given).fetchall())
        )

    async def sort_keys(self, *, most: int) -> tuple[int, list[Hint]]:
        """Look up the keys of up to `most` waiting tasks."""
        return await self._database.write(lambda connection: self._sort_keys(connection, most))

    def _limit_uses(self, connection: sqlite3.Connection, task: TaskId, tenant: str | None) -> list[LimitUse]:
        row = connection.execute(SQL["under_limits"], {"id": task, "tenant": tenant}).fetchone()
        if row is None or row[0] != State.QUEUED:
            return []
        _, payload, options, *words = row
        lane = Lane(*words)
        limits = [limit for limit in read_limits(connection, lane.tenant) if limit.concerns(lane)]
        keyed_by = next((limit.keyed_by for limit in limits if limit.keyed_by), None)
        key = None if keyed_by is None else key_of(keyed_by, payload.encode(), decode_options(options))
        number = NO_KEY if key is None else key_numbers(connection, lane.tenant, [key])[0]
        under = LimitedLane(0, lane, is_twin=True, limits=tuple(limits)).candidate(task, 0, number)
        uses = slot_uses(connection, [under], {limit.id: limit for limit in limits}, self._now())
        return [
            LimitUse(
                limit=limit,
                key=None if limit.keyed_by is None else key,
                use=uses.get(limit.slots(number), NOTHING_USED),
            )
            for limit in limits
        ]

    def _sort_keys(self, connection: sqlite3.Connection, most: int) -> tuple[int, list[Hint]]:
        limits = read_limits(connection)
        now = self._now()
        asked = batch_of([[limit.id, since_of(limit, now)] for limit in limits])
        connection.execute(SQL["drop_dead_slots"], {"limits": asked})
        rows = connection.execute(SQL["lanes_with_twins"]).fetchall()
        lanes = {lane.number: lane for lane in limited_lanes(rows, limits)}
        moved, hints = 0, []
        for number, is_twin, *words in rows:
            lane = lanes.get(number)
            if lane is not None and lane.is_unsorted:
                moved += self._sort(connection, lane, Instant(now + AHEAD_MS), most - moved)
            elif is_twin and (lane is None or lane.keyed_by is None):
                back = self._unsort(connection, number, Lane(*words), most - moved)
                moved += len(back)
                hints += back if lane is None else []
        return moved, hints

    def _unsort(self, connection: sqlite3.Connection, twin: int, lane: Lane, most: int) -> list[Hint]:
        """Put tasks back from a twin into its lane."""
        span = {"twin": twin, "lane": self._lanes.number(connection, lane), "most": most}
        rows = connection.execute(SQL["unsort_keys"], span).fetchall()
        return [Hint(TaskId(task), lane, Instant(due_at)) for task, due_at in rows]


def _adopt(connection: sqlite3.Connection, limit: FlowLimit) -> None:
    """Let what runs already count to a limit."""
    lanes = limited_lanes(connection.execute(SQL["lanes_with_twins"]).fetchall(), [limit])
    rows = connection.execute(SQL["running_in_lanes"], {"lanes": batch_of([lane.number for lane in lanes])}).fetchall()
    keys = [NO_KEY] * len(rows)
    if limit.keyed_by is not None and rows:
        keys = key_numbers(connection, limit.tenant, keys_of(rows, limit.keyed_by))
    slots = [
        [limit.id, key, task, epoch, started_at] for (task, epoch, started_at, *_), key in zip(rows, keys, strict=True)
    ]
    write_slots(connection, slots)
