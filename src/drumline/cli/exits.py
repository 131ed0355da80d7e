"""What the exit status says. The numbers are promised: scripts depend on them."""

from enum import IntEnum

from drumline.core.errors import (
    Conflict,
    DrumlineError,
    Forbidden,
    Invalid,
    KeyReused,
    NotFound,
    Overloaded,
    QuotaExceeded,
    RateLimited,
    Unauthorized,
    Unavailable,
)


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0  # done, an empty list included
    FAILED = 1  # something went wrong
    USAGE = 2  # not understood, not valid, or not confirmed
    NOT_FOUND = 3  # no such task, job, queue or worker
    AUTH = 4  # no key, or not one that may do this
    TASK_FAILED = 5  # the awaited task or job failed
    TASK_CANCELLED = 6  # the awaited task or job was cancelled, or the task skipped
    TIMED_OUT = 7  # the waiting ended before the task or job did
    UNREACHABLE = 8  # no answer from the server
    CONFLICT = 9  # the state does not allow it, or the key is taken
    INTERRUPTED = 130  # Ctrl-C


_CODES: tuple[tuple[type[DrumlineError], ExitCode], ...] = (
    (KeyReused, ExitCode.CONFLICT),
    (Invalid, ExitCode.USAGE),
    (NotFound, ExitCode.NOT_FOUND),
    (Conflict, ExitCode.CONFLICT),
    (Unauthorized, ExitCode.AUTH),
    (Forbidden, ExitCode.AUTH),
    (RateLimited, ExitCode.FAILED),
    (QuotaExceeded, ExitCode.FAILED),
    (Overloaded, ExitCode.UNREACHABLE),
    (Unavailable, ExitCode.UNREACHABLE),
)

_ENDINGS = {
    "COMPLETED": ExitCode.OK,
    "FAILED": ExitCode.TASK_FAILED,
    "CANCELLED": ExitCode.TASK_CANCELLED,
    "SKIPPED": ExitCode.TASK_CANCELLED,
}


def exit_code_of(error: DrumlineError) -> ExitCode:
    """Return the status that tells of `error`."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), ExitCode.FAILED)


def exit_code_for(status: str) -> ExitCode:
    """Return the status that tells how an awaited task or job ended; one that has not was not waited for enough."""
    return _ENDINGS.get(status, ExitCode.TIMED_OUT)
