"""JSON in and out, with limits. Decoding is validating: errors name the field by its path."""

import re
from typing import Any, Final, TypeVar

import msgspec

from drumline.core.errors import Invalid
from drumline.core.json_errors import choices_at, fields_at, reword, suggestion

T = TypeVar("T")

NUL: Final = b"\\u0000"
"""NUL as JSON writes it; behind a backslash it is something else, and harmless."""

_ENCODER = msgspec.json.Encoder()
_CANONICAL = msgspec.json.Encoder(order="deterministic")
_ANY = msgspec.json.Decoder()
_AT = " - at `"
_UNKNOWN = "Object contains unknown field `"
_MISSING = "Object missing required field `"
_LIMITED: Final = frozenset({"payload", "result"})
"""Fields whose largest size is a setting of the same name."""
_LONGEST_TEXT = 500
"""Characters that are read of the beginning and of the end of an error: in between may be what the caller sent."""
_LONGEST_FIELD = 100
"""Characters of a caller's name that an error message repeats."""
_MOST_FIELDS = 8
"""Known fields that an error about an unknown one lists."""
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_SQUARE = bytes.maketrans(b"{}", b"[]")


def encode(value: Any) -> bytes:
    """Return `value` as JSON; structs, datetimes, UUIDs, Decimals and enums are understood."""
    return _ENCODER.encode(value)


def encode_canonical(value: Any) -> bytes:
    """Return `value` as JSON with sorted keys, so that equal values give equal bytes."""
    return _CANONICAL.encode(value)


def without_nul(value: Any) -> Any:
    """Return a value in whose texts NUL is replaced, since PostgreSQL cannot store it."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {without_nul(name): without_nul(inner) for name, inner in value.items()}
    return [without_nul(inner) for inner in value] if isinstance(value, list) else value


def decode(data: bytes | str, type: type[T], *, field: str | None = None) -> T:
    """Return `data` as `type`, or raise `Invalid` naming the field inside it."""
    try:
        return msgspec.json.decode(data, type=type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise explain(error, field=field, type=type) from error


def explain(error: Exception, *, field: str | None = None, type: Any = None) -> Invalid:
    """Return the `Invalid` that tells a caller, by field, why the JSON could not be read as `type`."""
    if isinstance(error, RecursionError):
        return Invalid("is nested too deeply", field=field or "body", code="too_deep")
    if isinstance(error, UnicodeDecodeError):
        return Invalid("is not valid UTF-8", field=field or "body", code="malformed")
    reason, inner = _parted(cut(str(error), _LONGEST_TEXT))
    unknown, missing = _named(reason, _UNKNOWN), _named(reason, _MISSING)
    parts = [part for part in (field, inner, cut(unknown or missing, _LONGEST_FIELD)) if part]
    code = "invalid" if isinstance(error, msgspec.ValidationError) else "malformed"
    if not parts and code == "malformed":
        parts = ["body"]
    if code == "malformed":
        reason = f"is not JSON: {reason[:1].lower()}{reason[1:]}"
    else:
        reason = reword(reason, choices=choices_at(type, inner))
        reason += _known(unknown, fields_at(type, inner)) if unknown else ""
    return Invalid(reason, field=_joined(parts), code=code)


def _known(unknown: str, fields: tuple[str, ...]) -> str:
    """Return the field that was probably meant; if there is none, those that there are."""
    near = suggestion(unknown, fields)
    return near or (f"; known fields: {', '.join(fields)}" if 0 < len(fields) <= _MOST_FIELDS else "")


def cut(text: str, most: int) -> str:
    """Return a text; of one that is longer than twice `most`, the first and the last so many characters."""
    return text if len(text) <= 2 * most else f"{text[:most]} … {text[-most:]}"


def _parted(text: str) -> tuple[str, str]:
    """Return an error without the place that it ends with, and that place as a path inside the value."""
    reason, at, place = text.rpartition(_AT)
    if not at or not place.endswith("`"):
        return text.removeprefix("JSON is malformed: "), ""
    path = place[:-1].removeprefix("key` in `").removeprefix("$").removeprefix(".").replace("[...]", "")
    return reason.removeprefix("JSON is malformed: "), path


def _named(reason: str, phrase: str) -> str:
    """Return the name at the end of a reason that begins with a phrase, or nothing."""
    return reason[len(phrase) : -1] if reason.startswith(phrase) and reason.endswith("`") else ""


def _joined(parts: list[str]) -> str | None:
    """Return a path such as `tasks[3].notify[0].on`; an index follows its field without a dot."""
    return ".".join(parts).replace(".[", "[") or None


def check_json(raw: bytes, *, field: str, largest: int, deepest: int) -> Any:
    """Return the value of a JSON text, or raise `Invalid` if it is too large, too deep or not JSON."""
    check_bounds(raw, field=field, largest=largest, deepest=deepest)
    return read_json(raw, field=field)


def check_bounds(raw: bytes, *, field: str, largest: int, deepest: int) -> None:
    """Raise `Invalid` if a JSON text is too large or too deep."""
    if len(raw) > largest:
        remedy = f": keep it elsewhere and pass its address, or raise limits.{field}" if field in _LIMITED else ""
        raise Invalid(
            f"is {len(raw):,} bytes of JSON; at most {largest:,} are accepted{remedy}", field=field, code="too_large"
        )
    # Each level is a bracket that opens and one that closes: what is short cannot be deep.
    if len(raw) > 2 * deepest and raw.count(b"[") + raw.count(b"{") > deepest and is_deeper(raw, deepest):
        raise Invalid(f"is nested more than {deepest} levels deep", field=field, code="too_deep")


def read_json(raw: bytes, *, field: str) -> Any:
    """Return the value of a JSON text, or raise `Invalid` if it is not JSON."""
    try:
        return _ANY.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise explain(error, field=field) from error


def is_deeper(raw: bytes, levels: int) -> bool:
    """Tell whether a JSON text nests deeper than `levels`, without building its value."""
    brackets = _STRING.sub(b"", raw).translate(_SQUARE, _NOT_BRACKETS)
    # Each round takes off the innermost level; every round is a copy at memory speed, so no input is slow.
    for _ in range(levels):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)
