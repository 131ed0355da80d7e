"""Which headers an `http` task may set: any except those for framing and for the connection.

Two lengths, or a length beside `Transfer-Encoding`, are read differently by different servers: what one takes for the
body, the next takes for another request, over a connection that other tenants use too.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from drumline.core.errors import Invalid

HTTP: Final = "http"
"""The name of the tasks that make requests."""

FRAMING: Final = frozenset(
    {
        "connection", "content-length", "host", "http2-settings", "keep-alive", "proxy-authenticate",
        "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
"""Headers that only the client itself may set."""
ONE_REQUEST: Final = frozenset({"basic", "bearer", "digest", "token", "apikey", "aws4-hmac-sha256"})
"""Kinds of `Authorization` that hold for one request. Others, such as NTLM, sign in the whole connection."""

_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}")
_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")


def check_header(name: str, value: object, *, field: str) -> None:
    """Raise `Invalid` for a header that a task may not set; a value that is no text is filled in later."""
    if _NAME.fullmatch(name) is None or (isinstance(value, str) and _VALUE.fullmatch(value) is None):
        raise Invalid("must be a header's name and one line of printable text", field=f"{field}.{name[:100]}")
    if name.lower() in FRAMING:
        raise Invalid(
            "is not for a task to set: the URL, the body and the client say it", field=f"{field}.{name.lower()}"
        )


def check_given_headers(payload: Any) -> None:
    """Raise `Invalid` if the payload of an `http` task, as it was submitted, has a header that it may not set."""
    headers = payload.get("headers") if isinstance(payload, Mapping) else None
    if isinstance(headers, Mapping):
        for name, value in headers.items():
            check_header(name, value, field="payload.headers")


def signs_in_connection(headers: Mapping[str, str]) -> bool:
    """Tell whether a request has credentials that may hold for all that comes over its connection."""
    given = next((value for name, value in headers.items() if name.lower() == "authorization"), None)
    return given is not None and given.strip().partition(" ")[0].lower() not in ONE_REQUEST
