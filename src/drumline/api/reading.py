"""Reading requests: bodies with a hard limit, queries by name, and errors that name the field at fault."""

import functools
import re
from datetime import datetime
from typing import Annotated, Any, NamedTuple, TypeVar, get_origin
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct
from starlette.types import Receive

from drumline.api.locate import path_at, path_of_deepest
from drumline.api.problems import Refused
from drumline.api.request_bytes import HeldBytes
from drumline.core.clock import Instant, to_instant
from drumline.core.codec import explain
from drumline.core.duration import millis, parse_duration
from drumline.core.errors import Invalid
from drumline.core.json_errors import suggestion

T = TypeVar("T")
S = TypeVar("S", bound=Struct)

_BYTE = re.compile(r"\(byte (\d+)\)")
_TAKEN = frozenset(
    {
        b"",
        b"application/json",
        b"text/json",
        b"text/plain",
        b"application/octet-stream",
        b"application/x-www-form-urlencoded",  # what `curl -d` says of everything; keys, not cookies, keep forms out
    }
)
_MOST_PARAMETERS = 100
_LONGEST_UNTIL = 10 * 366 * 24 * 3_600_000
_LONGEST_LENGTH = 18
"""Digits of a length that are worth reading."""


class ClientGone(Exception):
    """The client closed the connection before its request was read."""


class AnyQuery(Struct, frozen=True):
    """Whatever parameters there are: for those who are sent here by others, and bring what those like to add."""

    given: dict[str, str] = {}


class Bounds(NamedTuple):
    """How large a body may be, and the field that is to blame if it is larger."""

    largest: int
    field: str = "body"


async def read_body(receive: Receive, bounds: Bounds, *, length: bytes | None, held: HeldBytes) -> bytes:
    """Return the body, or refuse it as soon as it is known to be too large, or to have no room in memory."""
    if length is not None and length.isdigit():
        if len(length) > _LONGEST_LENGTH or int(length) > bounds.largest:
            raise _too_large(bounds)
        held.expect(int(length))
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > bounds.largest:
            raise _too_large(bounds)
        held.add(len(part))
        if not message.get("more_body", False):
            return b"".join((*parts, part)) if parts else part
        parts.append(part)


def check_length(length: int, bounds: Bounds) -> None:
    """Refuse a body that is too large."""
    if length > bounds.largest:
        raise _too_large(bounds)


def check_media(media: bytes | None) -> None:
    """Refuse what is surely not JSON, such as a file upload; a missing type is taken for JSON."""
    essence = (media or b"").partition(b";")[0].strip().lower()
    if essence in _TAKEN or essence.endswith(b"+json"):
        return
    raise Refused(
        f"{essence.decode('latin-1')} is not taken; send JSON with Content-Type: application/json",
        code="unsupported_media_type",
        field="Content-Type",
    )


