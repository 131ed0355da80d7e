"""The judge of durable tasks finds what is wrong with a trace."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.chaos.durable_judge import judge_durable
from tests.evidence.trace import Ending, Execution, Fault, Line, Note, Operation, Phase


def note(what: str, task: str, at: float = 9.0, process: str = "store", **detail: Any) -> Note:
    return Note(at=at, process=process, what=what, task=task, detail=detail)


def effect(task: str, token: str, *, at: float, pid: int = 7) -> Note:
    return note("effect", task, at, "near-1", key="0", token=token, epoch=int(token[0]), pid=pid)


def record(task: str, value: object, *, kind: str = "step", name: str = "act", key: str = "0", epoch: int = 1) -> Note:
    return note("record", task, kind=kind, name=name, key=key, status="done", epoch=epoch, value=value)


def begun(task: str, epoch: int, at: float, pid: int = 7) -> Execution:
    return Execution(at=at, task=task, moment="begin", worker="near-1", pid=pid, epoch=epoch)


def ending(task: str, *attempts: str, state: str = "COMPLETED") -> Ending:
    epochs = tuple(range(1, len(attempts) + 1))
    return Ending(at=9.0, task=task, state=state, attempts=attempts, epochs=epochs, finished=8.0)


def steps_and_a_signal() -> list[Line]:
    """A worker was killed between an effect and its record; the signal was taken by the next."""
    payload = {"steps": 1, "signals": 1}
    return [
        begun("a", 1, 1.0),
        effect("a", "1.7", at=1.1),
        Fault(at=1.2, kind="kill", target="near-1", until=1.4, detail={"pid": 7}),
        begun("a", 2, 2.0, pid=8),
        effect("a", "2.8", at=2.1, pid=8),
        Operation(at=2.5, op=1, client="c", what="signal", phase=Phase.OK, task="a", detail={"id": "a.0"}),
        record("a", "2.8", epoch=2),
        record("a", 0, kind="signal", name="go", key="1", epoch=2),
        note("signal", "a", id="a.0", taken_by="a", payload=0),
        note("durable", "a", name="durable", payload=payload, result={"acted": ["2.8"], "taken": [0]}),
        ending("a", "crashed", "completed"),
    ]


def a_family() -> list[Line]:
    calls = {"deeper": "family", "map": "leaf", "quick": "leaf", "slow": "hold"}
    lines: list[Line] = [
        note("durable", "p", name="family", payload={"depth": 1, "width": 1}, result=4),
        ending("p", "parked", "completed"),
    ]
    for child, name in calls.items():
        state = "CANCELLED" if name == "hold" else "COMPLETED"
        lines += [
            note("child", child, parent="p", call=[name, "", 0], state=state),
            note("durable", child, name=name, payload={"depth": 0, "width": 1}, result=1),
            ending(child, state.lower(), state=state),
        ]
    return lines


@pytest.mark.parametrize("lines", [steps_and_a_signal(), a_family()])
def test_a_trace_without_a_fault_of_the_system_is_good(lines: list[Line]) -> None:
    assert judge_durable(lines)["findings"] == []


def without(what: str, **detail: Any) -> Callable[[list[Line]], list[Line]]:
    def change(lines: list[Line]) -> list[Line]:
        return [
            line
            for line in lines
            if not (isinstance(line, Note) and line.what == what and detail.items() <= line.detail.items())
        ]

    return change


def changed(what: str, task: str, **detail: Any) -> Callable[[list[Line]], list[Line]]:
    def change(lines: list[Line]) -> list[Line]:
        return [
            msgspec.structs.replace(line, detail=line.detail | detail)
            if isinstance(line, Note) and (line.what, line.task) == (what, task)
            else line
            for line in lines
        ]

    return change


def plus(*more: Line) -> Callable[[list[Line]], list[Line]]:
    return lambda lines: [*lines, *more]


def without_faults(lines: list[Line]) -> list[Line]:
    return [line for line in lines if not isinstance(line, Fault)]


def kill_of_another(lines: list[Line]) -> list[Line]:
    return [msgspec.structs.replace(line, detail={"pid": 9}) if isinstance(line, Fault) else line for line in lines]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without_faults, "is not recorded, and no fault explains it"),
        (kill_of_another, "is not recorded, and no fault explains it"),
        (plus(effect("a", "2.9", at=2.2, pid=8)), "whose attempt was completed, is not recorded"),
        (plus(record("a", "2.8", epoch=2)), "recorded twice"),
        (without("effect", token="2.8"), "of an effect that never was"),
        (changed("record", "a", epoch=1), "was recorded under lease 1"),
        (without("signal"), "was acknowledged, and is missing"),
        (plus(note("signal", "a", id="a.0", taken_by=None, payload=0)), "is there 2 times"),
        (without("record", kind="signal"), "are taken, and [] are recorded"),
        (changed("signal", "a", taken_by=None), "signals [] are taken"),
        (changed("durable", "a", result={"acted": ["1.7"], "taken": [0]}), "and its records are"),
        (changed("durable", "a", payload={"steps": 1, "signals": 2}), "it has taken the signals [0] of 2"),
    ],
)
def test_what_is_wrong_with_steps_and_signals_is_found(change: Callable[[list[Line]], list[Line]], said: str) -> None:
    findings = judge_durable(change(steps_and_a_signal()))["findings"]

    assert any(said in finding for finding in findings), findings


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without("child", parent="p"), "it has no parent"),
        (plus(ending("slow", state="QUEUED")), "it is an orphan of p"),
        (changed("child", "map", state=None), "it is COMPLETED, and None to its parent"),
        (plus(note("child", "map", parent="p", call=["again", "", 0], state="COMPLETED")), "the child of two calls"),
        (plus(note("left", "p", kind=1)), "what has to be done about its children was left"),
        (changed("durable", "p", result=3), "3 tasks have worked for it, and not 4"),
    ],
)
def test_what_is_wrong_with_families_is_found(change: Callable[[list[Line]], list[Line]], said: str) -> None:
    findings = judge_durable(change(a_family()))["findings"]

    assert any(said in finding for finding in findings), findings
