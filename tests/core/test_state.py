import pytest

from drumline.core.attempt import ENDING, OUTCOME_OF, state_after
from drumline.core.errors import Conflict
from drumline.core.state import (
    SETTLING,
    TERMINAL,
    TRANSITIONS,
    Act,
    State,
    Status,
    is_ended,
    states_of,
    status_of,
    step,
)


def test_every_pair_is_a_transition_or_a_conflict() -> None:
    for state in State:
        for act in Act:
            if (state, act) in TRANSITIONS:
                assert step(state, act) is TRANSITIONS[state, act]
            else:
                with pytest.raises(Conflict):
                    step(state, act)


def test_every_state_can_be_reached_and_every_act_is_used() -> None:
    assert set(TRANSITIONS.values()) | {State.BLOCKED} == set(State)
    assert {act for _, act in TRANSITIONS} == set(Act)


def test_a_task_can_end_from_every_live_state() -> None:
    for state in State:
        reached, frontier = {state}, [state]
        while frontier:
            here = frontier.pop()
            for (before, _), after in TRANSITIONS.items():
                if before is here and after not in reached:
                    reached.add(after)
                    frontier.append(after)
        assert reached & TERMINAL, f"{state.name} never ends"


def test_the_history_s_last_word_is_the_state_that_the_act_led_to() -> None:
    for act in SETTLING:
        assert state_after(OUTCOME_OF[act]) is TRANSITIONS[State.RUNNING, act]
    assert {State(outcome) for outcome in ENDING} == TERMINAL


def test_delayed_and_due_tasks_are_one_state_with_two_names() -> None:
    assert status_of(State.QUEUED, 10, 9) is Status.PENDING
    assert status_of(State.QUEUED, 10, 10) is Status.QUEUED
    assert status_of(State.BLOCKED, None, 10) is Status.PENDING


def test_statuses_and_states_agree_on_what_has_ended() -> None:
    for status in Status:
        assert is_ended(status) is all(state in TERMINAL for state in states_of(status))
