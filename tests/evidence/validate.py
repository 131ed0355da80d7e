"""Compares the histories of tasks in a trace with the TLA+ specification of leases.

    python -m tests.evidence.validate TRACE ...

Each task's lines become a history: a sequence of steps that TLC has to find as a behaviour of `specs/Lease.tla`
(`specs/LeaseTrace.tla` says how). Equal histories are compared once, and all of them in one run of TLC.
"""

import re
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from tests.evidence import trace
from tests.evidence.tlc import SPECS, run_tlc
from tests.evidence.trace import Ending, Execution, Line, Note, Operation, Phase

STATES = {
    "COMPLETED": "completed", "FAILED": "failed", "CANCELLED": "cancelled", "PROCESSING": "running",
    "RUNNING": "running", "PENDING": "queued", "QUEUED": "queued", "BLOCKED": "queued",
}  # fmt: skip
OUTCOMES = {"snoozed": "retried", "parked": "retried"}
"""Outcomes that the specification has under another name: both queue the task again."""
UNKNOWN = "unknown"
MOST_ACTS = 3
"""How many cancellations or retries of one task are told apart; more are as good as this many."""
_REACHED = re.compile(r'^<<"reached", (\d+), (\d+)>>$', re.MULTILINE)

Step = tuple[str, int, str]
"""What happened, the holder of the lease, and a state or outcome."""


class History(Struct, frozen=True, kw_only=True):
    """What is known of one task, without its id, times and names: tasks with the same history are one."""

    steps: tuple[Step, ...]
    holders: tuple[int, ...]
    ended: tuple[int, ...]
    """The holders whose run recorded its end."""
    outcomes: tuple[str, ...] | None
    cancels: int
    retries: int


class Rejection(Struct, frozen=True, kw_only=True):
    """A task whose history the specification does not allow."""

    task: str
    step: str
    """The first step that nothing explains."""
    history: History

    def __str__(self) -> str:
        """Say what is wrong, in one line."""
        steps = ", ".join(_text(step) for step in self.history.steps)
        return f"{self.task}: the lease specification does not allow {self.step!r} in: {steps}; {self.history.outcomes}"


def validate(lines: Iterable[Line]) -> list[Rejection]:
    """Return the tasks of a trace whose histories the lease specification does not allow."""
    return rejected(histories(lines))


def rejected(known: Mapping[str, History]) -> list[Rejection]:
    """Return the tasks among these whose histories the lease specification does not allow."""
    tasks: defaultdict[History, list[str]] = defaultdict(list)
    for task, history in known.items():
        tasks[history].append(task)
    reached = follow(list(tasks))
    return [
        Rejection(task=task, step=_text(history.steps[steps]), history=history)
        for (history, names), steps in zip(tasks.items(), reached, strict=True)
        if steps < len(history.steps)
        for task in names
    ]


def follow(wanted: Sequence[History]) -> list[int]:
    """Return how many steps of each history TLC can explain."""
    if not wanted:
        return []
    with tempfile.TemporaryDirectory(prefix="drumline-histories-") as folder:
        for name in ("Lease.tla", "LeaseTrace.tla"):
            shutil.copy(SPECS / name, folder)
        (Path(folder) / "Histories.tla").write_text(_module(wanted), encoding="utf-8")
        verdict = run_tlc(Path(folder) / "LeaseTrace.tla", SPECS / "LeaseTrace.cfg", workers=1)
    if not verdict.passed:
        raise RuntimeError(f"TLC could not compare the histories:\n{verdict.output}")
    reached = [0] * len(wanted)
    for number, steps in _REACHED.findall(verdict.output):
        reached[int(number) - 1] = max(reached[int(number) - 1], int(steps))
    return reached


def histories(lines: Iterable[Line]) -> dict[str, History]:
    """Return the history of each task of a trace; tasks that were skipped without running have none."""
    known = list(lines)
    by_task: defaultdict[str, list[Line]] = defaultdict(list)
    for line in known:
        for task in _tasks_of(line):
            by_task[task].append(line)
    acts = _acts(known, by_task.keys())
    return {task: _History(mine).close(acts[task]) for task, mine in by_task.items() if not _never_ran(mine)}


