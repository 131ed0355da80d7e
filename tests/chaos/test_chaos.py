"""A few seconds of chaos, and judges that must find what is wrong with a trace."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.chaos.judge import judge
from tests.evidence.trace import Ending, Execution, Fault, Line, Operation, Phase
from tests.harness import postgres, redis

Life = tuple[float, float]
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


def ran(
    task: str, epoch: int = 1, *, began: float, ended: float | None, worker: str = "near-1", pid: int = 7
) -> list[Line]:
    begin = Execution(at=began, task=task, moment="begin", worker=worker, pid=pid, epoch=epoch)
    end = [] if ended is None else [msgspec.structs.replace(begin, at=ended, moment="end")]
    return [begin, *end]


def ending(
    task: str, *attempts: str, state: str = "COMPLETED", key: str | None = None, lives: list[Life] | None = None
) -> Ending:
    """Say how a task ended; `lives` are the times at which the store gave and gave up each lease."""
    known = lives or [(0.2, 2.0)] * len(attempts)
    return Ending(
        at=99.0,
        task=task,
        state=state,
        attempts=attempts,
        epochs=tuple(range(1, len(attempts) + 1)),
        leased=tuple(since for since, _ in known),
        ended=tuple(until for _, until in known),
        key=key,
        finished=max((until for _, until in known), default=None),
    )


def undisturbed(at: float, lag: float) -> list[Line]:
    """Return a task of another worker whose claim was answered at once, and whose report took some time."""
    task = f"u{at}"
    run = ran(task, began=at, ended=at + 0.1, worker="near-3", pid=77)
    return [*run, ending(task, "completed", lives=[(at, at + 0.1 + lag)])]


def test_an_acknowledged_task_that_the_store_does_not_have_is_lost() -> None:
    assert judge(submitted("a")).lost == ["a"]


def test_an_acknowledged_task_that_has_not_ended_is_lost() -> None:
    assert judge([*submitted("a"), ending("a", state="QUEUED")]).lost == ["a"]


def test_a_task_that_ran_once_and_completed_is_good() -> None:
    verdict = judge([*submitted("a"), *ran("a", began=1.0, ended=1.5), ending("a", "completed")])

    assert verdict.is_good
    assert verdict.doubles == []


def test_an_execution_after_completion_is_a_violation() -> None:
    twice = [*ran("a", began=1.0, ended=1.5), *ran("a", 2, began=3.0, ended=3.5)]

    assert judge([*submitted("a"), *twice, ending("a", "crashed", "completed")]).violations


@pytest.mark.parametrize(
    ("began", "outcome", "is_violation"), [(3.2, "crashed", False), (7.0, "crashed", True), (3.2, "parked", True)]
)
def test_only_a_worker_that_was_stopped_and_lost_its_lease_may_begin_after_completion(
    began: float, outcome: str, is_violation: bool
) -> None:
    stop = Fault(at=0.5, kind="stop", target="near-2", until=3.0, detail={"pid": 9})
    late = ran("a", 1, began=began, ended=began + 0.1, worker="near-2", pid=9)
    end = ending("a", outcome, "completed", lives=[(0.4, 0.9), (0.95, 2.0)])

    verdict = judge([*submitted("a"), stop, *ran("a", 2, began=1.0, ended=1.5), *late, end])

    assert bool(verdict.violations) is is_violation


@pytest.mark.parametrize(
    ("target", "pid", "is_explained"),
    [("near-1", 7, True), ("near-1", 8, False), ("near-2", 7, False), ("redis", 7, False)],
)
def test_a_double_is_explained_by_a_fault_of_its_worker_only(target: str, pid: int, is_explained: bool) -> None:
    kill = Fault(at=1.2, kind="kill", target=target, until=1.3, detail={"pid": pid})
    runs = [*ran("a", began=1.0, ended=None), *ran("a", 2, began=1.8, ended=1.9, worker="near-2", pid=9)]

    end = ending("a", "crashed", "completed", lives=[(0.9, 1.7), (1.75, 2.0)])

    verdict = judge([*submitted("a"), kill, *runs, end])

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
    runs = [*ran("a", began=1.0, ended=None), *ran("a", 2, began=1.8, ended=1.9, worker="near-2", pid=9)]

    end = ending("a", "crashed", "completed", lives=[(0.9, 1.7), (1.75, 2.0)])

    verdict = judge([*submitted("a"), fault, *runs, end])

    assert verdict.is_good is is_explained


@pytest.mark.parametrize(("seconds", "how"), [(12.0, "session expired"), (1.0, "may have lost")])
def test_a_short_stop_is_not_said_to_have_ended_a_session(seconds: float, how: str) -> None:
    stop = Fault(at=1.2, kind="stop", target="near-1", until=1.2 + seconds, detail={"pid": 7})
    runs = [*ran("a", began=1.0, ended=None), *ran("a", 2, began=20.0, ended=20.1, worker="near-2", pid=9)]
    end = ending("a", "crashed", "completed", lives=[(0.9, 19.9), (19.95, 20.2)])

    (double,) = judge([*submitted("a"), stop, *runs, end]).doubles

    assert how in double.how


@pytest.mark.parametrize("outcome", ["crashed", "released"])
def test_a_fault_in_the_life_of_a_lease_explains_its_loss_however_late_its_execution_began(outcome: str) -> None:
    lost = Fault(at=2.0, kind="lose_reply", target="postgres-wire", until=2.5)
    runs = [*ran("a", began=9.0, ended=9.1), *ran("a", 2, began=13.0, ended=13.1)]
    end = ending("a", outcome, "completed", lives=[(2.2, 12.0), (12.5, 13.2)])

    assert judge([*submitted("a"), lost, *runs, end]).is_good


@pytest.mark.parametrize(
    ("at", "until"), [(2.0, 3.0), (12.2, 12.3)], ids=["before the lease was given", "after it was given up"]
)
def test_a_fault_outside_the_life_of_a_lease_explains_nothing(at: float, until: float) -> None:
    cut = Fault(at=at, kind="cut", target="postgres-wire", until=until)
    runs = [*ran("a", began=9.0, ended=None), *ran("a", 2, began=13.0, ended=13.1)]
    end = ending("a", "released", "completed", lives=[(6.0, 12.0), (12.9, 13.2)])

    assert len(judge([*submitted("a"), cut, *runs, end]).unexplained) == 1


@pytest.mark.parametrize(("until", "is_explained"), [(9.0, True), (3.0, False)])
def test_a_session_that_died_is_explained_by_what_silenced_it_before_its_last_lease(
    until: float, is_explained: bool
) -> None:
    cut = Fault(at=1.0, kind="cut", target="postgres-wire", until=until)
    runs = [*ran("a", began=12.0, ended=None), *ran("a", 2, began=24.0, ended=24.1, worker="near-2", pid=9)]
    end = ending("a", "crashed", "completed", lives=[(11.9, 22.0), (23.9, 24.2)])

    assert judge([*submitted("a"), cut, *runs, end]).is_good is is_explained


@pytest.mark.parametrize(("at", "lag", "is_explained"), [(2.4, 0.1, True), (6.0, 0.1, False), (6.0, 3.0, True)])
def test_a_fault_explains_an_execution_that_has_ended_while_its_report_may_be_on_its_way(
    at: float, lag: float, is_explained: bool
) -> None:
    cut = Fault(at=at, kind="cut", target="postgres-wire", until=at + 0.1)
    runs = [*ran("a", began=1.0, ended=1.5), *ran("a", 2, began=18.0, ended=18.1, worker="near-2", pid=9)]
    end = ending("a", "released", "completed", lives=[(0.9, 17.0), (17.9, 18.2)])

    assert judge([*submitted("a"), cut, *undisturbed(8.0, lag), *runs, end]).is_good is is_explained


def test_a_report_that_a_fault_delayed_does_not_say_how_long_reports_take() -> None:
    faults = [Fault(at=at, kind="cut", target="postgres-wire", until=at + 0.1) for at in (6.0, 9.0)]
    runs = [*ran("a", began=1.0, ended=1.5), *ran("a", 2, began=18.0, ended=18.1, worker="near-2", pid=9)]
    end = ending("a", "released", "completed", lives=[(0.9, 17.0), (17.9, 18.2)])

    assert len(judge([*submitted("a"), *faults, *undisturbed(8.0, 3.0), *runs, end]).unexplained) == 1


def test_what_was_slow_at_another_time_does_not_say_how_long_reports_take_now() -> None:
    cut = Fault(at=6.0, kind="cut", target="postgres-wire", until=6.1)
    runs = [*ran("a", began=1.0, ended=1.5), *ran("a", 2, began=18.0, ended=18.1, worker="near-2", pid=9)]
    end = ending("a", "released", "completed", lives=[(0.9, 17.0), (17.9, 18.2)])
    others = [*undisturbed(8.0, 0.1), *undisturbed(80.0, 9.0)]

    assert len(judge([*submitted("a"), cut, *others, *runs, end]).unexplained) == 1


def test_two_executions_under_one_lease_are_never_explained() -> None:
    kill = Fault(at=1.2, kind="kill", target="near-1", until=1.3, detail={"pid": 7})
    runs = [*ran("a", began=1.0, ended=None), *ran("a", began=1.4, ended=1.6)]

    verdict = judge([*submitted("a"), kill, *runs, ending("a", "completed", "completed")])

    assert [double.fault for double in verdict.doubles] == [None]


def test_an_execution_under_a_lease_that_the_store_does_not_know_is_never_explained() -> None:
    kill = Fault(at=1.2, kind="kill", target="near-1", until=1.3, detail={"pid": 7})
    runs = [*ran("a", began=1.0, ended=None), *ran("a", 2, began=1.8, ended=1.9)]
    end = msgspec.structs.replace(ending("a", "crashed", "completed"), epochs=(3, 2))

    assert len(judge([*submitted("a"), kill, *runs, end]).unexplained) == 1


def test_a_stopped_worker_that_begins_a_lost_attempt_late_is_the_one_to_explain() -> None:
    stop = Fault(at=0.5, kind="stop", target="far-1", until=17.0, detail={"pid": 9})
    late = Execution(at=17.1, task="a", moment="begin", worker="far-1", pid=9, epoch=1)
    first = Execution(at=16.0, task="a", moment="begin", worker="near-1", pid=7, epoch=2)
    done = Execution(at=16.5, task="a", moment="end", worker="near-1", pid=7, epoch=2)
    end = ending("a", "crashed", "completed", lives=[(0.4, 15.9), (15.95, 16.6)])

    verdict = judge([*submitted("a"), stop, first, done, late, end])

    assert [(double.worker, double.fault) for double in verdict.doubles] == [("far-1", stop)]
    assert verdict.is_good


def test_a_key_that_made_two_tasks_is_a_violation() -> None:
    lines = [*submitted("a", 1, "k"), *submitted("b", 2, "k")]
    runs = [*ran("a", began=1.0, ended=1.5), *ran("b", began=1.0, ended=1.5)]

    verdict = judge([*lines, *runs, ending("a", "completed", key="k"), ending("b", "completed", key="k")])

    assert len(verdict.violations) == 2


def test_a_job_that_was_acknowledged_without_its_tasks_is_a_violation() -> None:
    detail = {"needs": {"a": [], "b": ["a"]}, "status": 200}
    job = Operation(at=1.0, op=1, client="c1", what="submit_job", phase=Phase.OK, task="j", key="k", detail=detail)

    assert judge([job]).violations == ["job j was acknowledged with the tasks []"]


def test_more_executions_than_a_limit_allows_are_a_violation() -> None:
    lines: list[Line] = []
    for number in range(4):
        task = f"t{number}"
        begin = Execution(at=1.0 + number / 10, task=task, moment="begin", worker="near-1", limit="three/3")
        lines += [begin, Execution(at=1.8, task=task, moment="end", worker="near-1", limit="three/3")]
        lines.append(ending(task, "completed"))

    assert judge(lines).violations == ["4 tasks ran under a limit of 3 at 1.300"]
