"""A live worker's registration, and what it says while it lives."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Final

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.field_schema import line
from drumline.core.ids import SessionId, TaskId
from drumline.core.lease import Lease
from drumline.core.task_type import TypeDefaults

SESSION_TTL = 15.0
"""Seconds without a beat after which a session is taken for dead."""
BEAT_EVERY = 5.0
MOST_MEMORY: Final = 1 << 50
"""Bytes that a worker may say it uses, and cores: what is more is a mistake."""
MOST_CORES: Final = 100_000


class TaskType(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A kind of task that a worker can run, as it publishes it."""

    name: Annotated[str, line()]
    doc: str = ""
    schema: dict[str, object] | None = None
    """JSON Schema of the payload, where the worker knows it."""
    defaults: TypeDefaults | None = None
    """What its code declares for submissions that do not say otherwise; None leaves what is known as it is."""


class SessionSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a worker says of itself when it starts."""

    host: str
    pid: int
    version: str
    """The version of Drumline, or of a worker in another language."""
    app_version: str = ""
    """The applications that it runs with their versions, such as `shop 1.4.2, billing 7`; empty if not known."""
    queues: tuple[str, ...]
    """The queues it serves; empty means all of them."""
    types: tuple[TaskType, ...]
    capacity: int
    tenant: str | None = None
    """The tenant it works for; None means all."""
    label: str = ""
    key: str = ""
    """The id of the key that opened it, where it was opened over HTTP."""
    paused: tuple[str, ...] = ()
    """Task names that the configuration of its process pauses (`pauses.names`): it is handed none of them."""
    is_copy: bool = False
    """Whether another shard tells of its opening and end: events of a worker are written once, not by every shard."""

    @property
    def names(self) -> tuple[str, ...]:
        """The task names it can run."""
        return tuple(type_.name for type_ in self.types)

    def serves(self, tenant: str | None) -> bool:
        """Tell whether it works for a tenant; always for None."""
        return tenant is None or self.tenant in {None, tenant}


class Usage(Struct, frozen=True, kw_only=True, gc=False):
    """Memory and processor time that the process of a worker and its child processes use; None where not known."""

    memory: int | None = None
    """Bytes that are resident. Pages that processes share are counted for each."""
    cpu: float | None = None
    """Processor time between the last two heartbeats, as a share of one core: 1.5 is one and a half cores."""


NO_USAGE: Final = Usage()


class Beat(Struct, frozen=True, kw_only=True):
    """A sign of life: the session, and every lease it believes it holds.

    A lease is held from the claim's answer until its settlement is acknowledged.
    """

    session: SessionId
    held: tuple[Lease, ...] = ()
    usage: Usage = NO_USAGE
    again: bool = False
    """Whether the beat before was not answered: both may come at once, and be older than a claim's answer."""


class BeatReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the store knows better.

    `is_open` false means that the session has expired: its tasks may be claimed by other workers.
    """

    is_open: bool
    lost: tuple[TaskId, ...] = ()
    cancelled: tuple[TaskId, ...] = ()
    should_drain: bool = False


class Stops(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The attempts that should stop now: whose leases are not current any more, and whose tasks were cancelled."""

    lost: tuple[TaskId, ...] = ()
    cancelled: tuple[TaskId, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether there are any."""
        return bool(self.lost or self.cancelled)


class SessionView(Struct, frozen=True, kw_only=True):
    """A worker in its current state, as the API shows it."""

    id: SessionId
    spec: SessionSpec
    opened_at: Instant
    beat_at: Instant
    beat: int
    held: int
    should_drain: bool = False
    closed_at: Instant | None = None
    usage: Usage = NO_USAGE
    """What its last heartbeat said; it stays when the worker has left."""


class Served(Struct, frozen=True):
    """What of a queue's due tasks no live worker can run, and since when the oldest of the others waits."""

    unserved: int
    oldest_due_at: Instant | None


def served_of(
    waiting: Iterable[tuple[str, int, Instant]], *, tenant: str, queue: str, workers: Sequence[SessionView]
) -> Served:
    """Return how a queue is served: `waiting` has the name, the number and the oldest due time of each type."""
    able = {
        name
        for worker in workers
        if worker.spec.serves(tenant) and (not worker.spec.queues or queue in worker.spec.queues)
        for name in worker.spec.names
    }
    rows = list(waiting)
    return Served(
        unserved=sum(count for name, count, _ in rows if name not in able),
        oldest_due_at=min((oldest for name, _, oldest in rows if name in able), default=None),
    )
