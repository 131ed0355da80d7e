"""How a running task steers its own fate: what to raise inside a task.

Signal
├── Retry       this attempt failed; try again, at a time of the task's choosing     (counts as an attempt)
├── Permanent   this task can never succeed; do not try again
└── Snooze      not now; run this attempt again later                                (does not count)

They are no `DrumlineError`s: an `except DrumlineError` around a submission inside a task must not swallow them.
"""

from datetime import timedelta

from drumline.core.duration import Duration, parse_duration


class Signal(Exception):
    """The root of what a task raises to say what should become of it."""


class Retry(Signal):
    """This attempt failed; try again, after this long instead of the task's own backoff where `after` is given."""

    def __init__(self, message: str = "", *, after: Duration | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.after: timedelta | None = None if after is None else parse_duration(after, field="after")


class Permanent(Signal):
    """This task can never succeed: it fails now, whatever retries are left."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message = message


class Snooze(Signal):
    """Run this attempt again after a while; it does not use up an attempt."""

    def __init__(self, delay: Duration) -> None:
        super().__init__(delay)
        self.delay: timedelta = parse_duration(delay, field="delay")


class Cancelled(BaseException):
    """The cancellation of the task was requested, and the task checked for it (`Context.raise_if_cancelled`).

    Like `asyncio.CancelledError` it is no `Exception`, so that a task's own `except Exception` lets it through.
    """


class Parked(BaseException):
    """The attempt of a durable task has ended, because it has nothing to do but wait; its function is left here.

    It is no `Exception`, so that a task's own `except Exception` lets it through. What a task does in `finally` is done
    each time that it begins to wait.
    """


class Restarted(Parked):
    """The round of a durable task has ended by `ctx.restart`; its function is left here.

    Tests that call the function without a worker find in `payload` what the next round would be given.
    """

    def __init__(self, payload: bytes = b"") -> None:
        super().__init__(payload)
        self.payload = payload
