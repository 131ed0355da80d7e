"""What of a job runs again, what waits for it, and what is said of tasks that were skipped."""

import pytest

from drumline.core.ids import TaskId
from drumline.core.job import RunIf
from drumline.core.job_steps import JobMember, Revival, Skip, Waiting, follow, may_skip, revive, skip_error
from drumline.core.outcome import ErrorInfo
from drumline.core.state import State

A, B, C, D, E = (TaskId(letter) for letter in "abcde")
BAD = [State.FAILED, State.CANCELLED]
OPEN = [State.BLOCKED, State.QUEUED, State.RUNNING]


def member(
    state: State, *parents: TaskId, run_if: RunIf = RunIf.ALL_SUCCEEDED, cause: TaskId | None = None
) -> JobMember:
    return JobMember(state, run_if, parents, cause)


@pytest.mark.parametrize("state", BAD)
def test_what_ended_badly_is_queued_and_what_was_skipped_for_it_waits_again(state: State) -> None:
    members = {A: member(State.COMPLETED), B: member(state, A), C: member(State.SKIPPED, B, cause=B)}

    assert revive(members) == Revival([B], [C], [], {B: (0, 0), C: (1, 0)})


def test_a_job_that_went_well_has_nothing_to_run_again() -> None:
    members = {A: member(State.COMPLETED), B: member(State.COMPLETED, A)}

    assert revive(members) == Revival([], [], [], {})


@pytest.mark.parametrize("state", OPEN)
def test_what_has_not_ended_stays_as_it_is(state: State) -> None:
    members = {A: member(State.FAILED), B: member(state)}

    assert revive(members) == Revival([A], [], [], {A: (0, 0)})


def test_a_task_that_waits_to_be_claimed_waits_for_what_runs_again() -> None:
    members = {A: member(State.FAILED), B: member(State.QUEUED, A, run_if=RunIf.ALL_DONE)}

    assert revive(members) == Revival([A], [], [B], {A: (0, 0), B: (1, 0)})


def test_a_blocked_task_waits_for_one_more_and_forgets_that_it_had_ended_badly() -> None:
    members = {
        A: member(State.FAILED),
        B: member(State.RUNNING),
        C: member(State.BLOCKED, A, B, run_if=RunIf.ALL_DONE),
        D: member(State.BLOCKED, B),
    }

    assert revive(members) == Revival([A], [], [], {A: (0, 0), C: (2, 0)})


def test_a_running_task_does_not_wait_for_what_runs_again() -> None:
    members = {A: member(State.FAILED), B: member(State.RUNNING, A, run_if=RunIf.ALL_DONE)}

    assert revive(members) == Revival([A], [], [], {A: (0, 0)})


def test_of_one_task_only_what_hangs_on_it_comes_back() -> None:
    members = {
        A: member(State.FAILED),
        B: member(State.SKIPPED, A, cause=A),
        C: member(State.CANCELLED),
        D: member(State.SKIPPED, C, cause=C),
        E: member(State.SKIPPED, B, cause=A),
    }

    assert revive(members, A) == Revival([A], [B, E], [], {A: (0, 0), B: (1, 0), E: (1, 0)})


def test_of_one_task_another_that_failed_does_not_come_back_though_it_hangs_on_it() -> None:
    members = {A: member(State.FAILED), B: member(State.FAILED, A, run_if=RunIf.ALL_DONE)}

    assert revive(members, A) == Revival([A], [], [], {A: (0, 0)})


def test_one_that_would_be_skipped_at_once_does_not_come_back() -> None:
    members = {
        A: member(State.FAILED),
        B: member(State.CANCELLED),
        C: member(State.SKIPPED, A, B, cause=A),
    }

    assert revive(members, A) == Revival([A], [], [], {A: (0, 0)})
    assert revive(members, C) == Revival([], [], [], {})


@pytest.mark.parametrize("state", [State.COMPLETED, *OPEN])
def test_one_comes_back_if_the_others_that_it_needs_have_completed_or_may(state: State) -> None:
    members = {A: member(State.FAILED), B: member(state), C: member(State.SKIPPED, A, B, cause=A)}

    assert revive(members, A).counted[C] == (1 + (state is not State.COMPLETED), 0)


def test_an_alarm_that_was_not_needed_comes_back_only_if_it_may_be_needed() -> None:
    alarm = member(State.SKIPPED, A, B, run_if=RunIf.ANY_FAILED)

    assert revive({A: member(State.COMPLETED), B: member(State.COMPLETED), C: alarm}).counted == {}
    assert revive({A: member(State.FAILED), B: member(State.COMPLETED), C: alarm}).counted[C] == (1, 0)


