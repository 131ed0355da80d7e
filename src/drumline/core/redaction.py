"""Redaction: payload values under names such as `password` are not shown.

A field whose name matches one of the patterns, in letters of either case and with or without `-` and `_`, is shown as
`[redacted]` whatever is in it, unless that is empty or a reference to a secret. The stored payload stays as it is, and
so does what the worker gets.

A caller who edits a redacted payload sends `[redacted]` back: it means the old value.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import Raw
from msgspec.structs import replace

from drumline.core.accept_job import name_of
from drumline.core.codec import decode, encode
from drumline.core.errors import Invalid
from drumline.core.globs import Globs
from drumline.core.json_place import JsonPlace
from drumline.core.references import SECRET
from drumline.core.schedule import ScheduleTarget

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


NOTHING = Raw(b"{}")


def redacted_target(target: ScheduleTarget, redaction: Redaction) -> ScheduleTarget:
    """Return a schedule's target with hidden values redacted."""
    return _changed(target, lambda payload, _field: redaction.payload(payload))


def restored_target(target: ScheduleTarget, original: ScheduleTarget, redaction: Redaction) -> ScheduleTarget:
    """Return an edited target with its hidden values restored; `Invalid` if there was no such value.

    It is put back for a task of the same name only: another would do something else with it.
    """
    before, after = _names(original), _names(target)
    tasks = {field: payload for field, (name, payload) in before.items() if after.get(field, ("",))[0] == name}

    def restore(payload: Raw, field: str) -> Raw:
        try:
            return redaction.restored(payload, tasks.get(field, NOTHING))
        except Invalid as error:
            raise Invalid(error.message, field=f"{field}.{error.field}") from error

    return _changed(target, restore)


def hidden_in(target: ScheduleTarget) -> str | None:
    """Return where a payload asks for what its author was not shown; None if nowhere."""
    mark = REDACTED.encode()
    return next((field for field, (_, payload) in _names(target).items() if mark in bytes(payload)), None)


def _names(target: ScheduleTarget) -> dict[str, tuple[str, Raw]]:
    """Return the name and payload of each task that a target makes, by its field."""
    if target.task is not None:
        return {"task": (target.task.name, target.task.payload)}
    if target.job is None:
        return {}
    return {f"job.tasks.{key}": (name_of(key, task), task.payload) for key, task in target.job.tasks.items()}


def _changed(target: ScheduleTarget, change: Callable[[Raw, str], Raw]) -> ScheduleTarget:
    if target.task is not None:
        return replace(target, task=replace(target.task, payload=change(target.task.payload, "task")))
    if target.job is None:
        return target
    tasks = {
        key: replace(task, payload=change(task.payload, f"job.tasks.{key}")) for key, task in target.job.tasks.items()
    }
    return replace(target, job=replace(target.job, tasks=tasks))
