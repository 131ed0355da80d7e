"""Redaction: payload values under names such as `password` are not shown.

A field whose name matches one of the patterns, in letters of either case and with or without `-` and `_`, is shown as
`[redacted]` whatever is in it, unless that is empty or a reference to a secret. The stored payload stays as it is, and
so does what the worker gets.

A caller who edits a redacted payload sends `[redacted]` back: it means the old value.
"""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Raw

from drumline.core.codec import decode, encode
from drumline.core.errors import Invalid
from drumline.core.globs import Globs
from drumline.core.json_place import JsonPlace
from drumline.core.references import SECRET

REDACTED: Final = "[redacted]"
DEFAULT_FIELDS: Final = (
    "*password*",
    "*passwd*",
    "passphrase",
    "*secret*",
    "*token",
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "*api_key*",
    "*access_key*",
    "*private_key*",
    "credentials",
)
"""Patterns of names, in which `*` stands for anything."""
MOST_KNOWN: Final = 10_000
"""Names whose answer is cached: programs use the same few over and over."""
LONGEST_KNOWN: Final = 64
"""Characters of the longest name whose answer is cached, so that the cache takes no more than some megabytes."""

_SEPARATORS: Final = str.maketrans("", "", "-_")


class Redaction:
    """Some rules, ready to be used."""

    def __init__(self, fields: Sequence[str] = DEFAULT_FIELDS) -> None:
        self._globs = Globs(map(_plain, fields)) if fields else None
        self._known: dict[str, bool] = {}

    def hides(self, name: str) -> bool:
        """Tell whether values under a name are hidden."""
        if self._globs is None:
            return False
        known = self._known.get(name)
        if known is None:
            known = self._globs.match(_plain(name))
            if len(name) <= LONGEST_KNOWN and len(self._known) < MOST_KNOWN:
                self._known[name] = known
        return known

    def value(self, value: Any) -> Any:
        """Return a value as it is shown."""
        if isinstance(value, list):
            return [self.value(each) for each in value]
        if not isinstance(value, dict) or SECRET in value:
            return value
        return {
            name: REDACTED if self.hides(name) and _is_telling(each) else self.value(each)
            for name, each in value.items()
        }

    def payload(self, payload: Raw) -> Raw:
        """Return a payload as it is shown; one with nothing to hide comes back as it was."""
        if self._globs is None:
            return payload
        before = decode(bytes(payload), object)
        after = self.value(before)
        return payload if after == before else Raw(encode(after))

    def restored(self, payload: Raw, original: Raw) -> Raw:
        """Return an edited payload with its hidden values restored; `Invalid` if there was no such value."""
        if self._globs is None or REDACTED.encode() not in bytes(payload):
            return payload
        place = JsonPlace("payload")
        after = self._restored(decode(bytes(payload), object), decode(bytes(original), object), place)
        return Raw(encode(after))

    def _restored(self, value: Any, original: Any, place: JsonPlace) -> Any:
        if isinstance(value, list):
            others = original if isinstance(original, list) else []
            return [
                self._restored(each, others[number] if number < len(others) else None, place / number)
                for number, each in enumerate(value)
            ]
        if not isinstance(value, dict):
            return value
        known = original if isinstance(original, dict) else {}
        restored = {}
        for name, each in value.items():
            if each == REDACTED and self.hides(name):
                if name not in known:
                    raise Invalid(f"is {REDACTED}, and there is nothing it could stand for", field=str(place / name))
                restored[name] = known[name]
            else:
                restored[name] = self._restored(each, known.get(name), place / name)
        return restored


def _plain(name: str) -> str:
    return name.lower().translate(_SEPARATORS)


def _is_telling(value: Any) -> bool:
    return value not in (None, "", [], {}) and not (isinstance(value, dict) and SECRET in value)


DEFAULT_REDACTION: Final = Redaction()