def test_an_alarm_that_failed_comes_back_though_nothing_is_wrong_any_more() -> None:
    members = {A: member(State.COMPLETED), B: member(State.FAILED, A, run_if=RunIf.ANY_FAILED)}

    assert revive(members) == Revival([B], [], [], {B: (0, 0)})


def test_what_is_still_bad_is_counted_as_bad() -> None:
    members = {
        A: member(State.CANCELLED),
        B: member(State.SKIPPED, A, cause=A),
        C: member(State.FAILED, A, B, run_if=RunIf.ALL_DONE),
        D: member(State.SKIPPED),
    }

    assert revive(members, C) == Revival([C], [], [], {C: (0, 2)})


@pytest.mark.parametrize(
    ("found", "is_bad"),
    [
        (member(State.FAILED), True),
        (member(State.CANCELLED), True),
        (member(State.SKIPPED, cause=A), True),
        (member(State.SKIPPED), False),
        (member(State.COMPLETED), False),
        (member(State.COMPLETED, cause=A), False),
    ],
)
def test_a_skip_is_bad_only_if_it_has_a_cause(found: JobMember, is_bad: bool) -> None:
    assert found.is_bad is is_bad


@pytest.mark.parametrize(("state", "text"), [(State.FAILED, "first failed"), (State.CANCELLED, "first was cancelled")])
def test_a_skip_names_what_caused_it(state: State, text: str) -> None:
    keys = {A: "first", B: "second"}

    error = skip_error(Skip(A, B), RunIf.ALL_SUCCEEDED, keys=keys, ended={A: state})

    assert error == ErrorInfo("Skipped", text)


def test_a_skip_without_a_cause_says_why_nothing_was_to_be_done() -> None:
    keys = {A: "first", B: "second"}

    alarm = skip_error(Skip(None, B), RunIf.ANY_FAILED, keys=keys, ended={})
    other = skip_error(Skip(None, B), RunIf.ALL_SUCCEEDED, keys=keys, ended={})

    assert alarm == ErrorInfo("Skipped", "nothing that it needs has failed")
    assert other == ErrorInfo("Skipped", "second was not needed")


@pytest.mark.parametrize(
    ("state", "run_if", "is_so"),
    [
        (State.COMPLETED, RunIf.ALL_SUCCEEDED, False),
        (State.COMPLETED, RunIf.ALL_DONE, False),
        (State.COMPLETED, RunIf.ANY_FAILED, True),
        (State.FAILED, RunIf.ALL_DONE, True),
        (State.SKIPPED, RunIf.ALL_DONE, True),
    ],
)
def test_tasks_may_be_skipped_if_one_has_not_completed_or_is_an_alarm(state: State, run_if: RunIf, is_so: bool) -> None:
    assert may_skip({A: state}, {B: Waiting(run_if, 1, 0, (A,))}) is is_so


def test_an_alarm_is_set_off_by_its_last_end_if_one_was_bad() -> None:
    alarm = Waiting(RunIf.ANY_FAILED, 2, 0, (A,))

    first = follow({A: State.FAILED}, {C: alarm})
    last = follow({B: State.COMPLETED}, {C: Waiting(RunIf.ANY_FAILED, 1, 1, (B,))})
    none = follow({B: State.COMPLETED}, {C: Waiting(RunIf.ANY_FAILED, 1, 0, (A, B))})

    assert first.counted == {C: (1, 1)}
    assert last.released == [C]
    assert none.skipped == {C: Skip(None, B)}


def test_what_does_not_hang_on_an_end_is_left_alone() -> None:
    others = {C: Waiting(RunIf.ALL_SUCCEEDED, 2, 0, (D,)), E: Waiting(RunIf.ALL_SUCCEEDED, 1, 0, (A,))}

    bad, good = follow({A: State.CANCELLED}, others), follow({A: State.COMPLETED}, others)

    assert (bad.released, bad.skipped, bad.counted) == ([], {E: Skip(A, A)}, {})
    assert (good.released, good.skipped, good.counted) == ([E], {}, {})


def test_where_all_have_completed_the_bad_ends_before_still_count() -> None:
    waiting = {C: Waiting(RunIf.ALL_DONE, 3, 1, (A,)), D: Waiting(RunIf.ALL_DONE, 1, 0, (B,))}

    assert follow({A: State.COMPLETED}, waiting).counted == {C: (2, 1)}
    assert follow({B: State.COMPLETED}, waiting).released == [D]


def test_the_first_bad_end_is_the_cause_and_the_first_that_did_not_complete_decides() -> None:
    ended = {A: State.COMPLETED, B: State.CANCELLED, C: State.FAILED}

    found = follow(ended, {D: Waiting(RunIf.ALL_SUCCEEDED, 3, 0, (C, B, A))})

    assert found.skipped == {D: Skip(B, B)}
