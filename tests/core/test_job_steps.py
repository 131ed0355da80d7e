"""What follows when tasks of a job end: the answer does not depend on the order in which the ends come."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from drumline.core.ids import TaskId
from drumline.core.job import RunIf
from drumline.core.job_steps import Following, Skip, Waiting, begun, follow
from drumline.core.state import State

A, B, C, D = (TaskId(letter) for letter in "abcd")
ENDS = st.sampled_from([State.COMPLETED, State.FAILED, State.CANCELLED])


def waits(*parents: TaskId, run_if: RunIf = RunIf.ALL_SUCCEEDED, pending: int | None = None, bad: int = 0) -> Waiting:
    return Waiting(run_if, len(parents) if pending is None else pending, bad, parents)


def after(ended: Mapping[TaskId, State], waiting: Mapping[TaskId, Waiting]) -> Following:
    return follow(ended, waiting)


def test_the_last_parent_releases_and_an_earlier_one_counts() -> None:
    assert after({A: State.COMPLETED}, {C: waits(A)}).released == [C]
    assert after({A: State.COMPLETED}, {C: waits(A, pending=3)}).counted == {C: (2, 0)}


def test_what_a_job_would_release_that_may_not_begin_yet_waits_for_nothing_else() -> None:
    found = begun(Following([A, B], {C: Skip(None, A)}, {D: (2, 1)}), {B}.__contains__)

    assert found == Following([A], {C: Skip(None, A)}, {D: (2, 1), B: (0, 0)})


def test_a_skip_says_because_of_whom_however_far_up() -> None:
    found = after({A: State.FAILED}, {B: waits(A), C: waits(B), D: waits(C, run_if=RunIf.ALL_DONE)})

    assert found.skipped == {B: Skip(A, A), C: Skip(A, B)}
    assert found.released == [D]


def test_of_two_reasons_the_one_that_is_a_failure_counts() -> None:
    ended = {A: State.COMPLETED, B: State.FAILED}
    alarm = waits(A, run_if=RunIf.ANY_FAILED)

    found = after(ended, {C: alarm, D: waits(C, B)})

    assert found.skipped[C].cause is None
    assert found.skipped[D].cause == B


def test_an_alarm_is_not_set_off_by_one_that_was_merely_not_needed() -> None:
    waiting = {B: waits(A, run_if=RunIf.ANY_FAILED), C: waits(B), D: waits(C, run_if=RunIf.ANY_FAILED)}

    found = after({A: State.COMPLETED}, waiting)

    assert found.released == []
    assert all(skip.cause is None for skip in found.skipped.values())


@given(st.permutations([A, B, C, D]), ENDS, ENDS, st.sampled_from(RunIf), st.sampled_from(RunIf))
def test_the_order_in_which_tasks_are_given_does_not_matter(
    order: list[TaskId], first: State, second: State, run_c: RunIf, run_d: RunIf
) -> None:
    ended = {A: first, B: second}
    waiting = {C: waits(A, B, run_if=run_c), D: waits(C, B, run_if=run_d)}

    shuffled = after(
        {task: ended[task] for task in order if task in ended},
        {task: waiting[task] for task in order if task in waiting},
    )

    assert shuffled == after(ended, waiting)


@given(ENDS, ENDS, st.sampled_from(RunIf))
def test_two_ends_one_after_the_other_lead_to_the_same_as_both_at_once(
    first: State, second: State, run_if: RunIf
) -> None:
    at_once = after({A: first, B: second}, {C: waits(A, B, run_if=run_if)})
    one = after({A: first}, {C: waits(A, run_if=run_if, pending=2)})
    if C in one.skipped:
        assert C in at_once.skipped
        return
    pending, bad = one.counted[C]

    two = after({B: second}, {C: waits(B, run_if=run_if, pending=pending, bad=bad)})

    assert (C in two.released, C in two.skipped) == (C in at_once.released, C in at_once.skipped)


@given(
    st.dictionaries(
        st.sampled_from([C, D, TaskId("e")]),
        st.builds(
            waits,
            st.sampled_from([A, B]),
            st.sampled_from([TaskId("x"), TaskId("y")]),
            run_if=st.sampled_from([RunIf.ALL_SUCCEEDED, RunIf.ALL_DONE]),
            pending=st.integers(1, 3),
        ),
    ),
)
def test_where_nothing_can_be_skipped_counting_gives_what_the_rules_give(waiting: dict[TaskId, Waiting]) -> None:
    ended = {A: State.COMPLETED, B: State.COMPLETED}
    alarm = {
        TaskId("z"): waits(TaskId("y"), run_if=RunIf.ANY_FAILED)
    }  # of a task that has not ended: the rules are asked

    counted, by_rules = after(ended, waiting), after(ended, waiting | alarm)

    assert sorted(counted.released) == sorted(by_rules.released)
    assert (counted.counted, counted.skipped) == (by_rules.counted, {})
