"""Decides what a due schedule does: which runs start, wait or are skipped, and the next fire time.

Pure decisions; the stores carry them out in the transaction that advances the schedule.
"""

import sys
from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from drumline.core.accept_schedule import due_at
from drumline.core.clock import Instant
from drumline.core.firing_policy import FiringPolicy, Misfire, Overlap
from drumline.core.ids import ScheduleId
from drumline.core.limits import Limits
from drumline.core.schedule import RunKind, RunState, Turn
from drumline.core.timetable import Rule, timetable

BUSY: Final = "the previous run had not ended"
FULL: Final = "too many runs were waiting"
OVERTAKEN: Final = "a later run took its place"

_PLAIN: Final = FiringPolicy()
_FIRST_WANTED: Final = {Misfire.SKIP: sys.maxsize, Misfire.ONCE: -1, Misfire.ALL: 0}
"""From which of the missed times on there is a run for each."""


class Absence(Struct, frozen=True):
    """A time in which no scheduler was there: after `since`, and before `until`."""

    since: Instant
    until: Instant

    def has(self, instant: Instant) -> bool:
        """Tell whether something that was due at an instant was missed."""
        return self.since < instant < self.until


class DueSchedule(Struct, frozen=True, kw_only=True):
    """A schedule whose time has come, as far as deciding about it goes."""

    id: ScheduleId
    rule: Rule
    policy: FiringPolicy
    fire_at: Instant
    runs: int = 0
    waiting: int = 0
    is_busy: bool = False
    """Whether the previous run has not ended."""


class Run(Struct, frozen=True):
    """One firing, decided."""

    fire_time: Instant
    kind: RunKind
    state: RunState
    reason: str | None = None


class FiringDecision(Struct, frozen=True, kw_only=True):
    """All that is due of a schedule, decided."""

    runs: tuple[Run, ...]
    missed: int
    """Firings that were missed and are not made up for."""
    turn: Turn | None
    """The next one; None if there is none any more."""

    @property
    def made(self) -> int:
        """How many runs count: those that start or wait."""
        return sum(run.state is not RunState.SKIPPED for run in self.runs)


def fire(due: DueSchedule, *, now: Instant, absence: Absence | None, limits: Limits) -> FiringDecision:
    """Decide about everything that is due of a schedule at `now`.

    While a scheduler is there every fire time is a run, late or not. What was due in an absence goes by the policy.
    """
    times, dropped, turn = _due_times(due, now, limits)
    if absence is None and not dropped and due.policy == _PLAIN:
        runs = tuple([Run(time, RunKind.SCHEDULED, RunState.STARTED) for time in times])
        return FiringDecision(runs=runs, missed=0, turn=turn)
    kept, missed = _made_up(due, times, absence)
    left = None if due.policy.max_runs is None else max(due.policy.max_runs - due.runs, 0)
    runs = tuple(_overlapped(due, kept, left, limits))
    firing = FiringDecision(runs=runs, missed=dropped + missed, turn=turn)
    return replace(firing, turn=None) if left is not None and firing.made >= left else firing


def _due_times(due: DueSchedule, now: Instant, limits: Limits) -> tuple[list[Instant], int, Turn | None]:
    """Return the fire times that are due, the newest if they are too many; how many are too many; and what is next."""
    table = timetable(due.rule)
    following = table.next_after(due.fire_at)
    if following is None or following > now:
        return [due.fire_at], 0, _turn(due, following)
    before = Instant(due.fire_at - 1)
    times = table.latest(before, now, most=limits.missed_runs)
    dropped = table.count(before, now) - len(times)
    # Those whose share of the jitter is not over yet have their turn later, in their order.
    place = next((place for place, time in enumerate(times) if due_at(due.id, due.policy, time) > now), len(times))
    following = times[place] if place < len(times) else table.next_after(times[-1])
    return times[:place], dropped, _turn(due, following)


def _turn(due: DueSchedule, fire_at: Instant | None) -> Turn | None:
    return None if fire_at is None else Turn(fire_at, due_at(due.id, due.policy, fire_at))


def _made_up(
    due: DueSchedule, times: list[Instant], absence: Absence | None
) -> tuple[list[tuple[Instant, RunKind]], int]:
    """Return the times that are to run, and how many of the missed ones are not."""
    if absence is None:
        return [(time, RunKind.SCHEDULED) for time in times], 0
    missed = [time for time in times if absence.has(due_at(due.id, due.policy, time))]
    wanted = frozenset(missed[_FIRST_WANTED[due.policy.misfire] :])
    unwanted = frozenset(missed) - wanted
    kept = [(time, RunKind.MISFIRE if time in wanted else RunKind.SCHEDULED) for time in times if time not in unwanted]
    return kept, len(unwanted)


def _overlapped(
    due: DueSchedule, times: list[tuple[Instant, RunKind]], left: int | None, limits: Limits
) -> Iterator[Run]:
    """Yield the runs, each knowing what the one before it does."""
    busy, waiting = due.is_busy, due.waiting
    for place, (time, kind) in enumerate(times):
        if left == 0:
            return
        is_last = place == len(times) - 1
        reason = _kept_from(due.policy.overlap, busy=busy, waiting=waiting, is_last=is_last, limits=limits)
        if reason is not None:
            yield Run(time, kind, RunState.SKIPPED, reason)
            continue
        has_to_wait = due.policy.overlap is Overlap.QUEUE and (busy or waiting > 0)
        busy, waiting = True, waiting + has_to_wait
        left = None if left is None else left - 1
        yield Run(time, kind, RunState.WAITING if has_to_wait else RunState.STARTED)


def _kept_from(overlap: Overlap, *, busy: bool, waiting: int, is_last: bool, limits: Limits) -> str | None:
    """Return why a run does not take place, or None."""
    match overlap:
        case Overlap.SKIP if busy:
            return BUSY
        case Overlap.QUEUE if waiting >= limits.waiting_runs:
            return FULL
        case Overlap.CANCEL_PREVIOUS if not is_last:
            return OVERTAKEN
        case _:
            return None
