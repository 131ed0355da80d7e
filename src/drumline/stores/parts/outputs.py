"""What tasks leave behind while they run: logs, files, and how far they are."""

from collections.abc import Sequence

from drumline.core.attempt import Progress, ProgressNote
from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.log_lines import LogPiece, LogPlace
from drumline.ports.outputs import Artifact, ArtifactView, LogChunk
from drumline.stores.driver import Line, Part, storable


class Outputs(Part):
    """`ports.outputs.Outputs`."""

    async def append_log(self, chunks: Sequence[LogChunk]) -> None:
        """Keep pieces of logs; a piece that is there already is kept once."""
        pieces = sorted(chunks, key=lambda chunk: (chunk.task, chunk.epoch, chunk.seq))
        await self._database.fetch(
            Line.REQUEST,
            "append_log",
            repeat=True,
            ids=[chunk.task for chunk in pieces],
            epochs=[chunk.epoch for chunk in pieces],
            seqs=[chunk.seq for chunk in pieces],
            texts=[storable(chunk.text) for chunk in pieces],
        )

    async def first_logs(
        self, tasks: Sequence[TaskId], *, pieces: int, longest: int, tenant: str | None = None
    ) -> list[tuple[LogPiece, ...]]:
        """Return how the log of each task begins: its first pieces, each up to `longest` characters."""
        rows = await self._database.fetch(
            Line.BROAD,
            "first_logs",
            repeat=True,
            within=tenant,
            ids=list(tasks),
            pieces=pieces,
            longest=longest,
            tenant=tenant,
        )
        found: dict[str, list[LogPiece]] = {}
        for task, epoch, seq, text in rows:
            found.setdefault(str(task), []).append(LogPiece(epoch, seq, 0, text))
        return [tuple(sorted(found.get(task, ()))) for task in tasks]

    async def log_from(
        self, task: TaskId, place: LogPlace, *, pieces: int, longest: int, tenant: str | None = None
    ) -> tuple[LogPiece, ...]:
        """Return how the log of a task goes on at a place: the next pieces, each up to `longest` characters."""
        rows = await self._database.fetch(
            Line.REQUEST,
            "log_from",
            repeat=True,
            within=tenant,
            id=task,
            epoch=place.epoch,
            seq=place.seq,
            offset=place.offset,
            pieces=pieces,
            longest=longest,
            tenant=tenant,
        )
        at = (place.epoch, place.seq)
        return tuple(LogPiece(epoch, seq, place.offset if (epoch, seq) == at else 0, text) for epoch, seq, text in rows)

    async def put_artifact(self, artifact: Artifact) -> None:
        """Keep a file under its task and name; a later one replaces it."""
        await self._database.fetch(
            Line.REQUEST,
            "put_artifact",
            repeat=True,
            id=artifact.task,
            name=storable(artifact.name),
            content_type=storable(artifact.content_type),
            data=artifact.data,
            now=self._now(),
        )

    async def artifacts(self, task: TaskId, *, tenant: str | None = None) -> list[ArtifactView]:
        """Return what files a task made."""
        rows = await self._database.fetch(Line.REQUEST, "artifacts", repeat=True, within=tenant, id=task, tenant=tenant)
        return [
            ArtifactView(name=name, content_type=content_type, size=size, created_at=Instant(created_at))
            for name, content_type, size, created_at in rows
        ]

    async def artifact(self, task: TaskId, name: str, *, tenant: str | None = None) -> Artifact | None:
        """Return one file."""
        rows = await self._database.fetch(
            Line.REQUEST, "artifact", repeat=True, within=tenant, id=task, name=name, tenant=tenant
        )
        return Artifact(task=task, name=name, content_type=rows[0][0], data=rows[0][1]) if rows else None

    async def put_progress(self, notes: Sequence[ProgressNote]) -> None:
        """Note how far attempts are, each lease once; of one that is not current nothing is kept."""
        # A worker that is giving an attempt up may hold two leases on one task: only the younger can be current.
        latest = {note.lease.task: note for note in sorted(notes, key=lambda note: note.lease.epoch)}
        noted = [latest[task] for task in sorted(latest)]
        await self._database.fetch(
            Line.REQUEST,
            "put_progress",
            repeat=True,
            ids=[note.lease.task for note in noted],
            epochs=[note.lease.epoch for note in noted],
            nonces=[note.lease.nonce for note in noted],
            done=[note.progress.done for note in noted],
            total=[note.progress.total for note in noted],
            messages=[storable(note.progress.message) for note in noted],
            now=self._now(),
        )

    async def progress(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[Progress | None]:
        """Return how far the attempts are that run now; None where nothing runs, or nothing was said."""
        rows = await self._database.fetch(
            Line.REQUEST, "progress", repeat=True, within=tenant, ids=list(tasks), tenant=tenant
        )
        found = {TaskId(str(task)): Progress(*values) for task, *values in rows}
        return [found.get(task) for task in tasks]
