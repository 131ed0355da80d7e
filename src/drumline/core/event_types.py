"""Every type of event, with its description. The reference page is made from this file."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

TASK_CHANGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "drumline.task.submitted": "A task was accepted.",
        "drumline.task.unblocked": "The last of those it needs has ended as it should: it waits to be claimed.",
        "drumline.task.claimed": "A worker has taken it: an execution has begun.",
        "drumline.task.completed": "It has ended well.",
        "drumline.task.retried": "An execution failed; it will be tried again at `due_at`.",
        "drumline.task.failed": "It has failed for good: there is a dead letter.",
        "drumline.task.snoozed": "An execution asked to be run later; it does not count.",
        "drumline.task.parked": "An execution waits for a time or a signal: it has ended, and does not count.",
        "drumline.task.restarted": "An execution has begun a new round of it: it runs from the start, with another "
        "payload and without the records of the round that is over.",
        "drumline.task.woken": "A signal that it waits for has come: it waits to be claimed.",
        "drumline.task.released": "A worker gave it back unfinished; the execution does not count.",
        "drumline.task.reaped": "The worker died; it will be run by another.",
        "drumline.task.cancel_requested": "Its cancellation was requested; its worker is informed.",
        "drumline.task.cancelled": "It was cancelled.",
        "drumline.task.skipped": "Something that it needs did not end as it should, so it will not run.",
        "drumline.task.rescheduled": "Its due time or its priority was changed.",
        "drumline.task.requeued": "It was queued again after its end.",
        "drumline.task.resumed": "It runs again, or waits for its parents again, because its job was resumed.",
    }
)
"""Changes of tasks: their data is a `TaskChange`."""

FACTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "drumline.task.recorded": "A step, a sleep or a wait of a task was recorded, or the failure of a step.",
        "drumline.task.signalled": "A signal to a task was accepted.",
        "drumline.task.forked": "A new task was made that begins with records of this one.",
        "drumline.task.edited": "A task was given another payload, to run again with it.",
        "drumline.dead_letter.discarded": "The dead letter of a task was discarded.",
        "drumline.failure_group.triaged": "A failure group was acknowledged, resolved, ignored, opened again, or given "
        "a note or an owner; its subject is the fingerprint.",
        "drumline.signal.received": "A signal by correlation was accepted; its subject is the key.",
        "drumline.job.submitted": "A job was accepted.",
        "drumline.job.started": "The first of its tasks was claimed.",
        "drumline.job.completed": "All its tasks have ended well.",
        "drumline.job.failed": "A task of it failed, or a job that it depends on.",
        "drumline.job.cancelled": "It was cancelled.",
        "drumline.job.resumed": "It was resumed: what failed of it runs again.",
        "drumline.schedule.created": "A schedule was made.",
        "drumline.schedule.edited": "A schedule was changed.",
        "drumline.schedule.paused": "A schedule fires no more, for now.",
        "drumline.schedule.resumed": "A paused schedule fires again.",
        "drumline.schedule.deleted": "A schedule was deleted.",
        "drumline.schedule.fired": "It was time: a task or job was made.",
        "drumline.schedule.queued": "It was time, and the last run had not ended: the next one waits.",
        "drumline.schedule.skipped": "It was time, and the run was left out.",
        "drumline.schedule.finished": "A schedule has fired for the last time.",
        "drumline.bulk.started": "An act on many tasks has begun.",
        "drumline.bulk.completed": "An act on many tasks is done.",
        "drumline.bulk.aborted": "A bulk operation was stopped.",
        "drumline.worker.opened": "A worker has come.",
        "drumline.worker.draining": "A worker was asked to finish what it holds and leave.",
        "drumline.worker.undrained": "The draining of a worker was undone: it takes tasks again.",
        "drumline.worker.closed": "A worker has left in order.",
        "drumline.worker.reaped": "A worker was not heard of for too long; what it held is given to others.",
        "drumline.queue.paused": "A queue's tasks are not handed out any more.",
        "drumline.queue.resumed": "A queue's tasks are handed out again.",
        "drumline.alert.fired": "An alert fires.",
        "drumline.alert.resolved": "An alert that fired does not any more, or was changed, paused or deleted.",
        "drumline.secret.set": "A secret's value was set.",
        "drumline.secret.deleted": "A secret was deleted.",
        "drumline.key.created": "An API key was made.",
        "drumline.key.disabled": "An API key opens nothing, for now.",
        "drumline.key.enabled": "A disabled API key opens again.",
        "drumline.key.revoked": "An API key opens nothing any more.",
        "drumline.key.rotated": "An API key was made to replace another.",
        "drumline.config.changed": "The runtime configuration was changed.",
    }
)
"""Changes of everything else: their data is an object with what is worth telling."""

DEAD_LETTERS: Final[Mapping[str, str]] = MappingProxyType(
    {"drumline.dead_letter.created": "A task has failed for good. Only on the topic of dead letters."}
)
"""What is sent to Kafka apart from the rest: the data is a `DeadLetterMessage`."""
