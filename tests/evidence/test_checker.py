"""Our judge accepts what faults explain, and finds each planted violation."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.evidence import checker, trace
from tests.evidence.histories import History
from tests.evidence.trace import Line, Note, Operation, Phase


def good(h: History, task: str = "good", *, worker: str = "w9") -> None:
    h.do("submit", task=task, key=f"key of {task}")
    h.run(task, "begin", "end", worker=worker)
    h.final(task, "COMPLETED", "completed", key=f"key of {task}")


def killed_and_repeated(h: History) -> int:
    h.do("submit", task="t")
    h.run("t", "begin")
    h.fault("kill", "w1")
    h.run("t", "begin", "end", worker="w2", attempt=2)
    h.final("t", "COMPLETED", "crashed", "completed")
    return 1


def stopped_and_late(h: History) -> int:
    h.do("submit", task="t")
    h.fault("stop", "w1", until=20)
    h.run("t", "begin", "end", worker="w2")
    h.read("t", "COMPLETED")
    h.run("t", "begin", "end", worker="w1")
    h.final("t", "COMPLETED", "crashed", "completed")
    return 1


def report_lost_in_an_outage_of_the_store(h: History) -> int:
    h.do("submit", task="t")
    h.run("t", "begin", "end")
    h.fault("cut", "postgres", until=h.now + 5)
    h.run("t", "begin", "end", worker="w2")
    h.final("t", "COMPLETED", "released", "completed")
    return 1


def released_in_an_upgrade(h: History) -> int:
    h.do("submit", task="t")
    h.fault("upgrade", "all")
    h.do("pause")
    h.run("t", "begin")
    h.run("t", "begin", "end", worker="w2")
    h.final("t", "COMPLETED", "released", "completed")
    return 1


def failed_and_retried(h: History) -> int:
    h.do("submit", task="t")
    h.run("t", "begin", "error")
    h.run("t", "begin", "end", worker="w2", attempt=2)
    h.final("t", "COMPLETED", "retried", "completed")
    return 0


def snoozed(h: History) -> int:
    h.do("submit", task="t")
    h.run("t", "begin", "end")
    h.run("t", "begin", "end", worker="w2")
    h.final("t", "COMPLETED", "snoozed", "completed")
    return 0


def cancelled_by_force_and_retried(h: History) -> int:
    h.do("submit", task="t")
    h.run("t", "begin")
    h.do("cancel", task="t", detail={"force": True})
    h.do("retry", task="t")
    h.run("t", "begin", worker="w2")
    h.run("t", "end")
    h.run("t", "end", worker="w2")
    h.final("t", "COMPLETED", "cancelled", "completed")
    return 1


def job_whose_task_was_retried(h: History) -> int:
    h.do("submit_job", task="j", key="k")
    h.run("t", "begin", "error")
    h.do("resume_job", task="j")
    h.run("t", "begin", "end", worker="w2")
    h.final("t", "COMPLETED", "failed", "completed", job="j")
    h.final("u", "COMPLETED", "skipped", "completed", job="j")
    h.run("u", "begin", "end", worker="w2")
    return 0


def limit_under_a_lost_lease(h: History) -> int:
    for task in ("t", "u"):
        h.do("submit", task=task)
    h.run("t", "begin", limit="one/1")
    h.fault("stop", "w1", until=h.now + 9)
    h.run("u", "begin", "end", worker="w2", limit="one/1")
    h.run("t", "end", limit="one/1")
    h.final("t", "COMPLETED", "completed")
    h.final("u", "COMPLETED", "completed")
    return 0


def attempt_that_ran_out_of_time(h: History) -> int:
    h.do("submit", task="t")
    h.run("t", "begin")
    h.run("t", "begin", "end", worker="w2", attempt=2)
    h.final("t", "COMPLETED", "retried", "completed")
    return 0


def cancelled_and_retried_and_out_of_time(h: History) -> int:
    h.do("submit", task="t")
    h.run("t", "begin", "stopped")
    h.do("retry", task="t")
    h.run("t", "begin", "stopped", attempt=2)
    h.run("t", "begin", "end", attempt=3)
    h.final("t", "COMPLETED", "cancelled", "retried", "completed")
    return 1


def unknown_submission_that_was_stored(h: History) -> int:
    h.do("submit", Phase.UNKNOWN, key="k")
    h.run("t", "begin", "end")
    h.final("t", "COMPLETED", "completed", key="k")
    return 0


def task_that_writes_nothing(h: History) -> int:
    h.do("submit", task="t", detail={"unrecorded": True})
    h.final("t", "COMPLETED", "crashed", "completed")
    return 0


def schedule_that_fires_a_job(h: History) -> int:
    for task in ("t", "u"):
        h.run(task, "begin", "end")
        h.final(task, "COMPLETED", "completed", job="j", schedule="s", fire_time="2026-01-01T00:00:00Z")
    h.lines.append(note_of_fire(h.now, "2026-01-01T00:00:00Z"))
    return 0


def note_of_fire(at: float, time: str) -> Note:
    return Note(at=at, process="scheduler", what="fired", detail={"schedule": "s", "fire_time": time})


@pytest.mark.parametrize(
    "tell",
    [
        killed_and_repeated, stopped_and_late, report_lost_in_an_outage_of_the_store,
        released_in_an_upgrade, failed_and_retried, snoozed,
        cancelled_by_force_and_retried, job_whose_task_was_retried, limit_under_a_lost_lease,
        attempt_that_ran_out_of_time, cancelled_and_retried_and_out_of_time,
        unknown_submission_that_was_stored, task_that_writes_nothing,
        schedule_that_fires_a_job,
    ],
)  # fmt: skip
def test_what_faults_and_operators_explain_is_accepted_and_told(tell: Callable[[History], int]) -> None:
    history = History()
    good(history)
    explained = tell(history)

    judgement = checker.judge(history.lines)

    assert judgement.findings == []
    assert len(judgement.explanations) == explained


def repeated_after_the_kill_of_another_process(h: History) -> str:
    h.do("submit", task="t")
    h.run("t", "begin", worker="w1.1", epoch=1)
    h.fault("kill", "w1.2")
    h.run("t", "begin", "end", worker="w2.1", epoch=2)
    h.final("t", "COMPLETED", "crashed", "completed")
    return (
        "t ran twice: the execution on w2.1 at 4.000 began after the execution on w1.1 at 2.000, "
        "and no fault explains it"
    )


def repeated_by_a_worker_that_was_cut_off_later(h: History) -> str:
    h.do("submit", task="t")
    h.run("t", "begin", epoch=1)
    h.fault("cut", "w2", until=h.now + 5)
    h.run("t", "begin", "end", worker="w2", epoch=2)
    h.final("t", "COMPLETED", "crashed", "completed")
    return (
        "t ran twice: the execution on w2 at 4.000 began after the execution on w1 at 2.000, and no fault explains it"
    )


def acknowledged_and_gone(h: History) -> str:
    h.do("submit", task="t", key="k")
    return "t was acknowledged at 1.000 and is not in the store in the end"


def task_of_an_acknowledged_job_gone(h: History) -> str:
    h.do("submit_job", task="j", key="k", detail={"tasks": {"a": "t", "b": "u"}})
    h.run("u", "begin", "end")
    h.final("u", "COMPLETED", "completed", job="j")
    return "t was acknowledged at 1.000 and is not in the store in the end"


def task_of_an_acknowledged_batch_gone(h: History) -> str:
    h.do("batch", detail={"tasks": ["t", None]})
    return "t was acknowledged at 1.000 and is not in the store in the end"


def began_after_the_time_that_the_store_says(h: History) -> str:
    h.run("t", "begin", "error")
    h.run("t", "begin", "end", worker="w2")
    h.final("t", "COMPLETED", "retried", "completed", finished=1.0)
    return "t was completed at 1.000, and began again on w2 at 2.000"


def never_ended(h: History) -> str:
    h.do("submit", task="t", key="k")
    h.final("t", "QUEUED", key="k")
    return "t has not ended: it is QUEUED in the end"


def ran_and_gone(h: History) -> str:
    h.run("t", "begin", "end")
    return "t ran and is not in the store in the end"


def two_answers_for_a_key(h: History) -> str:
    for task in ("t", "u"):
        h.do("submit", task=task, key="k")
        h.run(task, "begin", "end")
        h.final(task, "COMPLETED", "completed")
    return "the key k has 2 tasks: t, u"


def two_stored_for_a_key(h: History) -> str:
    h.do("submit", Phase.UNKNOWN, key="k")
    h.do("submit", task="u", key="k")
    for task in ("t", "u"):
        h.run(task, "begin", "end")
        h.final(task, "COMPLETED", "completed", key="k")
    return "the key k has 2 tasks: t, u"


def refused_and_stored(h: History) -> str:
    h.do("submit", Phase.FAIL, key="k")
    h.run("t", "begin", "end")
    h.final("t", "COMPLETED", "completed", key="k")
    return "the key k has a task though every submission of it was refused"


def twice_for_nothing(h: History) -> str:
    h.do("submit", task="t")
    h.run("t", "begin")
    h.run("t", "begin", "end", worker="w2", attempt=2)
    h.final("t", "COMPLETED", "crashed", "completed")
    return (
        "t ran twice: the execution on w2 at 3.000 began after the execution on w1 at 2.000, and no fault explains it"
    )


def twice_though_another_worker_was_killed(h: History) -> str:
    h.run("t", "begin")
    h.fault("kill", "w9")
    h.run("t", "begin", "end", worker="w2", attempt=2)
    h.final("t", "COMPLETED", "crashed", "completed")
    return (
        "t ran twice: the execution on w2 at 2.000 began after the execution on w1 at 0.000, and no fault explains it"
    )


def twice_because_redis_was_emptied(h: History) -> str:
    h.run("t", "begin")
    h.fault("flush", "redis")
    h.run("t", "begin", "end", worker="w2", attempt=2)
    h.final("t", "COMPLETED", "crashed", "completed")
    return (
        "t ran twice: the execution on w2 at 2.000 began after the execution on w1 at 0.000, and no fault explains it"
    )


def twice_because_the_queue_was_frozen(h: History) -> str:
    h.do("submit", task="t")
    h.run("t", "begin")
    h.fault("freeze", "queue", until=h.now + 9)
    h.run("t", "begin", "end", worker="w2", attempt=2)
    h.final("t", "COMPLETED", "crashed", "completed")
    return (
        "t ran twice: the execution on w2 at 4.000 began after the execution on w1 at 2.000, and no fault explains it"
    )


def twice_though_stops_are_noted(h: History) -> str:
    h.do("submit", task="t")
    h.run("t", "begin")
    h.run("t", "begin", "stopped", worker="w2", attempt=2)
    h.run("t", "begin", "end", worker="w3", attempt=3)
    h.final("t", "COMPLETED", "retried", "retried", "completed")
    return (
        "t ran twice: the execution on w2 at 3.000 began after the execution on w1 at 2.000, and no fault explains it"
    )


def twice_long_after_a_fault(h: History) -> str:
    h.fault("stop", "w1", until=1)
    for _ in range(3):
        h.do("pause")
    h.run("t", "begin")
    h.run("t", "begin", "end", worker="w2", attempt=2)
    h.final("t", "COMPLETED", "crashed", "completed")
    return (
        "t ran twice: the execution on w2 at 8.000 began after the execution on w1 at 7.000, and no fault explains it"
    )


def again_after_completion(h: History) -> str:
    h.run("t", "begin", "error")
    h.read("t", "COMPLETED")
    h.run("t", "begin", "end", worker="w2")
    h.final("t", "COMPLETED", "retried", "completed")
    return "t was completed at 3.000, and began again on w2 at 4.000"


def again_after_a_settlement(h: History) -> str:
    h.run("t", "begin", "error")
    h.lines.append(Note(at=h.now, process="engine", what="settled", task="t", detail={"outcome": "completed"}))
    h.run("t", "begin", "end", worker="w2")
    h.final("t", "COMPLETED", "retried", "completed")
    return "t was completed at 2.000, and began again on w2 at 3.000"


def completed_without_an_end(h: History) -> str:
    h.run("t", "begin", "error")
    h.final("t", "COMPLETED", "completed")
    return "t is recorded as completed, and no execution has come to its end"


def completed_twice(h: History) -> str:
    h.run("t", "begin", "end")
    h.fault("kill", "w1")
    h.run("t", "begin", "end", worker="w2")
    h.final("t", "COMPLETED", "completed", "completed")
    return "t was completed 2 times"


def more_executions_than_attempts(h: History) -> str:
    h.run("t", "begin", "error")
    h.run("t", "begin", "end")
    h.final("t", "COMPLETED", "completed")
    return "t ran 2 times in 1 attempts"


def attempts_that_never_ran(h: History) -> str:
    h.run("t", "begin", "end")
    h.final("t", "COMPLETED", "retried", "completed")
    return "t has 2 attempts that ran, and 1 executions"


def state_that_is_not_the_last_outcome(h: History) -> str:
    h.run("t", "begin", "end")
    h.final("t", "FAILED", "completed")
    return "t is FAILED, and its last attempt was completed"


def failed_and_yet_again(h: History) -> str:
    h.run("t", "begin", "error")
    h.run("t", "begin", "end")
    h.final("t", "COMPLETED", "failed", "completed")
    return "t had an attempt after it was failed, and no operator has retried it"


def ended_elsewhere(h: History) -> str:
    h.run("t", "begin", "end")
    h.run("t", "end", worker="w2")
    h.final("t", "COMPLETED", "completed")
    return "t ended on w2 at 2.000 without having begun there"


def limit_exceeded(h: History) -> str:
    for number in range(3):
        h.run(f"t{number}", "begin", limit="mails/2")
    for number in range(3):
        h.run(f"t{number}", "end", limit="mails/2")
        h.final(f"t{number}", "COMPLETED", "completed")
    return "the limit mails/2 was exceeded at 2.000: 3 executions held it"


def fired_twice(h: History) -> str:
    for task in ("t", "u"):
        h.run(task, "begin", "end")
        h.final(task, "COMPLETED", "completed", schedule="s", fire_time="2026-01-01T00:00:00Z")
    return "the schedule s fired 2 times for 2026-01-01T00:00:00Z"


def fired_and_gone(h: History) -> str:
    h.lines.append(note_of_fire(h.now, "2026-01-01T00:00:00Z"))
    return "the schedule s fired for 2026-01-01T00:00:00Z, and no task of it is in the store in the end"


@pytest.mark.parametrize(
    "plant",
    [
        acknowledged_and_gone, task_of_an_acknowledged_job_gone, task_of_an_acknowledged_batch_gone,
        began_after_the_time_that_the_store_says,
        never_ended, ran_and_gone, two_answers_for_a_key, two_stored_for_a_key,
        refused_and_stored, twice_for_nothing, twice_though_another_worker_was_killed, twice_because_redis_was_emptied,
        twice_because_the_queue_was_frozen, twice_though_stops_are_noted,
        repeated_after_the_kill_of_another_process, repeated_by_a_worker_that_was_cut_off_later,
        twice_long_after_a_fault, again_after_completion, again_after_a_settlement, completed_without_an_end,
        completed_twice, more_executions_than_attempts, attempts_that_never_ran, state_that_is_not_the_last_outcome,
        failed_and_yet_again, ended_elsewhere, limit_exceeded, fired_twice, fired_and_gone,
    ],
)  # fmt: skip
def test_a_planted_violation_is_said_in_a_sentence(plant: Callable[[History], str]) -> None:
    history = History()
    sentence = plant(history)
    good(history)

    assert sentence in checker.judge(history.lines).findings


def test_the_fault_of_the_worker_itself_explains_best() -> None:
    history = History()
    history.fault("cut", "api", until=99)
    history.run("t", "begin")
    history.fault("restart", "postgres")
    history.fault("kill", "w1")
    history.fault("delay", "api", until=99)
    history.run("t", "begin", "end", worker="w2", attempt=2)
    history.final("t", "COMPLETED", "crashed", "completed")

    (explanation,) = checker.judge(history.lines).explanations

    assert explanation.endswith("explained by kill of w1 at 3.000")


def test_tasks_may_wait_if_the_caller_says_so() -> None:
    history = History()
    history.do("submit", task="t")
    history.final("t", "QUEUED")

    assert checker.judge(history.lines, may_wait=True).findings == []


def test_what_is_judged_is_counted() -> None:
    history = History()
    good(history)
    killed_and_repeated(history)

    judgement = checker.judge(history.lines)

    assert (judgement.acknowledged, judgement.executions, judgement.faults) == (2, 3, 1)


def test_the_command_says_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History()
    sentence = acknowledged_and_gone(history)
    history.write(tmp_path / "trace.jsonl")
    monkeypatch.setattr("sys.argv", ["checker", str(tmp_path / "trace.jsonl")])

    assert checker.main() == 1
    assert f"FOUND {sentence}\n" in capsys.readouterr().out


def test_a_trace_is_read_as_it_was_written(tmp_path: Path) -> None:
    history = History()
    good(history)
    again_after_a_settlement(history)
    history.fault("kill", "w1", until=3)

    lines: list[Line] = list(trace.read(history.write(tmp_path / "trace.jsonl")))

    assert lines == history.lines
    assert isinstance(lines[0], Operation)
