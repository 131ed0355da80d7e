"""Which waiting tasks a live worker could run."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.session import SessionView


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
