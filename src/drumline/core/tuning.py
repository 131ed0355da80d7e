"""Engine options that may change while it runs."""

from msgspec import Struct

from drumline.core.retry import DEFAULT_RETRY, RetryDefaults
from drumline.core.task_type import PayloadMode


class Tuning(Struct, frozen=True, kw_only=True):
    """What an operator may change at any time. Seconds and counts."""

    poll: float = 1.0
    """Seconds between two checks of a waiting claim that got no wake-up."""
    submit_batch: int = 500
    """Tasks in one transaction at most: more would cost each of them no less, and two at once keep both sides busy."""
    claim_batch: int = 50
    """Claims in one statement at most."""
    retry: RetryDefaults = DEFAULT_RETRY
    """For tasks that say nothing else."""
    paused_queues: frozenset[str] = frozenset()
    """Queues that the schedulers keep paused, for every tenant."""
    paused_names: frozenset[str] = frozenset()
    """Task names that are not handed out."""
    payload_check: PayloadMode = PayloadMode.REFUSE
    """What becomes of payloads that do not fit their type."""


DEFAULT_TUNING = Tuning()
