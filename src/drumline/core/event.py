"""Events: what changed, told to whoever listens, as CloudEvents 1.0 in JSON.

A *fact* is a change of anything but a task (a job, a schedule, a worker, a queue, a key …): its store writes it into
the outbox in the transaction that changes it, with all that is worth telling. Changes of tasks are kept as acts.
"""

from typing import Any, Final

from msgspec import Struct

SPEC_VERSION: Final = "1.0"
"""The version of CloudEvents."""
CONTENT_TYPE: Final = "application/json"


class Fact(Struct, frozen=True, array_like=True):
    """Something other than a task has changed."""

    type: str
    """What happened, in the past tense: `drumline.<noun>.<past participle>`, such as `drumline.job.completed`."""
    subject: str
    """The id of what changed. Facts about one subject reach every reader in their order."""
    tenant: str
    """Whose it is; empty for what belongs to nobody, such as a worker that serves everybody."""
    data: dict[str, Any] = {}
    """What is worth telling of it, ready for JSON: times as ISO 8601 in UTC, never a secret."""


class CloudEvent(Struct, frozen=True, kw_only=True):
    """An event as it leaves the house."""

    specversion: str = SPEC_VERSION
    id: str
    """The same however often an event is told; no two events share one."""
    source: str
    type: str
    time: str
    """When it happened: ISO 8601, UTC."""
    subject: str
    """The id of the task, job, schedule … that changed."""
    tenant: str
    sequence: str
    """Rises with every event, hence for each subject; compares as text."""
    datacontenttype: str = CONTENT_TYPE
    data: dict[str, Any]
