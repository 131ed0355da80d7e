"""Why an attempt is stopped before it ended by itself, and what is reported then."""

from enum import StrEnum

from drumline.core.outcome import ErrorInfo, Failed, Outcome, Released, Stopped


class StopReason(StrEnum):
    """Why an attempt was asked to stop."""

    TIMED_OUT = "timed out"  # its own timeout
    CANCELLED = "cancelled"  # the task was cancelled
    RELEASED = "released"  # the worker is leaving
    LOST = "lost"  # the lease is not current any more: stop at once and report nothing


def outcome_of(reason: StopReason, *, timeout: float | None) -> Outcome | None:
    """Return what to report of an attempt that was stopped; nothing if it may not report any more."""
    match reason:
        case StopReason.TIMED_OUT:
            return Failed(ErrorInfo("timeout", f"the attempt took more than its {timeout or 0:g} s"))
        case StopReason.CANCELLED:
            return Stopped()
        case StopReason.RELEASED:
            return Released()
        case StopReason.LOST:
            return None
