"""Firing on SQLite: runs that are alike, as nearly all are, are written by statements that read little JSON."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from drumline.core.codec import encode
from drumline.core.schedule import RunKind
from drumline.stores.driver import Transaction
from drumline.stores.parts.firing import Firing
from drumline.stores.schedule_plans import Advance, Key, Planned
from drumline.stores.sqlite.database import connection_of
from drumline.stores.sqlite.statements import SQL


class SqliteFiring(Firing):
    """`ports.schedules.Firing` on SQLite."""

    async def _insert_runs(self, transaction: Transaction, planned: Sequence[Planned]) -> list[Planned]:
        """Store runs, and return those that are new: a fire time that has a run keeps it."""
        alike: defaultdict[int, dict[str, str]] = defaultdict(dict)
        other: list[Planned] = []
        for one in planned:
            run = one.run
            if run.task is not None and run.kind is RunKind.SCHEDULED:
                alike[run.fire_time][run.schedule] = run.task
            else:
                other.append(one)
        new = {one.key for one in await super()._insert_runs(transaction, other)}
        for fire_time, tasks in alike.items():
            new.update(self._insert_alike(transaction, fire_time, tasks))
        return [one for one in planned if one.key in new]

    def _insert_alike(self, transaction: Transaction, fire_time: int, tasks: dict[str, str]) -> Iterable[Key]:
        """Store runs that differ in nothing but schedule and task, and return those that are new: mostly all."""
        connection = connection_of(transaction)
        batch = {"batch": encode(tasks).decode(), "fire_time": fire_time}
        if connection.execute(SQL["insert_runs_alike"], batch | {"now": self._now()}).rowcount == len(tasks):
            return ((schedule, fire_time) for schedule in tasks)
        found = connection.execute(SQL["runs_of_tasks"], batch).fetchall()
        return ((schedule, fire_time) for (schedule,) in found)

    async def _advance_schedules(self, transaction: Transaction, advances: Sequence[Advance]) -> None:
        """Write the next fire times of schedules, and what is added to their counts."""
        alike: defaultdict[tuple[int | None, int | None], dict[str, str | None]] = defaultdict(dict)
        for one in advances:
            if one.is_plain:
                alike[one.fire_at, one.last_fire_time][one.id] = one.last_task
        for (fire_at, last_fire_time), tasks in alike.items():
            batch = {"batch": encode(tasks).decode(), "fire_at": fire_at, "last_fire_time": last_fire_time}
            connection_of(transaction).execute(SQL["advance_alike"], batch)
        await super()._advance_schedules(transaction, [one for one in advances if not one.is_plain])
