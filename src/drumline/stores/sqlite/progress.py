"""How far attempts are."""

from collections.abc import Sequence

from drumline.core.ids import TaskId
from drumline.core.progress import Progress, ProgressNote
from drumline.stores.sqlite.access import Access, batch_of
from drumline.stores.sqlite.statements import SQL


class ProgressNotes(Access):
    """The parts of `ports.store` on SQLite that tell how far attempts are."""

    async def put_progress(self, notes: Sequence[ProgressNote]) -> None:
        """Note how far attempts are, each lease once; of one that is not current nothing is kept."""
        batch = [
            (lease.task, lease.epoch, lease.nonce, progress.done, progress.total, progress.message)
            for lease, progress in ((note.lease, note.progress) for note in notes)
        ]
        await self._change("put_progress", {"batch": batch_of(batch), "now": self._now()})

    async def progress(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[Progress | None]:
        """Return how far the attempts are that run now; None where nothing runs, or nothing was said."""
        wanted = {"ids": batch_of(tasks), "tenant": tenant}
        rows = await self._database.read(lambda connection: connection.execute(SQL["progress"], wanted).fetchall())
        found = {task: Progress(*words) for task, *words in rows}
        return [found.get(task) for task in tasks]
