"""Exchanging parts of an engine that a fixture has made."""

from collections.abc import Iterable, Sequence

from drumline.core.ids import JobId, TaskId
from drumline.core.state import Status
from drumline.engine.engine import Engine
from drumline.ports.read_model import JobNote, LetterNote, Note
from drumline.ports.sealing import Box
from drumline.ports.store import LogChunk


def use_box(engine: Engine, box: Box) -> None:
    """Let an engine seal secrets with a box, as one that was started with other keys would."""
    engine.secrets.box = engine.subscriptions.box = box


class NoReadModel:
    """A read model that keeps nothing; tests override what they watch."""

    def note(self, notes: Iterable[Note]) -> None:
        """Write nothing."""

    def renew(self, note: Note) -> None:
        """Write nothing."""

    def note_job(self, note: JobNote) -> None:
        """Write nothing."""

    def note_letters(self, notes: Sequence[LetterNote]) -> None:
        """Write nothing."""

    async def caught_up(self) -> None:
        """Have nothing to wait for."""

    def keep(self, tasks: Sequence[TaskId]) -> None:
        """Keep nothing."""

    async def keep_waiting(self, _tasks: Sequence[tuple[TaskId, Status]]) -> list[TaskId] | None:
        """Keep nothing."""
        return None

    async def keep_jobs(self, jobs: Sequence[JobId]) -> None:
        """Keep nothing."""

    async def may_keep(self, _seconds: float) -> bool:
        """Have nothing to keep."""
        return False

    async def check(self) -> None:
        """Have nothing to check."""

    def log(self, chunks: Sequence[LogChunk]) -> None:
        """Copy nothing."""

    async def status(self, tasks: Sequence[TaskId]) -> list[Status | None]:
        """Know nothing."""
        return [None] * len(tasks)

    async def close(self) -> None:
        """Have nothing to close."""
