"""The words for the states of a task, and which of Drumline's each is."""

from typing import Final

from drumline.core.state import Status

PENDING: Final = "PENDING"
RECEIVED: Final = "RECEIVED"
STARTED: Final = "STARTED"
SUCCESS: Final = "SUCCESS"
FAILURE: Final = "FAILURE"
REVOKED: Final = "REVOKED"
RETRY: Final = "RETRY"
READY_STATES: Final = frozenset({SUCCESS, FAILURE, REVOKED})
UNREADY_STATES: Final = frozenset({PENDING, RECEIVED, STARTED, RETRY})
EXCEPTION_STATES: Final = frozenset({RETRY, FAILURE, REVOKED})
PROPAGATE_STATES: Final = frozenset({FAILURE, REVOKED})

OF_STATUS: Final = {
    Status.PENDING: PENDING,
    Status.QUEUED: PENDING,
    Status.PROCESSING: STARTED,
    Status.COMPLETED: SUCCESS,
    Status.FAILED: FAILURE,
    Status.CANCELLED: REVOKED,
    Status.SKIPPED: FAILURE,
}
"""A task that was skipped because one before it failed counts as failed, with the error of that one."""
