"""What the Python types of the stream's parameters cannot say of them."""

from typing import Final

from drumline.api.notes import line
from drumline.api.schema import Schema
from drumline.core.interest import MOST_WORDS
from drumline.core.names import LONGEST_NAME, LONGEST_QUEUE, LONGEST_TAG

_TYPE: Final[Schema] = {
    "type": "string",
    "pattern": r"^(drumline\.)?[a-z_]{1,40}(\.([a-z_]{1,40}|\*))?$",
    "examples": ["task.failed", "job", "drumline.worker.reaped"],
}
_ID: Final[Schema] = {"type": "string", "pattern": "^[0-9a-f]{8}-[0-9]{1,18}-[0-9]{1,9}$"}


def event_notes() -> dict[str, Schema]:
    """Return the notes."""
    return {
        "EventQuery.type": _several(_TYPE, "Kinds of events such as `task.failed`, or `task` for all about tasks."),
        "EventQuery.name": _several(line(LONGEST_NAME), "Names of tasks, jobs or schedules."),
        "EventQuery.queue": _several(line(LONGEST_QUEUE), "Queues."),
        "EventQuery.job": _several(line(LONGEST_NAME), "Ids of jobs: for themselves and for their tasks."),
        "EventQuery.tag": _several(line(LONGEST_TAG), "Tags."),
        "EventQuery.status": {"maxItems": MOST_WORDS, "description": "Where a task or job stood after the change."},
        "EventQuery.subject": _several(line(LONGEST_NAME), "Ids of tasks, jobs, workers …"),
        "EventQuery.last_event_id": {
            **_ID,
            "description": "The same as the header `Last-Event-ID`, for those who cannot set one.",
        },
    }


def _several(item: Schema, description: str) -> Schema:
    return {"items": item, "maxItems": MOST_WORDS, "description": description}
