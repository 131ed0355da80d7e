"""How far attempts are."""

from collections.abc import Sequence

from drumline.core.ids import TaskId
from drumline.core.progress import Progress, ProgressNote
from drumline.stores.driver import Line, storable
from drumline.stores.postgres.access import Access


class ProgressNotes(Access):
    """The parts of `ports.store` on PostgreSQL that tell how far attempts are."""

    async def put_progress(self, notes: Sequence[ProgressNote]) -> None:
        """Note how far attempts are, each lease once; of one that is not current nothing is kept."""
        # A worker that is giving an attempt up may hold two leases on one task: only the younger can be current.
        latest = {note.lease.task: note for note in sorted(notes, key=lambda note: note.lease.epoch)}
        told = [latest[task] for task in sorted(latest)]
        await self._database.fetch(
            Line.DESK,
            "put_progress",
            repeat=True,
            ids=[note.lease.task for note in told],
            epochs=[note.lease.epoch for note in told],
            nonces=[note.lease.nonce for note in told],
            done=[note.progress.done for note in told],
            total=[note.progress.total for note in told],
            messages=[storable(note.progress.message) for note in told],
            now=self._now(),
        )

    async def progress(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[Progress | None]:
        """Return how far the attempts are that run now; None where nothing runs, or nothing was said."""
        rows = await self._database.fetch(
            Line.DESK, "progress", repeat=True, within=tenant, ids=list(tasks), tenant=tenant
        )
        found = {TaskId(str(task)): Progress(*words) for task, *words in rows}
        return [found.get(task) for task in tasks]
