"""Attempts: what their ends leave a task in, and what progress they may report."""

import math

import pytest

from drumline.core.attempt import (
    ENDING,
    LONGEST_MESSAGE,
    OUTCOME_OF,
    AttemptOutcome,
    Progress,
    progress_of,
    state_after,
)
from drumline.core.state import State


@pytest.mark.parametrize("outcome", AttemptOutcome)
def test_an_end_of_the_task_is_its_state_and_any_other_end_queues_it_again(outcome: AttemptOutcome) -> None:
    expected = State[outcome.name] if outcome in ENDING else State.QUEUED

    assert state_after(outcome) is expected


def test_an_outcome_is_told_in_small_letters() -> None:
    assert [outcome.word for outcome in (AttemptOutcome.COMPLETED, AttemptOutcome.CRASHED)] == ["completed", "crashed"]


def test_every_act_that_ends_an_execution_has_its_outcome() -> None:
    assert set(OUTCOME_OF.values()) == set(AttemptOutcome) - {AttemptOutcome.RUNNING}


def test_progress_is_numbers_and_a_message_of_bounded_length() -> None:
    long = "x" * (LONGEST_MESSAGE + 1)

    assert progress_of(3, 10, "rows") == Progress(3.0, 10.0, "rows")
    assert progress_of(3, None, "") == Progress(3.0, None, "")
    assert progress_of(3, 10, long) == Progress(3.0, 10.0, long[:LONGEST_MESSAGE])
    assert isinstance(getattr(progress_of(3, 10, ""), "done", None), float)
    assert isinstance(getattr(progress_of(3, 10, ""), "total", None), float)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_progress_that_is_no_number_is_none(wrong: float) -> None:
    assert progress_of(wrong, 1, "") is None
    assert progress_of(wrong, None, "") is None
    assert progress_of(1, wrong, "") is None
