"""A worker's right to one attempt."""

from msgspec import Struct

from drumline.core.ids import TaskId


class Lease(Struct, frozen=True, array_like=True, gc=False, cache_hash=True):
    """The fence of one attempt: the store accepts a report only from the task's current lease.

    `epoch` rises with every claim, reap, release, cancel, reschedule and retry, and never falls. `nonce` is random
    per claim: it tells two claims apart even if a database failover has forgotten the first and reused its epoch.
    """

    task: TaskId
    epoch: int
    nonce: int
