"""What a dead letter says: the facts of the failure, and nothing later."""

from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from drumline.core.attempt import AttemptOutcome, AttemptView
from drumline.core.clock import Instant, moment_of
from drumline.core.dead_letter import (
    MOST_ATTEMPTS,
    AttemptMessage,
    DeadLetterMessage,
    FailedTask,
    Reason,
    cause_of,
    dead_letter_event,
    dead_letter_message,
)
from drumline.core.event import Event, EventPosition, TaskChange, cloud_event
from drumline.core.fingerprint import fingerprint
from drumline.core.ids import SessionId, TaskId, session_text
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Status

TASK = TaskId("01890a5d-ac96-774b-bcce-b302099a8057")
ERROR = ErrorInfo("ValueError", "no customer 42 " + "x" * 2000, "a traceback")
CHANGE = TaskChange(
    id=TASK, status=Status.FAILED, name="charge", queue="q", job="j", tags=("eu",), attempt=3, error=ERROR,
    created_at="2026-01-02T03:04:05.000Z", log="last lines",
)  # fmt: skip


def attempt(number: int, **fields: Any) -> AttemptView:
    made = AttemptView(
        epoch=number, attempt=number, outcome=AttemptOutcome.RETRIED, worker=SessionId(7), started_at=Instant(10),
        finished_at=Instant(20),
    )  # fmt: skip
    return replace(made, **fields)


def test_a_cause_folds_away_what_varies_and_keeps_the_beginning_of_what_was_said() -> None:
    cause = cause_of(ERROR, Reason.POISON)
    made = fingerprint(ERROR)
    assert (cause.reason, cause.kind) == (Reason.POISON, "ValueError")
    assert (cause.fingerprint, cause.message) == (made.text, made.message)
    assert cause.said == ERROR.message[:500]


def test_a_failure_of_which_nothing_was_said_has_a_cause_too() -> None:
    cause = cause_of(None)
    assert (cause.reason, cause.kind, cause.said) == (
        Reason.PERMANENT, "Unknown", "nothing was said about the failure",
    )  # fmt: skip


def test_a_message_has_all_that_is_known_of_the_failure() -> None:
    failure = FailedTask(
        change=CHANGE, at=Instant(50), payload=Raw(b"[1]"), attempts=[attempt(3)], reason=Reason.RETRIES_EXHAUSTED
    )
    assert dead_letter_message(failure) == DeadLetterMessage(
        task=TASK, name="charge", queue="q", reason=Reason.RETRIES_EXHAUSTED, fingerprint=fingerprint(ERROR).text,
        error=ERROR, job="j", tags=("eu",), created_at="2026-01-02T03:04:05.000Z", failed_at=moment_of(Instant(50)),
        payload=Raw(b"[1]"), log="last lines",
        attempts=(
            AttemptMessage(
                attempt=3, outcome="retried", worker=session_text(SessionId(7)), started_at=moment_of(Instant(10)),
                finished_at=moment_of(Instant(20)),
            ),
        ),
    )  # fmt: skip


def test_a_failure_whose_reason_is_not_known_is_permanent() -> None:
    assert dead_letter_message(FailedTask(change=CHANGE, at=Instant(50))).reason is Reason.PERMANENT


def test_errors_of_attempts_are_cut_and_have_no_traceback() -> None:
    failure = FailedTask(change=CHANGE, at=Instant(50), attempts=[attempt(1, error=ERROR)])
    (found,) = dead_letter_message(failure).attempts
    assert found.error == ErrorInfo("ValueError", ERROR.message[:1000])


def test_an_attempt_that_never_began_has_no_worker_and_no_time() -> None:
    failure = FailedTask(change=CHANGE, at=Instant(50), attempts=[attempt(1, worker=None, started_at=None)])
    (found,) = dead_letter_message(failure).attempts
    assert (found.worker, found.started_at, found.error) == (None, None, None)


@pytest.mark.parametrize(
    ("fields", "is_told"),
    [
        ({}, True),
        ({"finished_at": Instant(50)}, True),
        ({"finished_at": Instant(51)}, False),
        ({"finished_at": None}, False),
        ({"attempt": 3}, True),
        ({"attempt": 4}, False),
    ],
)
def test_attempts_after_the_failure_are_left_out(fields: dict[str, Any], is_told: bool) -> None:
    failure = FailedTask(change=CHANGE, at=Instant(50), attempts=[attempt(1, **fields)])
    assert len(dead_letter_message(failure).attempts) == is_told


def test_a_failure_without_a_number_of_its_attempt_has_all_of_them() -> None:
    failure = FailedTask(change=replace(CHANGE, attempt=0), at=Instant(50), attempts=[attempt(1), attempt(1 << 31)])
    assert len(dead_letter_message(failure).attempts) == 2


def test_of_very_many_attempts_the_last_ones_are_told() -> None:
    attempts = [attempt(n) for n in range(1, MOST_ATTEMPTS + 3)]
    message = dead_letter_message(FailedTask(change=replace(CHANGE, attempt=100), at=Instant(50), attempts=attempts))
    assert [each.attempt for each in message.attempts] == list(range(3, MOST_ATTEMPTS + 3))


def test_a_dead_letter_is_published_beside_the_event_of_its_failure() -> None:
    failed = Event(
        log="l", place=EventPosition(1, 0), type="drumline.task.failed", at=Instant(50), subject=TASK, tenant="t",
        data=CHANGE,
    )  # fmt: skip
    message = dead_letter_message(FailedTask(change=CHANGE, at=Instant(50)))
    event = cloud_event(failed, source="here")
    assert dead_letter_event(failed, message, source="here") == replace(
        event, id=f"{event.id}-dead", type="drumline.dead_letter.created", data=message
    )
    assert event.source == "here"
