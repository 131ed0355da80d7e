"""Every error as a problem reply (RFC 9457): one table from stable codes to status and title."""

from collections.abc import Mapping
from math import ceil
from types import MappingProxyType
from typing import Final

from msgspec import UNSET, UnsetType

from drumline.core.codec import cut
from drumline.core.errors import DrumlineError, Invalid, Overloaded
from drumline.core.problem import Problem

Headers = tuple[tuple[bytes, bytes], ...]

PROBLEMS: Final[Mapping[str, tuple[int, str]]] = MappingProxyType(
    {
        "malformed": (400, "The request cannot be read"),
        "unauthorized": (401, "A valid API key is needed"),
        "forbidden": (403, "This key may not do that"),
        "not_found": (404, "There is no such thing"),
        "unknown_path": (404, "There is no such path"),
        "method_not_allowed": (405, "This path does not take that method"),
        "too_slow": (408, "The request took too long to come"),
        "conflict": (409, "The state does not allow it"),
        "fenced": (409, "The lease is not current"),
        "unreadable": (409, "A secret cannot be opened"),
        "too_large": (413, "The request is too large"),
        "url_too_long": (414, "The URL is too long"),
        "unsupported_media_type": (415, "The content type is not taken"),
        "invalid": (422, "A field is not valid"),
        "too_deep": (422, "The JSON nests too deeply"),
        "cycle": (422, "The tasks form a cycle"),
        "duplicate_key": (422, "An object has a name twice"),
        "too_many": (422, "There are too many of them"),
        "idempotency_key_reused": (422, "The idempotency key belongs to another request"),
        "headers_too_large": (431, "The headers are too large"),
        "rate_limited": (429, "Too many requests"),
        "quota_exceeded": (429, "The tenant's quota is used up"),
        "internal": (500, "Something went wrong here"),
        "overloaded": (503, "Too much is waiting"),
        "unavailable": (503, "A part of the system is away"),
        "moved": (503, "Another shard takes this over"),
    }
)

LONGEST_FIELD: Final = 500
LONGEST_DETAIL: Final = 2000
"""Half of the characters that a problem has at most of a field's path, and of what is wrong with it."""

_EXTRA: Final[Mapping[str, Headers]] = MappingProxyType(
    {
        "unauthorized": ((b"www-authenticate", b'Bearer realm="drumline"'),),
        "overloaded": ((b"retry-after", b"1"),),
        "quota_exceeded": ((b"retry-after", b"5"),),
        "unavailable": ((b"retry-after", b"2"),),
        "moved": ((b"retry-after", b"1"),),
    }
)


class Refused(DrumlineError):
    """The request cannot be served as it came, whatever the engine would say to it."""

    def __init__(self, message: str, *, code: str, field: str | None = None, headers: Headers = ()) -> None:
        super().__init__(message, field=field)
        self.code = code
        self.headers = headers


def to_problem(error: DrumlineError, *, request_id: str | UnsetType = UNSET) -> Problem:
    """Return the problem that tells a caller of `error`."""
    code = _known_code(error)
    status, title = PROBLEMS[code]
    # What a caller made up stands in both; a caller gets back no more of it than a person reads.
    field = None if error.field is None else cut(error.field, LONGEST_FIELD)
    message = cut(error.message, LONGEST_DETAIL)
    detail = f"{field}: {message}" if field and isinstance(error, Invalid) else message
    return Problem(
        type=f"/errors/{code}",
        title=title,
        status=status,
        code=code,
        detail=detail,
        field=field,
        request_id=request_id,
    )


def headers_of(error: DrumlineError) -> Headers:
    """Return the headers that an error's reply carries besides the usual ones."""
    own = error.headers if isinstance(error, Refused) else ()
    if isinstance(error, Overloaded) and error.retry_after is not None:
        return ((b"retry-after", b"%d" % max(ceil(error.retry_after), 1)),)
    return own + _EXTRA.get(_known_code(error), ())


def _known_code(error: DrumlineError) -> str:
    """Return the error's code, or the nearest one up its tree that the table knows."""
    codes = [error.code, *(getattr(parent, "code", "") for parent in type(error).__mro__)]
    return next((code for code in codes if code in PROBLEMS), "internal")
