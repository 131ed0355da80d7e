"""Triage of failure groups: what people have decided about failures of one cause.

Only decisions are stored. That a resolved group has regressed, or that it is ignored no longer, follows from when its
last task failed and from what time it is: nothing has to be written when it happens.
"""

import re
from enum import StrEnum
from typing import Final

from msgspec import Struct

from drumline.core.clock import Instant, moment_of
from drumline.core.errors import Invalid
from drumline.core.event import Fact

LONGEST_NOTE: Final = 2000
LONGEST_OWNER: Final = 255
MOST_TRIAGED: Final = 10_000
"""Groups of one tenant whose triage is kept; the ones changed longest ago are dropped."""
NOTE_PATTERN: Final = r"^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*$"

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Decision(StrEnum):
    """What was decided about a group."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    IGNORED = "ignored"


class GroupState(StrEnum):
    """Where a group stands now."""

    OPEN = "open"
    """Nothing was decided, or it is ignored no longer."""
    ACKNOWLEDGED = "acknowledged"
    """Somebody takes care of it."""
    RESOLVED = "resolved"
    """Its cause was removed, and it has not been seen since."""
    REGRESSED = "regressed"
    """It was resolved, and a task has failed with it since."""
    IGNORED = "ignored"
    """It is to be left alone until a time."""


class Triage(Struct, frozen=True, kw_only=True):
    """What was decided about a group, and by whom."""

    fingerprint: str
    decision: Decision
    decided_at: Instant | None
    """When it was decided; None if only a note or an owner was given."""
    decided_by: str | None
    until: Instant | None
    """Until when it is ignored."""
    note: str | None
    owner: str | None


class TriageChange(Struct, frozen=True, kw_only=True):
    """What to change of a triage; what is not named stays."""

    decision: Decision | None = None
    by: str | None = None
    """Who decides."""
    until: Instant | None = None
    sets_note: bool = False
    note: str | None = None
    sets_owner: bool = False
    owner: str | None = None


def group_state(triage: Triage | None, *, last_at: Instant, now: Instant) -> GroupState:
    """Return where a group stands whose last task failed at `last_at`."""
    if triage is None:
        return GroupState.OPEN
    if triage.decision is Decision.RESOLVED and triage.decided_at is not None and last_at > triage.decided_at:
        return GroupState.REGRESSED
    if triage.decision is Decision.IGNORED and (triage.until is None or triage.until <= now):
        return GroupState.OPEN
    return GroupState(triage.decision.value)


def check_note(note: str, *, field: str = "note") -> str:
    """Return a note, which may have several lines."""
    if len(note) > LONGEST_NOTE:
        raise Invalid(f"must be at most {LONGEST_NOTE} characters", field=field)
    if _CONTROL.search(note):
        raise Invalid("must not contain control characters other than line breaks and tabs", field=field)
    return note


def triaged(tenant: str, triage: Triage) -> Fact:
    """Return the event of a change; notes are in no event."""
    data = {
        "decision": triage.decision.value,
        "owner": triage.owner,
        "until": None if triage.until is None else moment_of(triage.until),
    }
    return Fact("drumline.failure_group.triaged", triage.fingerprint, tenant, data)
