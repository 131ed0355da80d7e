"""Judges durable tasks in a trace: what their steps did and what is recorded, signals and who took them, children."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.case import Case
from tests.chaos.explaining import Lags, explain
from tests.chaos.judge import ENDED, SETTLED
from tests.evidence.trace import Ending, Execution, Fault, Line, Note, Operation, Phase

Detail = dict[str, Any]
TOLD = 20


@dataclass
class Durable:
    """What a trace says of durable tasks."""

    case: Case
    lags: Lags
    notes: dict[str, list[Note]] = field(default_factory=lambda: defaultdict(list))
    accepted: set[str] = field(default_factory=set)
    """The ids of signals that were acknowledged."""

    def about(self, what: str) -> Iterator[tuple[str, Detail]]:
        """Yield the notes of a kind, with the task that each is about."""
        return ((note.task or "", note.detail) for note in self.notes[what])

    def is_completed(self, task: str) -> bool:
        """Tell whether a task has completed."""
        return task in self.case.endings and self.case.endings[task].state == "COMPLETED"


def judge_durable(lines: Iterable[Line]) -> dict[str, Any]:
    """Return the verdict on durable tasks."""
    known = list(lines)
    case = Case(known)
    durable = Durable(case, Lags(case))
    for line in known:
        match line:
            case Note():
                durable.notes[line.what].append(line)
            case Operation(what="signal", phase=Phase.OK):
                durable.accepted.add(line.detail["id"])
            case _:
                pass
    repeats = list(_repeats(durable))
    findings = [finding for check in CHECKS for finding in check(durable)]
    findings += [f"{effect} is not recorded, and no fault explains it" for effect, fault in repeats if fault is None]
    return {"good": not findings, "said": _said(durable, repeats, findings), "findings": findings[:TOLD]}


def _said(durable: Durable, repeats: list[tuple[str, Fault | None]], findings: list[str]) -> str:
    names = Counter(detail["name"] for _, detail in durable.about("durable"))
    taken = sum(detail["taken_by"] is not None for _, detail in durable.about("signal"))
    steps = sum(detail["kind"] == "step" for _, detail in durable.about("record"))
    causes = Counter(f"{fault.kind} {fault.target}" for _, fault in repeats if fault)
    told = ", ".join(f"{cause} {count}" for cause, count in causes.most_common())
    return (
        f"{sum(names.values())} durable tasks ({', '.join(f'{count} {name}' for name, count in names.most_common())}), "
        f"{steps} steps recorded of {len(durable.notes['effect'])} effects, "
        f"{len(repeats)} effects without a record ({told or 'none'}), "
        f"{len(durable.accepted)} signals acknowledged, {taken} taken, "
        f"{len(durable.notes['child'])} children, {len(findings)} findings"
    )


def _repeats(durable: Durable) -> Iterator[tuple[str, Fault | None]]:
    """Yield effects that were not recorded, each with the fault by which its attempt was cut off."""
    recorded = {(task, detail["value"]) for task, detail in durable.about("record") if detail["kind"] == "step"}
    for note in durable.notes["effect"]:
        detail = note.detail
        ending = durable.case.endings.get(note.task or "")
        if (note.task, detail["token"]) in recorded or ending is None:
            continue
        outcome = dict(zip(ending.epochs, ending.attempts, strict=True)).get(detail["epoch"])
        what = f"{note.task}: the effect {detail['token']} of step {detail['key']}, whose attempt was {outcome},"
        if outcome == "cancelled" and durable.case.is_touched(ending.task, "cancel"):
            continue
        yield what, None if outcome in SETTLED - {"retried", "failed"} else _fault(durable, note, detail)


def _fault(durable: Durable, note: Note, detail: Detail) -> Fault | None:
    """Return the fault that kept a record from being written: it came in the life of the lease, as it did for runs."""
    run = Execution(
        at=note.at, task=note.task or "", moment="begin", worker=note.process, pid=detail["pid"], epoch=detail["epoch"]
    )
    return explain(durable.case, durable.lags, run, durable.case.lease_of(run))[0]


def _records(durable: Durable) -> Iterator[str]:
    """Find steps that were recorded twice, of an effect that never was, or under another lease."""
    effects = {(note.task, note.detail["key"], note.detail["token"]) for note in durable.notes["effect"]}
    seen: set[tuple[str, str, str]] = set()
    for task, detail in durable.about("record"):
        name = (task, detail["name"], detail["key"])
        if name in seen:
            yield f"{task}: {detail['name']} {detail['key']} is recorded twice"
        seen.add(name)
        if detail["kind"] != "step":
            continue
        if (task, detail["key"], detail["value"]) not in effects:
            yield f"{task}: step {detail['key']} has a record, {detail['value']}, of an effect that never was"
        elif int(detail["value"].partition(".")[0]) != detail["epoch"]:
            yield f"{task}: the effect {detail['value']} was recorded under lease {detail['epoch']}"


def _results(durable: Durable) -> Iterator[str]:
    """Find completed tasks that returned something other than their records, or not all that was sent to them."""
    records: defaultdict[str, list[Detail]] = defaultdict(list)
    for task, detail in durable.about("record"):
        records[task].append(detail)
    for task, detail in durable.about("durable"):
        if not detail["name"].startswith("durable") or not durable.is_completed(task):
            continue
        result, payload = detail["result"], detail["payload"]
        steps = [each["value"] for each in records[task] if each["kind"] == "step"]
        taken = [each["value"] for each in records[task] if each["kind"] == "signal" and each["status"] == "done"]
        if (steps, taken) != (result["acted"], result["taken"]) or len(steps) != payload["steps"]:
            yield f"{task}: it returned {result}, and its records are {steps} and {taken}"
        if sorted(taken) != list(range(payload["signals"])):
            yield f"{task}: it has taken the signals {taken} of {payload['signals']}"


def _signals(durable: Durable) -> Iterator[str]:
    """Find signals that were acknowledged and are missing, and those that were not taken by one wait only."""
    ids = Counter(detail["id"] for _, detail in durable.about("signal"))
    yield from (f"the signal {id_} was acknowledged, and is missing" for id_ in sorted(durable.accepted - ids.keys()))
    yield from (f"the signal {id_} is there {count} times" for id_, count in ids.items() if count > 1)
    marked: defaultdict[str, list[int]] = defaultdict(list)
    recorded: defaultdict[str, list[int]] = defaultdict(list)
    for _, detail in durable.about("signal"):
        if detail["taken_by"] is not None:
            marked[detail["taken_by"]].append(detail["payload"])
    for task, detail in durable.about("record"):
        if detail["kind"] == "signal" and detail["status"] == "done":
            recorded[task].append(detail["value"])
    for task in marked.keys() | recorded.keys():
        if sorted(marked[task]) != sorted(recorded[task]):
            yield f"{task}: signals {sorted(marked[task])} are taken, and {sorted(recorded[task])} are recorded"


def _families(durable: Durable) -> Iterator[str]:
    """Find children without a parent, with two calls or without an end, and parents with other children than theirs."""
    children: defaultdict[str, list[tuple[str, Detail]]] = defaultdict(list)
    seen: set[str] = set()
    for child, detail in durable.about("child"):
        children[detail["parent"]].append((child, detail))
        if child in seen:
            yield f"{child}: it is the child of two calls"
        seen.add(child)
        yield from _child(durable.case.endings.get(child), child, detail)
    for task, detail in durable.about("durable"):
        if detail["name"] in {"leaf", "hold"} and task not in seen:
            yield f"{task}: it has no parent"
        if detail["name"] == "family" and durable.is_completed(task):
            depth, width = detail["payload"]["depth"], detail["payload"]["width"]
            if detail["result"] != workers_of(depth, width):
                yield f"{task}: {detail['result']} tasks have worked for it, and not {workers_of(depth, width)}"
            if len(children[task]) != (width + 3 if depth else 0):
                yield f"{task}: it has {len(children[task])} children"
    yield from (f"{task}: what has to be done about its children was left" for task, _ in durable.about("left"))


def _child(ending: Ending | None, child: str, detail: Detail) -> Iterator[str]:
    if ending is None or ending.state not in ENDED:
        yield f"{child}: it is an orphan of {detail['parent']}: {ending and ending.state}"
    elif detail["state"] != ending.state:
        yield f"{child}: it is {ending.state}, and {detail['state']} to its parent"


def workers_of(depth: int, width: int) -> int:
    """Return how many tasks of a family do something, those that lose a race not counted."""
    return 1 if depth == 0 else 2 + width + workers_of(depth - 1, width)


CHECKS: tuple[Callable[[Durable], Iterator[str]], ...] = (_records, _results, _signals, _families)
