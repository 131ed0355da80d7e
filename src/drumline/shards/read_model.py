"""The read model of the front: each note goes to the read model of its task's shard."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from drumline.core.errors import Unavailable
from drumline.core.ids import JobId, TaskId
from drumline.core.slots import slot_of
from drumline.core.state import Status
from drumline.ports.read_model import JobNote, LetterNote, Note, ReadModel
from drumline.ports.store import LogChunk
from drumline.shards.queue import by_shard
from drumline.shards.shard_set import ShardSet

T = TypeVar("T")


class RoutedReadModel:
    """`ports.read_model.ReadModel` over those of all shards; a shard without one has none of its tasks noted."""

    def __init__(self, shards: ShardSet) -> None:
        self._shards = shards

    def note(self, notes: Iterable[Note]) -> None:
        """Write where tasks stand."""
        for model, some in self._split((note.task, note) for note in notes):
            model.note(some)

    def renew(self, note: Note) -> None:
        """Write what an operator changed."""
        for model, _ in self._split([(note.task, note)]):
            model.renew(note)

    def note_job(self, note: JobNote) -> None:
        """Write the status of a job."""
        for model, _ in self._split([(note.job, note)]):
            model.note_job(note)

    def note_letters(self, notes: Sequence[LetterNote]) -> None:
        """Write which tasks have a dead letter."""
        for model, some in self._split((note.task, note) for note in notes):
            model.note_letters(some)

    async def caught_up(self) -> None:
        """Wait while any of them has hardly room for more."""
        for model in self._models():
            await model.caught_up()

    def keep(self, tasks: Sequence[TaskId]) -> None:
        """Keep the notes of tasks that are still being run."""
        for model, some in self._split((task, task) for task in tasks):
            model.keep(some)

    async def keep_waiting(self, tasks: Sequence[tuple[TaskId, Status]]) -> list[TaskId] | None:
        """Keep the notes of tasks that wait, and return those of which nothing is known."""
        unknown: list[TaskId] = []
        for model, some in self._split((task, (task, status)) for task, status in tasks):
            found = await model.keep_waiting(some)
            if found is None:
                return None
            unknown += found
        return unknown

    async def keep_jobs(self, jobs: Sequence[JobId]) -> None:
        """Keep the notes of jobs that have not ended."""
        for model, some in self._split((job, job) for job in jobs):
            await model.keep_jobs(some)

    async def may_keep(self, seconds: float) -> bool:
        """Tell whether no other process has renewed notes lately: each shard's own duty does that."""
        return all([await model.may_keep(seconds) for model in self._models()])

    async def check(self) -> None:
        """Raise `Unavailable` if one takes no notes."""
        for shard in self._shards:
            if shard.engine.read_model is not None:
                try:
                    await shard.engine.read_model.check()
                except Unavailable as error:
                    raise Unavailable(f"shard {shard.name}: {error.message}") from error

    def log(self, chunks: Sequence[LogChunk]) -> None:
        """Copy pieces of logs."""
        for model, some in self._split((chunk.task, chunk) for chunk in chunks):
            model.log(some)

    async def status(self, tasks: Sequence[TaskId]) -> list[Status | None]:
        """Return where tasks stand, as far as that is known.

        Nothing is said of a task whose slot another shard has now: it may have been moved there, and goes on
        without the read model that would be asked.
        """
        known: dict[TaskId, Status | None] = {}
        for model, some in self._split((task, task) for task in tasks if self._is_at_home(task)):
            known |= dict(zip(some, await model.status(some), strict=True))
        return [known.get(task) for task in tasks]

    async def close(self) -> None:
        """Do nothing: the shards' engines close theirs."""

    def _is_at_home(self, task: TaskId) -> bool:
        shard_map = self._shards.map
        return shard_map.entry(slot_of(task)).shard == shard_map.holder(task)

    def _models(self) -> list[ReadModel]:
        return [shard.engine.read_model for shard in self._shards if shard.engine.read_model is not None]

    def _split(self, things: Iterable[tuple[str, T]]) -> Iterator[tuple[ReadModel, list[T]]]:
        """Return things by the read model of their shard."""
        for shard, some in by_shard(self._shards, things):
            if shard.engine.read_model is not None:
                yield shard.engine.read_model, some