def decode_body(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    """Return the body as the decoder's type, or raise `Invalid` naming the field at fault."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise explain_body(error, body, type=decoder.type) from error


class _Key:
    """A member's name that equals no other, so that a name which is there twice is not lost."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


_MEMBERS = msgspec.json.Decoder(dict[_Key, msgspec.Raw], dec_hook=lambda _type, text: _Key(text))


def members_of(raw: msgspec.Raw, *, field: str) -> dict[str, msgspec.Raw]:
    """Return the members of a JSON object as they are, or raise `Invalid` for a name that is there twice."""
    try:
        pairs = _MEMBERS.decode(raw)
    except msgspec.ValidationError as error:
        raise Invalid("must be an object, with a name for each", field=field) from error
    members: dict[str, msgspec.Raw] = {}
    for key, value in pairs.items():
        if key.text in members:
            raise Invalid(f"has {key.text!r} twice", field=f"{field}.{key.text}", code="duplicate_key")
        members[key.text] = value
    return members


def explain_body(error: Exception, body: bytes, *, type: Any = None) -> Invalid:
    """Return the `Invalid` for a body that could not be decoded."""
    if not body.strip():
        return Invalid("is empty; a JSON object is needed", field="body", code="malformed")
    invalid = explain(error, type=type)
    if isinstance(error, RecursionError):
        return Invalid(invalid.message, field=path_of_deepest(body) or "body", code=invalid.code)
    if invalid.code == "malformed":
        return Invalid(invalid.message, field=_place(error, body) or "body", code=invalid.code)
    return Invalid(invalid.message, field=invalid.field or "body", code=invalid.code)


def read_query(text: bytes, type: type[S]) -> S:
    """Return a query string as its struct, or raise `Invalid` naming the parameter at fault."""
    if not text:
        return type()
    many = _repeatable(type)
    values: dict[str, Any] = {}
    for name, value in _pairs(text):
        if name in many:
            values.setdefault(name, []).extend(part for part in value.split(",") if part)
        elif name in values:
            raise Invalid("is given more than once", field=name)
        else:
            values[name] = value
    known = type.__struct_encode_fields__
    for name in values:
        if name not in known:
            raise Invalid("is not a parameter of this path" + suggestion(name, known), field=name)
    try:
        query = msgspec.convert(values, type, strict=False)
    except msgspec.ValidationError as error:
        raise explain(error, type=type) from error
    _refuse_null(query, values)
    return query


def read_any_query(text: bytes) -> AnyQuery:
    """Return a query string as it is; of a parameter that is given more than once, the last."""
    return AnyQuery(dict(_pairs(text)))


def _refuse_null(query: Struct, values: dict[str, Any]) -> None:
    """Refuse the text null: it would be read as no value, and the filter would silently not apply."""
    for written, name in zip(query.__struct_encode_fields__, query.__struct_fields__, strict=True):
        if written in values and getattr(query, name) is None:
            raise Invalid("must not be null; leave it out instead", field=written)


def read_time(text: str, *, field: str) -> Instant:
    """Return a time that a query names, or raise `Invalid`; a bare number, which could be anything, is none."""
    try:
        return to_instant(msgspec.convert(text, datetime), field=field)
    except msgspec.ValidationError as error:
        raise explain(error, field=field, type=datetime) from error


def read_until(given: str | float, now: Instant, *, field: str) -> Instant:
    """Return a time in the future, written as a time or as a duration from now, or raise `Invalid`."""
    is_time = isinstance(given, str) and "T" in given and not given.startswith("P")
    until = read_time(str(given), field=field) if is_time else Instant(
        now + millis(parse_duration(given, field=field))
    )  # fmt: skip
    if not now < until <= now + _LONGEST_UNTIL:
        raise Invalid("must be in the future, and within ten years", field=field)
    return until


def _pairs(text: bytes) -> list[tuple[str, str]]:
    try:
        pairs = parse_qsl(
            text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS
        )
    except ValueError as error:  # bytes that are no UTF-8, or far too many parameters
        raise Invalid("cannot be read", field="query", code="malformed") from error
    return pairs


@functools.cache
def _repeatable(type: type[Struct]) -> frozenset[str]:
    fields = msgspec.structs.fields(type)
    return frozenset(field.encode_name for field in fields if _origin(field.type) is tuple)


def _origin(type: Any) -> Any:
    """Return what a generic type is made from, whatever is noted about it: `tuple` for a tuple of texts."""
    origin = get_origin(type)
    return _origin(type.__origin__) if origin is Annotated else origin


def _place(error: Exception, body: bytes) -> str | None:
    byte = _BYTE.search(str(error))
    if byte:
        return path_at(body, int(byte[1]))
    try:
        body.decode()
    except UnicodeDecodeError as wrong:
        return path_at(body, wrong.start)
    return None


def _too_large(bounds: Bounds) -> Invalid:
    reason = f"is too large; a request may have at most {bounds.largest:,} bytes"
    return Invalid(reason, field=bounds.field, code="too_large")
