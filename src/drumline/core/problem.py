"""Problem replies of the HTTP API (RFC 9457): the API writes them, clients turn them back into errors."""

import re
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from drumline.core.errors import (
    Conflict,
    DrumlineError,
    Fenced,
    Forbidden,
    Invalid,
    KeyReused,
    NotFound,
    Overloaded,
    QuotaExceeded,
    RateLimited,
    Unauthorized,
    Unavailable,
    Unreadable,
)
from drumline.core.views import View

_TAG: Final = re.compile(r"<[^>]*>?")
_BY_CODE: Final[dict[str, type[DrumlineError]]] = {
    error.code: error
    for error in (
        Conflict,
        Fenced,
        Forbidden,
        KeyReused,
        NotFound,
        Overloaded,
        QuotaExceeded,
        RateLimited,
        Unauthorized,
        Unavailable,
        Unreadable,
    )
}
_BY_STATUS: Final[dict[int, type[DrumlineError]]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    429: Overloaded,
}


class Problem(View, frozen=True, kw_only=True):
    """Why a request was refused. `code` is stable; `field` names the input at fault, where there is one."""

    type: str = ""
    title: str = ""
    status: int = 0
    code: str = ""
    detail: str = ""
    field: str | None = None
    request_id: str | UnsetType = UNSET

    def error(self) -> DrumlineError:
        """Return the error that the problem tells of."""
        message = self.detail or self.title or f"the server answered {self.status}"
        message = message.removeprefix(f"{self.field}: ")
        known = _BY_CODE.get(self.code) or _BY_STATUS.get(self.status)
        if known is not None:
            return known(message, field=self.field)
        if self.status >= 500:
            return Unavailable(message, field=self.field)
        return Invalid(message, field=self.field, code=self.code or None)


def error_of(status: int, body: bytes) -> DrumlineError:
    """Return the error behind a reply, also when something between us and Drumline wrote it."""
    try:
        problem = msgspec.json.decode(body, type=Problem)
    except msgspec.DecodeError:
        text = body[:200].decode(errors="replace").strip()
        if text.startswith("<"):
            text = f"a web page ({' '.join(_TAG.sub(' ', text).split())}); check the address, and any proxy before it"
        problem = Problem(detail=f"the server answered {status}: {text}" if text else "")
    return msgspec.structs.replace(problem, status=status).error()
