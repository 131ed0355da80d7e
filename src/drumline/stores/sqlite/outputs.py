"""What tasks leave behind while they run: logs and files."""

from collections.abc import Sequence

from drumline.engine.off_loop import off_loop
from drumline.ports.store import Artifact, LogChunk
from drumline.stores.sqlite.access import Access, batch_of


class Outputs(Access):
    """The logging part of `ports.store.Executing` on SQLite."""

    async def append_log(self, chunks: Sequence[LogChunk]) -> None:
        """Keep pieces of logs; a piece that is there already is kept once."""
        rows = [(chunk.task, chunk.epoch, chunk.seq, chunk.text) for chunk in chunks]
        batch = await off_loop(sum(len(chunk.text) for chunk in chunks), lambda: batch_of(rows))
        await self._change("append_log", {"batch": batch})

    async def put_artifact(self, artifact: Artifact) -> None:
        """Keep a file under its task and name; a later one replaces it."""
        row = (artifact.task, artifact.name, artifact.content_type, self._now(), artifact.data)
        await self._change("put_artifact", row)
