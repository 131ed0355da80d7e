"""What an act sets off: hints of tasks worth offering, and what followed in jobs."""

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.ids import JobId, TaskId
from drumline.core.job import JobStatus
from drumline.core.state import State
from drumline.core.task import Lane
from drumline.ports.claim import Claim


class Hint(Struct, frozen=True, gc=False):
    """A task worth offering: the store queued it, in this lane, due at this time."""

    task: TaskId
    lane: Lane
    due_at: Instant
    is_due: bool = False
    """Whether it was due when the store queued it, whatever other clocks say."""


class Effects(Struct, frozen=True, kw_only=True):
    """What acts on tasks or jobs led to in the jobs that they belong to. It is committed with them.

    `released` are tasks that wait to be claimed now; `moved` those that were skipped or cancelled, or wait for others
    again; `jobs` those whose status changed. Where one transaction carries out a list of acts, what all of them led to
    together stands with one of the answers.
    """

    released: tuple[Hint, ...] = ()
    moved: tuple[tuple[TaskId, State], ...] = ()
    jobs: tuple[tuple[JobId, JobStatus], ...] = ()
    renews: bool = False
    """Whether the tasks had ended before, and were brought back to life."""
    epochs: tuple[tuple[TaskId, int], ...] = ()
    """The epochs that tasks have after it, of those that ended or were brought back to life."""

    versions: tuple[tuple[JobId, int], ...] = ()
    """The versions that jobs have after it, of those whose status changed: the higher one came later."""
    claim: Claim | None = None
    """What was released and leased at once to a claim that waited; it is not among `released`."""

    def __add__(self, other: "Effects") -> "Effects":
        """Return what both led to, in their order."""
        return Effects(
            released=self.released + other.released,
            moved=self.moved + other.moved,
            jobs=self.jobs + other.jobs,
            renews=self.renews or other.renews,
            epochs=self.epochs + other.epochs,
            versions=self.versions + other.versions,
            claim=self.claim or other.claim,
        )

    def __bool__(self) -> bool:
        """Tell whether there was anything."""
        return bool(self.released or self.moved or self.jobs or self.claim)


NO_EFFECTS = Effects()
