"""A few seconds of chaos, and judges that must find what is wrong with a trace."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.judge import judge
from tests.evidence.trace import Ending, Execution, Fault, Line, Operation, Phase
from tests.harness import postgres, redis

ROOT = Path(__file__).parents[2]
RUN = ["--minutes", "0.08", "--seed", "3", "--every", "0.7", "--rate", "25", "--no-kafka"]
QUICK = ["flush", "restart_redis", "cut", "lose_reply", "crash_postgres", "disk_full", "clock"]
"""Faults whose repair does not wait until the session of a dead worker has expired."""


@pytest.mark.faults
@pytest.mark.services
@pytest.mark.timeout(600)
def test_a_short_run_loses_nothing_and_leaves_a_report(tmp_path: Path) -> None:
    if reason := postgres.missing() or redis.missing():
        pytest.skip(reason)

    command = [sys.executable, "-m", "tests.chaos", *RUN, "--folder", str(tmp_path / "run"), "--only", *QUICK]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["faults"] >= 2
    assert report["submitted"] > 0
    assert report["lost"] == []
    assert report["unexplained"] == 0


def submitted(task: str, op: int = 1, key: str | None = None) -> list[Line]:
    return [
        Operation(at=0.0, op=op, client="c", what="submit", phase=Phase.INVOKE, key=key),
        Operation(
            at=0.1, op=op, client="c", what="submit", phase=Phase.OK, task=task, key=key, detail={"kind": "wait"}
        ),
    ]


def ran(task: str, *, began: float, ended: float | None, worker: str = "near-1", pid: int = 7) -> list[Line]:
    begin = Execution(at=began, task=task, moment="begin", worker=worker, pid=pid)
    end = [] if ended is None else [Execution(at=ended, task=task, moment="end", worker=worker, pid=pid)]
    return [begin, *end]


def ending(task: str, *attempts: str, state: str = "COMPLETED", key: str | None = None) -> Ending:
    return Ending(at=9.0, task=task, state=state, attempts=attempts, key=key, finished=2.0)


def test_an_acknowledged_task_that_the_store_does_not_have_is_lost() -> None:
    assert judge(submitted("a")).lost == ["a"]


def test_an_acknowledged_task_that_has_not_ended_is_lost() -> None:
    assert judge([*submitted("a"), ending("a", state="QUEUED")]).lost == ["a"]


def test_a_task_that_ran_once_and_completed_is_good() -> None:
    verdict = judge([*submitted("a"), *ran("a", began=1.0, ended=1.5), ending("a", "completed")])

    assert verdict.is_good
    assert verdict.doubles == []


def test_an_execution_after_completion_is_a_violation() -> None:
    twice = [*ran("a", began=1.0, ended=1.5), *ran("a", began=3.0, ended=3.5)]

    assert judge([*submitted("a"), *twice, ending("a", "crashed", "completed")]).violations


@pytest.mark.parametrize(("began", "is_violation"), [(3.2, False), (7.0, True)])
def test_only_a_worker_that_was_stopped_may_begin_after_completion(began: float, is_violation: bool) -> None:
    stop = Fault(at=0.5, kind="stop", target="near-2", until=3.0, detail={"pid": 9})
    runs = [*ran("a", began=1.0, ended=1.5), *ran("a", began=began, ended=began + 0.1, worker="near-2", pid=9)]

    verdict = judge([*submitted("a"), stop, *runs, ending("a", "crashed", "completed")])

    assert bool(verdict.violations) is is_violation


@pytest.mark.parametrize(
    ("target", "pid", "is_explained"),
    [("near-1", 7, True), ("near-1", 8, False), ("near-2", 7, False), ("redis", 7, False)],
)
def test_a_double_is_explained_by_a_fault_of_its_worker_only(target: str, pid: int, is_explained: bool) -> None:
    kill = Fault(at=1.2, kind="kill", target=target, until=1.3, detail={"pid": pid})
    runs = [*ran("a", began=1.0, ended=None), *ran("a", began=1.8, ended=1.9, worker="near-2", pid=9)]

    verdict = judge([*submitted("a"), kill, *runs, ending("a", "crashed", "completed")])

    assert [double.fault is not None for double in verdict.doubles] == [is_explained]
    assert verdict.is_good is is_explained


@pytest.mark.parametrize(
    ("kind", "target", "is_explained"),
    [
        ("cut", "postgres-wire", True),
        ("crash_postgres", "postgres", True),
        ("delay", "postgres-wire", False),
        ("cut", "redis-wire", False),
        ("cut", "api-wire", False),
        ("kill", "api-1", False),
        ("kill", "scheduler-1", False),
        ("clock", "near-1", False),
    ],
)
def test_a_double_is_explained_by_what_its_worker_speaks_through_and_loses_answers(
    kind: str, target: str, is_explained: bool
) -> None:
    fault = Fault(at=1.2, kind=kind, target=target, until=1.9)
    runs = [*ran("a", began=1.0, ended=None), *ran("a", began=1.8, ended=1.9, worker="near-2", pid=9)]

    verdict = judge([*submitted("a"), fault, *runs, ending("a", "crashed", "completed")])

    assert verdict.is_good is is_explained


@pytest.mark.parametrize(("seconds", "how"), [(12.0, "session expired"), (1.0, "may have lost")])
def test_a_short_stop_is_not_said_to_have_ended_a_session(seconds: float, how: str) -> None:
    stop = Fault(at=1.2, kind="stop", target="near-1", until=1.2 + seconds, detail={"pid": 7})
    runs = [*ran("a", began=1.0, ended=None), *ran("a", began=20.0, ended=20.1, worker="near-2", pid=9)]
    end = Ending(at=30.0, task="a", state="COMPLETED", attempts=("crashed", "completed"), finished=20.2)

    (double,) = judge([*submitted("a"), stop, *runs, end]).doubles

    assert how in double.how


@pytest.mark.parametrize(("until", "is_explained"), [(6.5, True), (3.0, False)])
def test_a_double_is_explained_by_an_answer_that_was_lost_just_before(until: float, is_explained: bool) -> None:
    lost = Fault(at=2.0, kind="lose_reply", target="postgres-wire", until=until)
    runs = [*ran("a", began=7.0, ended=7.1), *ran("a", began=8.0, ended=8.1)]
    end = Ending(at=9.0, task="a", state="COMPLETED", attempts=("released", "completed"), finished=8.2)

    assert judge([*submitted("a"), lost, *runs, end]).is_good is is_explained


@pytest.mark.parametrize(("at", "is_explained"), [(1.6, True), (4.4, True), (6.0, False)])
def test_a_fault_long_after_the_end_of_an_execution_explains_nothing(at: float, is_explained: bool) -> None:
    cut = Fault(at=at, kind="cut", target="postgres-wire", until=at + 1)
    runs = [*ran("a", began=1.0, ended=1.5), *ran("a", began=18.0, ended=18.1, worker="near-2", pid=9)]
    end = Ending(at=30.0, task="a", state="COMPLETED", attempts=("released", "completed"), finished=18.2)

    assert judge([*submitted("a"), cut, *runs, end]).is_good is is_explained


def test_a_stopped_worker_that_begins_a_lost_attempt_late_is_the_one_to_explain() -> None:
    stop = Fault(at=0.5, kind="stop", target="far-1", until=17.0, detail={"pid": 9})
    late = Execution(at=17.1, task="a", moment="begin", worker="far-1", pid=9, attempt=1)
    first = Execution(at=16.0, task="a", moment="begin", worker="near-1", pid=7, attempt=2)
    done = Execution(at=16.5, task="a", moment="end", worker="near-1", pid=7, attempt=2)
    end = Ending(at=30.0, task="a", state="COMPLETED", attempts=("crashed", "completed"), finished=16.6)

    verdict = judge([*submitted("a"), stop, first, done, late, end])

    assert [(double.worker, double.fault) for double in verdict.doubles] == [("far-1", stop)]
    assert verdict.is_good


def test_a_key_that_made_two_tasks_is_a_violation() -> None:
    lines = [*submitted("a", 1, "k"), *submitted("b", 2, "k")]
    runs = [*ran("a", began=1.0, ended=1.5), *ran("b", began=1.0, ended=1.5)]

    verdict = judge([*lines, *runs, ending("a", "completed", key="k"), ending("b", "completed", key="k")])

    assert len(verdict.violations) == 2


def test_more_executions_than_a_limit_allows_are_a_violation() -> None:
    lines: list[Line] = []
    for number in range(4):
        task = f"t{number}"
        begin = Execution(at=1.0 + number / 10, task=task, moment="begin", worker="near-1", limit="three/3")
        lines += [begin, Execution(at=1.8, task=task, moment="end", worker="near-1", limit="three/3")]
        lines.append(ending(task, "completed"))

    assert judge(lines).violations == ["4 tasks ran under a limit of 3 at 1.300"]