class _History:
    """Makes a history of the lines of one task."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._holders: dict[tuple[object, ...], int] = {}
        self._steps: list[Step] = []
        self._ended: list[int] = []
        self._open: dict[tuple[object, ...], int] = {}
        self._notes = _has_whole_notes(lines)

    def close(self, acts: tuple[int, int]) -> History:
        """Return the history, with how often users may have cancelled and retried the task."""
        ending = None
        for line in self._lines:
            match line:
                case Operation():
                    self._operation(line)
                case Execution():
                    self._execution(line)
                case Note() if self._notes:
                    self._note(line)
                case Ending():
                    ending = line
                case _:  # faults, and notes that cannot be tied to runs
                    pass
        parked = self._leave_out_parks(ending)
        self._steps = [step for step in self._steps if step[0] != "parked"]  # the store has ended such a one before
        state = UNKNOWN if ending is None else STATES.get(ending.state.upper(), UNKNOWN)
        self._steps.append(("final", 0, state))
        is_known = ending is not None and bool(ending.attempts) and state != UNKNOWN
        return History(
            steps=tuple(self._steps),
            holders=tuple(sorted(set(self._holders.values()))),
            ended=tuple(sorted(self._ended)),
            outcomes=_outcomes(ending, parked) if ending is not None and is_known else None,
            cancels=acts[0],
            retries=acts[1],
        )

    def _leave_out_parks(self, ending: Ending | None) -> set[int]:
        """Leave out executions that ended to wait, with nothing in between, and return their epochs.

        Such a one leads from a task that is queued to the same task, one attempt later. A task that waits often has
        many, and TLC would try them in every order.
        """
        if ending is None or self._notes:
            return set()
        parked = {epoch for epoch, word in zip(ending.epochs, ending.attempts, strict=False) if word == "parked"}
        epochs = {holder: key[1] for key, holder in self._holders.items() if key[0] == "epoch" and key[1] in parked}
        gone = {
            first[1]
            for first, second in pairwise(self._steps)
            if (first[0], second[0]) == ("begin", "parked") and first[1] == second[1] and first[1] in epochs
        }
        kept = [holder for holder in sorted(self._holders.values()) if holder not in gone]
        number = {holder: place for place, holder in enumerate(kept, 1)} | {0: 0}
        self._steps = [(what, number[holder], word) for what, holder, word in self._steps if holder not in gone]
        self._holders = {key: number[holder] for key, holder in self._holders.items() if holder not in gone}
        self._ended = [number[holder] for holder in self._ended if holder not in gone]
        return {int(str(epochs[holder])) for holder in gone}

    def _operation(self, line: Operation) -> None:
        if line.phase is not Phase.OK:
            return
        if _submits(line) and ("acknowledged", 0, "") not in self._steps:
            self._steps.append(("acknowledged", 0, ""))
        elif line.what == "read" and line.state == "COMPLETED":
            self._steps.append(("read", 0, "completed"))

    def _execution(self, line: Execution) -> None:
        place = (line.worker, line.pid, line.attempt, line.epoch)
        if line.moment == "begin":
            key = ("epoch", line.epoch) if line.epoch else ("run", len(self._holders))
            self._open[place] = self._holder(key)
            self._steps.append(("begin", self._open[place], ""))
        elif line.moment != "stopped" and place in self._open:  # what was stopped is settled by a step of its own
            holder = self._open.pop(place)
            if line.moment != "parked":
                self._ended.append(holder)
            self._steps.append((line.moment, holder, ""))

    def _note(self, line: Note) -> None:
        if line.what in {"claimed", "settled"}:
            holder = self._holder(("epoch", line.detail["epoch"]))
            outcome = str(line.detail.get("outcome", ""))
            self._steps.append((line.what, holder, OUTCOMES.get(outcome, outcome)))

    def _holder(self, key: tuple[object, ...]) -> int:
        return self._holders.setdefault(key, len(self._holders) + 1)


def _tasks_of(line: Line) -> Iterator[str]:
    """Yield the tasks that a line is about, as far as leases go."""
    match line:
        case Operation(phase=Phase.OK) if _submits(line):
            named = line.detail.get("tasks", ())
            yield from {task for task in (line.task, *named) if task}
        case Operation(what="read", task=str(task)) | Execution(task=task) | Ending(task=task):
            yield task
        case Note(task=str(task)):
            yield task
        case _:  # faults, and what says nothing of one task
            pass


def _submits(line: Operation) -> bool:
    return line.what.startswith(("submit", "batch", "job"))


def _never_ran(lines: Sequence[Line]) -> bool:
    """Tell whether a task had no lease: it was skipped, or only read or noted."""
    if any(isinstance(line, Execution) for line in lines):
        return False
    endings = [line for line in lines if isinstance(line, Ending)]
    return any(ending.state.upper() == "SKIPPED" for ending in endings) or not (
        endings or any(isinstance(line, Operation | Note) for line in lines)
    )


def _has_whole_notes(lines: Sequence[Line]) -> bool:
    """Tell whether claims and settlements are noted, with the epochs by which runs are known too."""
    notes = [line for line in lines if isinstance(line, Note) and line.what in {"claimed", "settled"}]
    claimed = {line.detail.get("epoch") for line in notes if line.what == "claimed"}
    named = {line.detail.get("epoch") for line in notes}
    named |= {line.epoch for line in lines if isinstance(line, Execution)}
    return bool(notes) and named <= claimed and None not in named


def _outcomes(ending: Ending, left_out: set[int]) -> tuple[str, ...]:
    epochs = ending.epochs or (0,) * len(ending.attempts)
    return tuple(
        OUTCOMES.get(outcome, outcome)
        for epoch, outcome in zip(epochs, ending.attempts, strict=True)
        if outcome != "running" and epoch not in left_out
    )


def _acts(lines: Sequence[Line], tasks: Iterable[str]) -> Mapping[str, tuple[int, int]]:
    """Return how often each task may have been cancelled and retried; what names no task may have met any."""
    found: defaultdict[str | None, list[int]] = defaultdict(lambda: [0, 0])
    known = set(tasks)
    failed = {line.op for line in lines if isinstance(line, Operation) and line.phase is Phase.FAIL}
    made = {line.op: set(_tasks_of(line)) for line in lines if isinstance(line, Operation) and line.phase is Phase.OK}
    for line in lines:
        if not isinstance(line, Operation) or line.phase is not Phase.INVOKE or line.op in failed:
            continue
        act = f"{line.what} {line.detail.get('act', '')}"
        counts = found[line.task if line.task in known else None]
        counts[0] += "cancel" in act
        counts[1] += "retry" in act or "resume" in act
        if line.detail.get("expires"):  # the clock cancels such a task
            for task in made.get(line.op) or (None,):
                found[task][0] += 1
    parents = {line.task: line.parent for line in lines if isinstance(line, Ending) and line.parent}
    for task, parent in parents.items():  # the end of a parent cancels its children, and its retry is theirs
        found[task][0] += 1
        above: str | None = parent
        while above is not None:
            found[task][0] += found[above][1]
            found[task][1] += found[above][1]
            above = parents.get(above)
    return {
        task: (
            min(found[task][0] + found[None][0], MOST_ACTS),
            min(found[task][1] + found[None][1], MOST_ACTS),
        )
        for task in known
    }


def _text(step: Step) -> str:
    what, holder, word = step
    return " ".join(part for part in (what, f"by lease {holder}" if holder else "", word) if part)


def _module(wanted: Sequence[History]) -> str:
    """Write the histories as a module of TLA+."""
    most = max((holder for history in wanted for holder in history.holders), default=0)
    body = ",\n    ".join(map(_record, wanted))
    return (
        "---- MODULE Histories ----\nEXTENDS Naturals\n"
        f"TraceHolders == 0..{most}\nHistories == <<\n    {body}\n>>\n====\n"
    )


def _record(history: History) -> str:
    steps = ", ".join(
        f'[what |-> "{what}", holder |-> {holder}, word |-> "{word}"]' for what, holder, word in history.steps
    )
    names = {what for what, _, _ in history.steps}
    outcomes = ", ".join(f'"{outcome}"' for outcome in history.outcomes or ())
    fields = {
        "steps": f"<<{steps}>>",
        "holders": "{" + ", ".join(map(str, history.holders)) + "}",
        "ended": "{" + ", ".join(map(str, history.ended)) + "}",
        "known": str(history.outcomes is not None).upper(),
        "outcomes": f"<<{outcomes}>>",
        "claims": str("claimed" in names).upper(),
        "settles": str("settled" in names).upper(),
        "cancels": str(history.cancels),
        "retries": str(history.retries),
    }
    return "[" + ", ".join(f"{name} |-> {value}" for name, value in fields.items()) + "]"


def main(paths: Sequence[str]) -> int:
    """Compare the traces in files, all in one run of TLC."""
    known = {
        path: {f"{path}: {task}": history for task, history in histories(trace.read(Path(path))).items()}
        for path in paths
    }
    found = rejected({task: history for each in known.values() for task, history in each.items()})
    for path, mine in known.items():
        wrong = [rejection for rejection in found if rejection.task in mine]
        sys.stdout.write(f"{path}: {len(mine)} tasks, {len(wrong)} not allowed\n")
        sys.stdout.writelines(f"  {rejection}\n" for rejection in wrong)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
