"""Filters of tasks, jobs and failures: what a text such as `status:failed name:charge* duration>5s` means.

    text ──read_filter()──▶ Filter ──narrowing──▶ what an index can find
                                   └─matches()──▶ whether something is meant

A store finds candidates by the narrowing, and compares each with the whole filter here: so both stores, and every
shard, agree on what a filter means, and no text of a caller becomes part of a statement.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.errors import Invalid
from drumline.core.filter_syntax import Operator, Term, scan
from drumline.core.filter_values import (
    Stretch,
    json_test,
    member,
    number_of,
    part_of,
    pattern_of,
    span,
    stretch_of,
    whole,
)
from drumline.core.globs import STAR
from drumline.core.ids import made_at, parse_job_id, parse_session_id
from drumline.core.json_errors import suggestion
from drumline.core.priority import parse_priority

PAYLOAD: Final = "payload."
DEEPEST_PATH: Final = 8
_HEX: Final = frozenset("0123456789abcdef")

Test = Callable[[Any, Instant], bool]
"""Tells whether something fits a condition at a time."""


class Kind(StrEnum):
    """What the values of a field are."""

    STATUS = "status"
    PATTERN = "pattern"
    """Text, in which `*` stands for any; of several texts one has to match."""
    PART = "part"
    """Text that has the value in it, in letters of either case."""
    NUMBER = "number"
    PRIORITY = "priority"
    TIME = "time"
    SPAN = "duration"
    ID = "id"
    """The beginning of an id, or its end behind a `*`."""
    WORKER = "worker"
    JOB = "job"


class Field(NamedTuple):
    """A field that terms can name: the kind of its values, and how it is read."""

    kind: Kind
    read: Callable[[Any, Instant], Any]


class Subject(NamedTuple):
    """What a filter is about: its fields, what text without a field is searched in, and its statuses."""

    fields: Mapping[str, Field]
    texts: Callable[[Any], tuple[str | None, ...]]
    statuses: tuple[str, ...] = ()
    aliases: Mapping[str, str] = {}
    has_payload: bool = False


class Condition(NamedTuple):
    """A term that was understood."""

    field: str
    kind: Kind | None
    term: Term
    test: Test
    meaning: Any = None
    """Its statuses, its stretch of time, or its prefix."""

    def matches(self, subject: Any, now: Instant) -> bool:
        """Tell whether something fits."""
        return self.test(subject, now) != self.term.is_negated


class PartCondition(NamedTuple):
    """A term about text that may be long: all such terms about a field share the text in lower case."""

    field: str
    read: Callable[[Any, Instant], str | None]
    term: Term
    test: Callable[[str], bool]

    def matches(self, lower: str | None) -> bool:
        """Tell whether a text in lower case fits; none fits nothing."""
        return (lower is not None and self.test(lower)) != self.term.is_negated


class PayloadCondition(NamedTuple):
    """A term about a place in the payload."""

    path: tuple[str, ...]
    term: Term
    test: Callable[[Any], bool]

    def matches(self, payload: Any) -> bool:
        """Tell whether a payload fits; a place that is not there fits nothing."""
        return any(map(self.test, member(payload, self.path))) != self.term.is_negated


class Narrowing(Struct, frozen=True, kw_only=True):
    """What of a filter an index can find by; what is None does not narrow."""

    statuses: frozenset[str] | None = None
    exact: Mapping[str, str]
    """Fields that have to have one value."""
    created: Stretch = Stretch()
    ended_since: Instant | None = None


class Filter:
    """A filter that is ready to be used. Times that were given as a distance from now are those of when it was read."""

    def __init__(
        self,
        text: str,
        conditions: tuple[Condition, ...],
        *,
        parts: tuple[PartCondition, ...],
        payload: tuple[PayloadCondition, ...],
        now: Instant,
    ) -> None:
        self.text = text
        self.now = now
        self._conditions = conditions
        self._parts = parts
        self._payload = payload
        self._of_id = tuple(each for each in conditions if each.kind is Kind.ID)
        self._of_lane = tuple(each for each in conditions if each.field in LANE_FIELDS)

    @property
    def needs_payload(self) -> bool:
        """Whether payloads have to be read to tell what matches."""
        return bool(self._payload)

    @property
    def searches_errors(self) -> bool:
        """Whether it looks for text in errors, which may be long."""
        return bool(self._parts)

    @property
    def narrows_lanes(self) -> bool:
        """Whether it names queues, names or priorities."""
        return bool(self._of_lane)

    @property
    def names_status(self) -> bool:
        """Whether it says anything about the status."""
        return any(each.kind is Kind.STATUS for each in self._conditions)

    def covers_lane(self, lane: Any) -> bool:
        """Tell whether tasks of a lane may match."""
        return all(each.matches(_InLane(lane), self.now) for each in self._of_lane)

    def covers_id(self, id: str) -> bool:
        """Tell whether a task with an id may match."""
        return all(each.matches(_WithId(id), self.now) for each in self._of_id)

    def matches(self, subject: Any, now: Instant) -> bool:
        """Tell whether something matches, but for what is said about its payload."""
        return all(each.matches(subject, now) for each in self._conditions) and self._match_parts(subject, now)

    def _match_parts(self, subject: Any, now: Instant) -> bool:
        lower: dict[str, str | None] = {}
        for each in self._parts:
            if each.field not in lower:
                found = each.read(subject, now)
                lower[each.field] = None if found is None else found.lower()
            if not each.matches(lower[each.field]):
                return False
        return True

    def matches_payload(self, payload: Any) -> bool:
        """Tell whether a payload matches."""
        return all(each.matches(payload) for each in self._payload)

    def narrowing(self, statuses: tuple[str, ...]) -> Narrowing:
        """Return what an index can find by; of these statuses, those that are meant."""
        allowed = frozenset(statuses)
        for each in self._conditions:
            if each.kind is Kind.STATUS:
                allowed = allowed - each.meaning if each.term.is_negated else allowed & each.meaning
        meant = [each for each in self._conditions if not each.term.is_negated]
        created = [each.meaning for each in meant if each.field == "created" or each.kind is Kind.ID]
        ended = [each.meaning.since for each in meant if each.field == "ended" and each.meaning.since is not None]
        return Narrowing(
            statuses=allowed if self.names_status else None,
            exact={each.field: _only(each.term) for each in meant if each.kind in _EXACT and _is_literal(each.term)},
            created=Stretch(
                max((each.since for each in created if each.since is not None), default=None),
                min((each.until for each in created if each.until is not None), default=None),
            ),
            ended_since=Instant(max(ended)) if ended else None,
        )


class _InLane(NamedTuple):
    """A task of which only the lane is known."""

    lane: Any


class _WithId(NamedTuple):
    """A task of which only the id is known."""

    id: str


LANE_FIELDS: Final = frozenset({"name", "queue", "priority"})
_EXACT: Final = frozenset({Kind.PATTERN, Kind.WORKER, Kind.JOB})


def read_filter(
    text: str, subject: Subject, *, now: Instant, hides: Callable[[str], bool] = lambda _name: False
) -> Filter:
    """Return what a text means, or raise `Invalid` that names the term, where it is and what is wrong.

    `hides` tells whether values under a name in a payload are redacted: they cannot be searched for, or a caller could
    find them out by asking.
    """
    conditions: list[Condition] = []
    parts: list[PartCondition] = []
    payload: list[PayloadCondition] = []
    for term in scan(text):
        if subject.has_payload and term.field.startswith(PAYLOAD):
            payload.append(_payload_condition(term, hides))
            continue
        condition = _condition(term, subject, now)
        if isinstance(condition, PartCondition):
            parts.append(condition)
        else:
            conditions.append(condition)
    return Filter(text, tuple(conditions), parts=tuple(parts), payload=tuple(payload), now=now)


def _condition(term: Term, subject: Subject, now: Instant) -> Condition | PartCondition:
    if not term.field:
        has = part_of(term.values)
        return Condition(
            "", None, term, lambda each, _now: any(text and has(text.lower()) for text in subject.texts(each))
        )
    name = term.field.lower()
    if name in {"since", "until"}:
        after = Operator.FROM if name == "since" else Operator.BELOW
        term, name = term._replace(operator=after), "created"
    name = subject.aliases.get(name, name)
    field = subject.fields.get(name)
    if field is None:
        known = [*subject.fields, *(["payload.FIELD"] if subject.has_payload else [])]
        near = suggestion(name, known) or f"; there are {', '.join(known)}"
        term.refuse(f"there is no field {term.field[:40]}{near} (Quote text that has a {term.operator} in it.)")
    return _MAKE[field.kind](name, field, term, subject, now)


def _of_status(name: str, field: Field, term: Term, subject: Subject, _now: Instant) -> Condition:
    _only_equality(term)
    wanted = frozenset(value.text.upper() for value in term.values)
    unknown = next(iter(sorted(wanted - frozenset(subject.statuses))), None)
    if unknown is not None:
        choices = [status.lower() for status in subject.statuses]
        near = suggestion(unknown.lower(), choices) or f"; it is one of {', '.join(choices)}"
        term.refuse(f"there is no status {unknown[:40].lower()}{near}")
    return Condition(name, field.kind, term, lambda each, at: field.read(each, at) in wanted, wanted)


def _of_part(name: str, field: Field, term: Term, _subject: Subject, _now: Instant) -> PartCondition:
    _only_equality(term)
    return PartCondition(name, field.read, term, part_of(term.values))


def _of_text(name: str, field: Field, term: Term, _subject: Subject, _now: Instant) -> Condition:
    _only_equality(term)
    fits = pattern_of(term.values)

    def test(each: Any, at: Instant) -> bool:
        found = field.read(each, at)
        return any(map(fits, found)) if isinstance(found, tuple) else found is not None and fits(found)

    return Condition(name, field.kind, term, test)


def _of_number(name: str, field: Field, term: Term, _subject: Subject, _now: Instant) -> Condition:
    parse: Callable[[str], int] = _PARSE.get(field.kind, whole)
    if field.kind is Kind.SPAN and not term.operator.compares:
        term.refuse("takes > or <, such as >5s")
    fits = number_of(term, parse)

    def test(each: Any, at: Instant) -> bool:
        found = field.read(each, at)
        return found is not None and fits(found)

    return Condition(name, field.kind, term, test)


_PARSE: Final[Mapping[Kind, Callable[[str], int]]] = {Kind.PRIORITY: parse_priority, Kind.SPAN: span}


def _of_time(name: str, field: Field, term: Term, _subject: Subject, now: Instant) -> Condition:
    stretch = stretch_of(term, now)
    return Condition(name, field.kind, term, lambda each, at: stretch.has(field.read(each, at)), stretch)


def _of_id(name: str, field: Field, term: Term, _subject: Subject, _now: Instant) -> Condition:
    _only_equality(term)
    texts = [value.text.lower() for value in term.values]
    begins = tuple(_id_prefix(text, term) for text in texts if not text.startswith(STAR))
    ends = tuple(_id_end(text, term) for text in texts if text.startswith(STAR))
    stretches = [_stretch_of_prefix(prefix) for prefix in begins]
    whole_stretch = Stretch()
    if not ends:
        whole_stretch = Stretch(min(one.since or 0 for one in stretches), max(one.until or 0 for one in stretches))

    def test(each: Any, at: Instant) -> bool:
        found: str = field.read(each, at)
        return found.startswith(begins) or found.replace("-", "").endswith(ends)

    return Condition(name, field.kind, term, test, whole_stretch)


def _of_worker(name: str, field: Field, term: Term, _subject: Subject, _now: Instant) -> Condition:
    _only_equality(term)
    parse = parse_session_id if field.kind is Kind.WORKER else parse_job_id
    wanted = frozenset(_read_id(parse, value.text, term) for value in term.values)
    return Condition(name, field.kind, term, lambda each, at: field.read(each, at) in wanted)


def _read_id(parse: Callable[[str], Any], text: str, term: Term) -> Any:
    try:
        return parse(text)
    except Invalid as error:
        term.refuse(error.message)


_MAKE: Final[Mapping[Kind, Callable[[str, Field, Term, Subject, Instant], Condition | PartCondition]]] = {
    Kind.STATUS: _of_status,
    Kind.PATTERN: _of_text,
    Kind.PART: _of_part,
    Kind.NUMBER: _of_number,
    Kind.PRIORITY: _of_number,
    Kind.SPAN: _of_number,
    Kind.TIME: _of_time,
    Kind.ID: _of_id,
    Kind.WORKER: _of_worker,
    Kind.JOB: _of_worker,
}


def _payload_condition(term: Term, hides: Callable[[str], bool]) -> PayloadCondition:
    path = tuple(term.field.removeprefix(PAYLOAD).split("."))
    if not all(path):
        term.refuse("names no place in the payload; write it as payload.order.id")
    if len(path) > DEEPEST_PATH:
        term.refuse(f"goes deeper than {DEEPEST_PATH} fields")
    hidden = next((name for name in path if hides(name)), None)
    if hidden is not None:
        term.refuse(f"values under {hidden} are redacted, and cannot be searched")
    return PayloadCondition(path, term, json_test(term))


def _only_equality(term: Term) -> None:
    if term.operator.compares:
        term.refuse(f"has no order: use {term.field}: instead of {term.operator}")


def _is_literal(term: Term) -> bool:
    first, *rest = term.values
    return not rest and (first.is_quoted or STAR not in first.text)


def _only(term: Term) -> str:
    return term.values[0].text


def _id_prefix(text: str, term: Term) -> str:
    digits = text.lower().replace("-", "").removesuffix(STAR)
    if not digits or len(digits) > 32 or not _HEX.issuperset(digits):
        term.refuse("is not the beginning of an id")
    return _dashed(digits)


def _id_end(text: str, term: Term) -> str:
    digits = text.replace("-", "").removeprefix(STAR)
    if not digits or len(digits) > 32 or not _HEX.issuperset(digits):
        term.refuse("is not the end of an id")
    return digits


def _dashed(digits: str) -> str:
    """Return digits of an id with the dashes that belong among them."""
    cuts = (8, 12, 16, 20)
    return "".join(f"-{digit}" if place in cuts else digit for place, digit in enumerate(digits))


def _stretch_of_prefix(prefix: str) -> Stretch:
    """Return when ids with a prefix were made."""
    digits = prefix.replace("-", "")[:12]
    first, last = _dashed(digits.ljust(12, "0")), _dashed(digits.ljust(12, "f"))
    return Stretch(made_at(first), made_at(last) + 1)
