"""What the Python types of requests about flow limits cannot say."""

from typing import Final

from drumline.api.notes import given, line
from drumline.api.schema import Schema
from drumline.core.flow import MOST_CONCURRENT
from drumline.core.names import LONGEST_NAME, LONGEST_QUEUE

_NULL: Final[Schema] = {"type": "null"}


def limit_notes() -> dict[str, Schema]:
    """Return the notes about limits."""
    return {
        "LimitRequest": {
            "allOf": [
                {"anyOf": [given("queue"), given("task")]},
                {"anyOf": [given("max_concurrent"), given("rate")]},
            ]
        },
        "LimitRequest.queue": {
            "anyOf": [
                {"type": "string", "maxLength": LONGEST_QUEUE, "pattern": r"^[A-Za-z0-9][A-Za-z0-9_.:@-]*$"},
                _NULL,
            ],
            "description": "The queue that it is about; without one every queue.",
        },
        "LimitRequest.task": {
            "anyOf": [line(LONGEST_NAME), _NULL],
            "description": "The task name that it is about; without one every name.",
        },
        "LimitRequest.max_concurrent": {
            "anyOf": [{"type": "integer", "minimum": 1, "maximum": MOST_CONCURRENT}, _NULL],
            "description": "How many may run at once, over all workers.",
        },
        "LimitRequest.rate": {
            "anyOf": [{"type": "string", "pattern": r"^[1-9][0-9]{0,3}/([1-9][0-9]{0,3}(s|m)|1h|1d|s|m|h|d)$"}, _NULL],
            "description": "How many may start in any stretch of a time.",
            "examples": ["50/s", "100/10m"],
        },
        "LimitRequest.key": {
            "anyOf": [{"type": "string", "pattern": r"^(limit_key|payload(\.[A-Za-z0-9_-]{1,40}){1,5})$"}, _NULL],
            "description": "Count for each key by itself: `limit_key`, or where in the payload it is.",
            "examples": ["limit_key", "payload.customer_id"],
        },
    }
