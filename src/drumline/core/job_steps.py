"""Decides what happens in a job when its tasks end or are resumed. Pure rules, used by every store.

A task that needs others is *blocked*. It keeps two counts: `pending`, the tasks it needs that have not ended, and
`bad`, those that ended badly: failed, cancelled, or skipped because of such a one. When tasks end,

    all_succeeded   is released when the last one it needs has completed, and skipped as soon as one has not
    all_done        is released when the last one it needs has ended
    any_failed      is released then too if one ended badly; else it is skipped, because it is not needed

A skipped task has ended, so the same holds for those that need it. A skip has a cause: the task that failed or was
cancelled, however far up. One that is merely not needed has none, and affects only tasks that need it to complete.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from drumline.core.graph import layers
from drumline.core.ids import TaskId
from drumline.core.job import RunIf
from drumline.core.outcome import ErrorInfo
from drumline.core.state import TERMINAL, State

BAD: Final = frozenset({State.FAILED, State.CANCELLED})
SKIPPED: Final = "Skipped"
"""The kind of error that a skipped task has."""


class Waiting(Struct, frozen=True):
    """A blocked task, as an act finds it."""

    run_if: RunIf
    pending: int
    bad: int
    parents: Sequence[TaskId]
    """Those of the tasks it needs that have just ended, or that may be skipped because of it."""


class Skip(Struct, frozen=True):
    """Why a task is skipped: `cause` ended badly, or else nothing did that would have it run."""

    cause: TaskId | None
    parent: TaskId
    """The one it needs that decided it."""


class Following(Struct, frozen=True):
    """What follows from some ends: tasks to release, tasks to skip, and the new counts of those that go on waiting."""

    released: list[TaskId]
    skipped: dict[TaskId, Skip]
    counted: dict[TaskId, tuple[int, int]]
    """By task: pending and bad."""


def follow(ended: Mapping[TaskId, State], waiting: Mapping[TaskId, Waiting]) -> Following:
    """Return what follows when tasks end, all at once: what they release, what they skip, and what hangs on that.

    Each is looked at after those it needs, so it does not matter in which order they come.
    """
    if not may_skip(ended, waiting):
        return _follow_completed(ended, waiting)
    following = Following([], {}, {})
    inner = {task: [parent for parent in wait.parents if parent in waiting] for task, wait in waiting.items()}
    for task in (task for layer in layers(inner) for task in layer):
        wait = waiting[task]
        done = sorted(parent for parent in wait.parents if parent in ended or parent in following.skipped)
        if not done:
            continue
        causes = [cause for parent in done if (cause := _cause(parent, ended, following.skipped)) is not None]
        counts = (wait.pending - len(done), wait.bad + len(causes))
        undone = next((parent for parent in done if ended.get(parent) is not State.COMPLETED), None)
        if wait.run_if is RunIf.ALL_SUCCEEDED and undone is not None:
            following.skipped[task] = Skip(causes[0] if causes else None, undone)
        elif _is_not_needed(wait.run_if, counts):
            following.skipped[task] = Skip(None, done[-1])
        elif counts[0]:
            following.counted[task] = counts
        else:
            following.released.append(task)
    return following


def _follow_completed(ended: Mapping[TaskId, State], waiting: Mapping[TaskId, Waiting]) -> Following:
    """Do as `follow` where no task can be skipped: then nothing hangs on what is released, and counting is enough."""
    following = Following([], {}, {})
    for task, wait in waiting.items():
        done = len([parent for parent in wait.parents if parent in ended])
        if not done:
            continue
        if pending := wait.pending - done:
            following.counted[task] = (pending, wait.bad)
        else:
            following.released.append(task)
    return following


def begun(following: Following, waits: Callable[[TaskId], bool]) -> Following:
    """Return the effects on jobs that wait for other jobs: their tasks are released together when they may begin.

    `waits` tells of a task whether its job does. Until then such a task is counted as one that waits for nothing.
    """
    held = {task: (0, 0) for task in following.released if waits(task)}
    released = [task for task in following.released if task not in held]
    return Following(released, following.skipped, following.counted | held)


def _cause(parent: TaskId, ended: Mapping[TaskId, State], skipped: Mapping[TaskId, Skip]) -> TaskId | None:
    """Return the task that failed or was cancelled: this one, or the one it was skipped for; None if it completed."""
    if parent in skipped:
        return skipped[parent].cause
    return parent if ended[parent] in BAD else None


def may_skip(ended: Mapping[TaskId, State], waiting: Mapping[TaskId, Waiting]) -> bool:
    """Tell whether a task may be skipped because of some ends, so that those beyond the children have to be known."""
    return any(state is not State.COMPLETED for state in ended.values()) or any(
        wait.run_if is RunIf.ANY_FAILED for wait in waiting.values()
    )


class JobMember(Struct, frozen=True):
    """A task of a job in its current state; `cause` is that of a skip."""

    state: State
    run_if: RunIf
    parents: Sequence[TaskId]
    cause: TaskId | None = None

    @property
    def is_bad(self) -> bool:
        """Whether it ended badly."""
        return self.state in BAD or (self.state is State.SKIPPED and self.cause is not None)


class Revival(Struct, frozen=True):
    """What is brought back to life, and the counts (pending, bad) of all that wait because of it."""

    queued: list[TaskId]
    blocked: list[TaskId]
    held_back: list[TaskId]
    """What waits to be claimed, and has to wait for others again."""
    counted: dict[TaskId, tuple[int, int]]


def revive(members: Mapping[TaskId, JobMember], only: TaskId | None = None) -> Revival:
    """Return what runs again: the failed, cancelled and skipped tasks of a job, or one of them and what hangs on it.

    Completed tasks stay as they are. None comes back only to be skipped at once.
    `members` are all the tasks of a job.
    """
    revived: set[TaskId] = set()
    revival = Revival([], [], [], {})
    parents = {task: member.parents for task, member in members.items()}
    for task in (task for layer in layers(parents) for task in layer):
        member = members[task]
        if not _comes_back(task, member, members, revived, only):
            if member.state in {State.BLOCKED, State.QUEUED} and not revived.isdisjoint(member.parents):
                revival.counted[task] = _counts(member, members, revived)
                if member.state is State.QUEUED:
                    revival.held_back.append(task)
            continue
        revived.add(task)
        revival.counted[task] = _counts(member, members, revived)
        (revival.blocked if revival.counted[task][0] else revival.queued).append(task)
    return revival


def _comes_back(
    task: TaskId, member: JobMember, members: Mapping[TaskId, JobMember], revived: set[TaskId], only: TaskId | None
) -> bool:
    is_skipped = member.state is State.SKIPPED
    if member.state not in BAD and not is_skipped:
        return False
    if only is not None and task != only and (not is_skipped or revived.isdisjoint(member.parents)):
        return False
    if member.run_if is RunIf.ALL_SUCCEEDED:
        return all(
            parent in revived or members[parent].state is State.COMPLETED or members[parent].state not in TERMINAL
            for parent in member.parents
        )
    # An alarm that failed may not be needed any more, but a job that is run again should end well.
    return not is_skipped or not _is_not_needed(member.run_if, _counts(member, members, revived))


def _counts(member: JobMember, members: Mapping[TaskId, JobMember], revived: set[TaskId]) -> tuple[int, int]:
    pending = sum(parent in revived or members[parent].state not in TERMINAL for parent in member.parents)
    bad = sum(parent not in revived and members[parent].is_bad for parent in member.parents)
    return pending, bad


def skip_error(skip: Skip, run_if: RunIf, *, keys: Mapping[TaskId, str], ended: Mapping[TaskId, State]) -> ErrorInfo:
    """Return the reason why a task is skipped; `keys` maps the ids of the tasks involved to their keys."""
    if skip.cause is not None:
        how = "failed" if ended[skip.cause] is State.FAILED else "was cancelled"
        return ErrorInfo(SKIPPED, f"{keys[skip.cause]} {how}")
    if run_if is RunIf.ANY_FAILED:
        return ErrorInfo(SKIPPED, "nothing that it needs has failed")
    return ErrorInfo(SKIPPED, f"{keys[skip.parent]} was not needed")


def _is_not_needed(run_if: RunIf, counts: tuple[int, int]) -> bool:
    return run_if is RunIf.ANY_FAILED and counts == (0, 0)
