"""The result of a task that has not run yet: it is written in arguments in place of the value.

A type checker sees the value itself, so that the wiring of a job is checked like any call. Fields and items of the
value can be named (`out.rows[0]`); whatever would need the value here and now says so.
"""

import re
from collections.abc import Collection
from secrets import token_hex
from typing import Any, Final, NoReturn, cast

import msgspec

from drumline.core.errors import Invalid
from drumline.core.references import LITERAL, RESULT, SECRET
from drumline.sdk.arguments import argument_hook
from drumline.sdk.finite import refuse_not_finite
from drumline.sdk.secret import TOKEN, looks_like_secret

_STEP: Final = re.compile(r"[^.\[\]]+")
_SPECIAL: Final = tuple(f'"{word}"'.encode() for word in (RESULT, LITERAL, SECRET))


class Placeholder:
    """What a task of a job will have given back, or a part of it."""

    __slots__ = ("_key", "_owner", "_path")

    def __init__(self, owner: object, key: str, path: str = "") -> None:
        self._owner = owner
        self._key = key
        self._path = path

    def __getattr__(self, name: str) -> "Placeholder":
        if name.startswith("__"):  # what Python itself looks for
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, step: str | int) -> "Placeholder":
        if isinstance(step, bool) or not isinstance(step, str | int):
            raise TypeError(f"{self!r} can be asked for an item by its name or number, not by {step!r}")
        if isinstance(step, int):
            return Placeholder(self._owner, self._key, f"{self._path}[{step}]")
        if _STEP.fullmatch(step) is None:
            raise TypeError(f"{self!r} cannot be asked for {step!r}: a name in a path has no dots or brackets")
        return Placeholder(self._owner, self._key, f"{self._path}.{step}")

    def __repr__(self) -> str:
        return f"<result of {self._key}{self._path}>"

    def _unknown(self, *_: object, **__: object) -> NoReturn:
        raise TypeError(
            f"the result of {self._key!r} is not known before the job has run: "
            "hand it to another task of the job, and let that one work with it"
        )

    def __iter__(self) -> NoReturn:
        raise TypeError(
            f"the length of the result of {self._key!r} is not known before the job has run, so it cannot be gone "
            "through: hand it to one task, or to dag.map for a task for each of its items"
        )

    # A placeholder that passed for a value would be written into a payload, or decide a branch, in silence.
    __bool__ = __len__ = __contains__ = __call__ = __str__ = __format__ = _unknown
    __int__ = __float__ = __index__ = __neg__ = __abs__ = __round__ = _unknown
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _unknown
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _unknown
    __floordiv__ = __mod__ = __pow__ = __and__ = __or__ = _unknown
    __hash__ = object.__hash__


def place(owner: object, key: str) -> Any:
    """Return a placeholder for a task's result; what it is for type checkers, its user says."""
    return cast("Any", Placeholder(owner, key))


class ReferenceEncoder:
    """Writes the arguments of one task, with references where placeholders stand."""

    def __init__(self, owner: object, keys: Collection[str]) -> None:
        self.parents: dict[str, None] = {}
        """The tasks whose results were used, each once, in order."""
        self._owner = owner
        self._keys = keys
        self._mark = f"{RESULT}{token_hex(16)}"
        self._encoder = msgspec.json.Encoder(enc_hook=self._write)

    def encode(self, value: Any) -> bytes:
        """Return a value as JSON; data that happens to look like a reference is marked as none."""
        written = self._encoder.encode(value)
        refuse_not_finite(written, value, self._write, field="payload")
        if any(word in written for word in _SPECIAL):
            written = msgspec.json.encode(self._escaped(msgspec.json.decode(written)))
        return written.replace(self._mark.encode(), RESULT.encode()).replace(TOKEN.encode(), SECRET.encode())

    def _write(self, value: Any) -> Any:
        if not isinstance(value, Placeholder):
            return argument_hook(value)
        if value._owner is not self._owner or value._key not in self._keys:  # noqa: SLF001 - its other half
            raise Invalid(f"{value!r} belongs to another job; a task can take results of its own job only")
        self.parents[value._key] = None  # noqa: SLF001
        return {self._mark: f"{value._key}{value._path}"}  # noqa: SLF001

    def _escaped(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._escaped(each) for each in value]
        if not isinstance(value, dict):
            return value
        if not _looks_special(value):
            return {name: self._escaped(each) for name, each in value.items()}
        written = msgspec.json.encode(value)
        if self._mark.encode() in written or TOKEN.encode() in written:
            raise Invalid(f"an object with nothing but {next(iter(value))} in it cannot hold results or secrets")
        return {LITERAL: value}


def _looks_special(value: dict[str, Any]) -> bool:
    is_reference = len(value) == 1 and (LITERAL in value or isinstance(value.get(RESULT), str))
    return is_reference or looks_like_secret(value)
