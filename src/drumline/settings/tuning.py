"""From what is set to how the engine works."""

from drumline.core.retry import DEFAULT_RETRY, Backoff, RetryDefaults
from drumline.core.task_type import PayloadMode
from drumline.core.tuning import Tuning
from drumline.settings.fields import Settings


def tuning_of(settings: Settings) -> Tuning:
    """Return how the engine is to work."""
    tasks, tune = settings.tasks, settings.tune
    backoff = Backoff(
        base=tasks.backoff_base, factor=tasks.backoff_factor, cap=tasks.backoff_cap, jitter=tasks.backoff_jitter
    )
    retry = RetryDefaults(retries=tasks.retries, backoff=backoff)
    return Tuning(
        poll=tune.poll.total_seconds(),
        submit_batch=tune.submit_batch,
        claim_batch=tune.claim_batch,
        # The very same object where nothing is set, so that an identity check finds the common case.
        retry=DEFAULT_RETRY if retry == DEFAULT_RETRY else retry,
        paused_queues=frozenset(settings.pauses.queues),
        paused_names=frozenset(settings.pauses.names),
        payload_check=PayloadMode(tasks.payload_check),
    )
