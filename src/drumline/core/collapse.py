"""Collapse at submission: what a submission becomes when an earlier one of the same key is still in effect.

Collapse ──accept_collapse()──▶ CollapseRule ──decide()──▶ Create | Merge | Drop

The stores hold one row for each key, locked while they ask `decide`; both go by this one rule.
"""

from enum import StrEnum
from hashlib import sha256
from typing import Annotated, ClassVar, Literal

from msgspec import Struct

from drumline.core.duration import millis, parse_duration
from drumline.core.errors import Invalid
from drumline.core.field_schema import Schema, about, duration, given, line
from drumline.core.ids import TaskId
from drumline.core.names import LONGEST_NAME, check_text

Keep = Literal["latest", "first"]
While = Literal["queued", "running"]

KINDS = ("debounce", "throttle", "singleton", "unique")
TIMED = frozenset({"debounce", "throttle"})
"""Those that decide themselves when the task is due."""
LEAST_MS = 1
MOST_MS = 366 * 86_400_000


class Collapse(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """When a submission makes no task of its own, because an earlier one of its key stands for it.

    Give exactly one of `debounce`, `throttle`, `singleton` and `unique`.
    """

    SCHEMA: ClassVar[Schema] = {"oneOf": [given(kind) for kind in KINDS]}

    debounce: Annotated[
        float | str | None,
        duration("Run once, so long after the last submission of the key.", least=0.001),
    ] = None
    throttle: Annotated[
        float | str | None,
        duration("Run the first at once, and all that come within the time as one at its end.", least=0.001),
    ] = None
    singleton: Annotated[
        While | None,
        about("Make none while one of the key is queued, or (`running`) is queued or running."),
    ] = None
    unique: Annotated[
        float | str | None,
        duration("Make one within the time, whatever becomes of it.", least=0.001),
    ] = None
    key: Annotated[
        str | None,
        line(description="What submissions have in common, within their name; unless said, their payload."),
    ] = None
    at_most: Annotated[
        float | str | None,
        duration("With `debounce`: run at the latest so long after the first submission.", least=0.001),
    ] = None
    keep: Annotated[
        Keep | None,
        about("With `debounce` and `throttle`: whose payload the task has, `latest` (unless said) or `first`."),
    ] = None

    @property
    def kind(self) -> str:
        """The one that is given, or raises `Invalid`."""
        said = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(said) != 1:
            raise Invalid("must have exactly one of debounce, throttle, singleton and unique", field="collapse")
        return said[0]


class CollapseRule(Struct, frozen=True, gc=False):
    """A `Collapse` that was checked."""

    kind: str
    key: str
    """With the name of the task and the kind of rule before it."""
    period_ms: int = 0
    at_most_ms: int | None = None
    keeps_latest: bool = True
    counts_running: bool = False


class CollapsedInto(StrEnum):
    """What a submission did that made no task of its own."""

    REPLACED = "replaced"  # the waiting task has its payload now
    POSTPONED = "postponed"  # the waiting task keeps its payload and runs later
    DROPPED = "dropped"  # nothing has changed


class KnownTask(Struct, frozen=True, gc=False):
    """The last task of a key, and what is noted with it."""

    task: TaskId
    first_at: int
    until: int
    due_at: int = 0
    is_fresh: bool = False
    """Whether it waits and has never started."""
    is_queued: bool = False
    is_running: bool = False


class Create(Struct, frozen=True, gc=False):
    """Make a task; `due_at` is when it is due, None as it says itself."""

    first_at: int
    until: int
    due_at: int | None = None


class Merge(Struct, frozen=True, gc=False):
    """Let the known task stand for it, due at another time."""

    due_at: int
    how: CollapsedInto


class Drop(Struct, frozen=True, gc=False):
    """Let the known task stand for it as it is."""


def collapse_key(name: str, payload: bytes, collapse: Collapse) -> str:
    """Return the key under which submissions of a task collapse: by its name, the kind of rule, and what it says.

    Without a key that is the digest of its payload. A rule that is not valid has a key, too: it is refused later.
    """
    kind = next((kind for kind in KINDS if getattr(collapse, kind) is not None), "")
    said = collapse.key
    if said is None:
        said = f"payload {sha256(payload).hexdigest()[:40]}"
    return f"{name}\n{kind}\n{said}"


def accept_collapse(name: str, payload: bytes, collapse: Collapse) -> CollapseRule:
    """Return a checked rule, or raise `Invalid` naming the field at fault."""
    kind = collapse.kind
    if collapse.key is not None:
        check_text(collapse.key, field="collapse.key", longest=LONGEST_NAME)
    if collapse.at_most is not None and kind != "debounce":
        raise Invalid("goes with debounce only", field="collapse.at_most")
    if collapse.keep is not None and kind not in TIMED:
        raise Invalid("goes with debounce and throttle only", field="collapse.keep")
    period = 0 if kind == "singleton" else _period(getattr(collapse, kind), field=f"collapse.{kind}")
    at_most = None if collapse.at_most is None else _period(collapse.at_most, field="collapse.at_most")
    if at_most is not None and at_most < period:
        raise Invalid("must be at least as long as debounce", field="collapse.at_most")
    return CollapseRule(
        kind,
        collapse_key(name, payload, collapse),
        period,
        at_most,
        collapse.keep != "first",
        collapse.singleton == "running",
    )


def _period(value: float | str, *, field: str) -> int:
    found = millis(parse_duration(value, field=field))
    if not LEAST_MS <= found <= MOST_MS:
        raise Invalid("must be from 0.001 s to 366 days", field=field)
    return found


def decide(rule: CollapseRule, known: KnownTask | None, now: int) -> Create | Merge | Drop:
    """Return what a submission becomes at `now`, by what is known of its key."""
    match rule.kind:
        case "debounce":
            return _debounce(rule, known, now)
        case "throttle":
            return _throttle(rule, known, now)
        case "singleton":
            stands = known is not None and (known.is_queued or (rule.counts_running and known.is_running))
            return Drop() if stands else Create(now, now)
        case _:
            return Drop() if known is not None and now < known.until else Create(now, now + rule.period_ms)


def _debounce(rule: CollapseRule, known: KnownTask | None, now: int) -> Create | Merge | Drop:
    due_at = now + rule.period_ms
    if known is None or not known.is_fresh:
        return Create(now, due_at, due_at)
    if rule.at_most_ms is not None:
        # One whose time has come is about to start: it is not put off any more.
        due_at = max(min(due_at, known.first_at + rule.at_most_ms), min(known.due_at, now))
    how = CollapsedInto.REPLACED if rule.keeps_latest else CollapsedInto.POSTPONED
    return Merge(due_at, how)


def _throttle(rule: CollapseRule, known: KnownTask | None, now: int) -> Create | Merge | Drop:
    if known is None:
        return Create(now, now + rule.period_ms)
    if known.is_fresh:
        return Merge(known.due_at, CollapsedInto.REPLACED) if rule.keeps_latest else Drop()
    if now < known.until:
        return Create(known.until, known.until + rule.period_ms, known.until)
    return Create(now, now + rule.period_ms)
