"""Where a failure group stands follows from what was decided, when it failed last, and the time."""

import pytest
from msgspec.structs import replace

from drumline.core.clock import Instant
from drumline.core.errors import Invalid
from drumline.core.event import Fact
from drumline.core.triage import LONGEST_NOTE, Decision, GroupState, Triage, check_note, group_state, triaged

AT = Instant(1000)
OPEN = Triage(
    fingerprint="f", decision=Decision.OPEN, decided_at=AT, decided_by="ada", until=None, note="secret", owner=None
)
RESOLVED = replace(OPEN, decision=Decision.RESOLVED)
IGNORED = replace(OPEN, decision=Decision.IGNORED, until=Instant(5000))


@pytest.mark.parametrize(
    ("triage", "last_at", "now", "state"),
    [
        (None, 1, 2, GroupState.OPEN),
        (OPEN, 2000, 3000, GroupState.OPEN),
        (replace(OPEN, decision=Decision.ACKNOWLEDGED), 2000, 3000, GroupState.ACKNOWLEDGED),
        (RESOLVED, 999, 3000, GroupState.RESOLVED),
        (RESOLVED, 1000, 3000, GroupState.RESOLVED),
        (RESOLVED, 1001, 3000, GroupState.REGRESSED),
        (replace(RESOLVED, decided_at=None), 1001, 3000, GroupState.RESOLVED),
        (IGNORED, 2000, 4999, GroupState.IGNORED),
        (IGNORED, 2000, 5000, GroupState.OPEN),
        (replace(IGNORED, until=None), 2000, 3000, GroupState.OPEN),
    ],
)
def test_a_group_stands_where_its_triage_and_its_last_failure_put_it(
    triage: Triage | None, last_at: int, now: int, state: GroupState
) -> None:
    assert group_state(triage, last_at=Instant(last_at), now=Instant(now)) is state


@pytest.mark.parametrize("note", ["", "two\nlines\tand a tab", "x" * LONGEST_NOTE])
def test_a_note_may_have_several_lines(note: str) -> None:
    assert check_note(note) == note


@pytest.mark.parametrize(
    ("note", "message"),
    [
        ("x" * (LONGEST_NOTE + 1), "must be at most 2000 characters"),
        ("a\x00b", "must not contain control characters other than line breaks and tabs"),
        ("a\rb", "must not contain control characters other than line breaks and tabs"),
        ("a\x85b", "must not contain control characters other than line breaks and tabs"),
    ],
)
def test_a_note_that_cannot_be_kept_is_refused_by_its_field(note: str, message: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_note(note)
    assert (caught.value.field, caught.value.message) == ("note", message)
    with pytest.raises(Invalid) as caught:
        check_note(note, field="triage.note")
    assert caught.value.field == "triage.note"


def test_the_event_of_a_triage_has_no_note() -> None:
    assert triaged("t", replace(IGNORED, owner="ada")) == Fact(
        "drumline.failure_group.triaged",
        "f",
        "t",
        {"decision": "ignored", "owner": "ada", "until": "1970-01-01T00:00:05.000Z"},
    )
    assert triaged("t", OPEN).data == {"decision": "open", "owner": None, "until": None}
