"""Everything Drumline raises on purpose.

DrumlineError
├── Invalid               the caller's input cannot be accepted        → HTTP 422 (413 when too large)
│   └── KeyReused         an idempotency key came back with another body
├── NotFound              no such task, worker, queue, artifact …      → HTTP 404
├── Conflict              the task is not in a state for it            → HTTP 409
│   ├── BlobMissing       a large payload or result is not in the blob store
│   ├── Fenced            another attempt owns the task now
│   └── Unreadable        what is sealed cannot be opened
├── Unauthorized          no key, or not a valid one                   → HTTP 401
├── Forbidden             a valid key that may not do this             → HTTP 403
├── Overloaded            too much is waiting already; try again       → HTTP 503
│   ├── RateLimited       the key, or the address, asks too often      → HTTP 429
│   └── QuotaExceeded     the tenant has as much as it may have        → HTTP 429
└── Unavailable           a backend cannot be reached; try again       → HTTP 503
    └── Moved             another shard takes new work of this slot

Each carries a stable `code`; `field` names the offending input, where there is one.
"""


class DrumlineError(Exception):
    """The root: catch it to catch everything Drumline raises on purpose."""

    code = "error"

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class Invalid(DrumlineError):
    """The caller's input cannot be accepted; nothing was stored."""

    code = "invalid"

    def __init__(self, message: str, *, field: str | None = None, code: str | None = None) -> None:
        super().__init__(message, field=field)
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        # A reason such as "must be zero or more" says nothing without its subject.
        return f"{self.field}: {self.message}" if self.field else self.message

    def __repr__(self) -> str:  # what a list of the answers of `submit_many` shows
        return f"{type(self).__name__}({str(self)!r})"


class KeyReused(Invalid):
    """The idempotency key belongs to an earlier submission with a different body."""

    code = "idempotency_key_reused"


class NotFound(DrumlineError):
    """There is no such thing, or not for this caller."""

    code = "not_found"


class Conflict(DrumlineError):
    """The thing exists but is not in a state that allows the act."""

    code = "conflict"


class BlobMissing(Conflict):
    """A blob is not in the blob store, was changed there, or no blob store is set; the message names it."""


class Fenced(Conflict):
    """The lease is not the task's current one: another attempt owns the task now."""

    code = "fenced"


class Unreadable(Conflict):
    """Encrypted data cannot be decrypted: its key is missing here, or the data was changed."""

    code = "unreadable"


class Unauthorized(DrumlineError):
    """No key was given, or not a valid one."""

    code = "unauthorized"


class Forbidden(DrumlineError):
    """The key is valid but may not do this."""

    code = "forbidden"


class Overloaded(DrumlineError):
    """Too much is waiting already; the caller should slow down and try again."""

    code = "overloaded"

    def __init__(self, message: str, *, field: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message, field=field)
        self.retry_after = retry_after
        """Seconds after which it is worth trying again, where that is known."""


class RateLimited(Overloaded):
    """The key or the address has exceeded its rate limit; nothing was done."""

    code = "rate_limited"


class QuotaExceeded(Overloaded):
    """The tenant has as much as it may have; nothing was stored."""

    code = "quota_exceeded"


class Unavailable(DrumlineError):
    """A backend cannot be reached right now; nothing was decided, try again."""

    code = "unavailable"


class Moved(Unavailable):
    """The database does not take new work of this slot any more, or not yet; nothing was stored, ask the map again."""

    code = "moved"
