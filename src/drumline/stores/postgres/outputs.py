"""What tasks leave behind while they run: logs and files."""

from collections.abc import Sequence

from drumline.ports.store import Artifact, LogChunk
from drumline.stores.driver import Line, storable
from drumline.stores.postgres.access import Access


class Outputs(Access):
    """The logging part of `ports.store.Executing` on PostgreSQL."""

    async def append_log(self, chunks: Sequence[LogChunk]) -> None:
        """Keep pieces of logs; a piece that is there already is kept once."""
        pieces = sorted(chunks, key=lambda chunk: (chunk.task, chunk.epoch, chunk.seq))
        await self._database.fetch(
            Line.DESK,
            "append_log",
            repeat=True,
            ids=[chunk.task for chunk in pieces],
            epochs=[chunk.epoch for chunk in pieces],
            seqs=[chunk.seq for chunk in pieces],
            texts=[storable(chunk.text) for chunk in pieces],
        )

    async def put_artifact(self, artifact: Artifact) -> None:
        """Keep a file under its task and name; a later one replaces it."""
        await self._database.fetch(
            Line.DESK,
            "put_artifact",
            repeat=True,
            id=artifact.task,
            name=storable(artifact.name),
            content_type=storable(artifact.content_type),
            data=artifact.data,
            now=self._now(),
        )
