"""Porcupine accepts what the system may do, and finds each planted violation."""

from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.fetch_programs import MODULES, PORCUPINE
from scripts.programs import components, find_program, missing
from tests.evidence import linearizable
from tests.evidence.histories import History
from tests.evidence.linearizable import Verdict
from tests.evidence.trace import Phase

UNKNOWN, FAIL = Phase.UNKNOWN, Phase.FAIL


@pytest.fixture(scope="module", autouse=True)
def judge_is_built() -> None:
    if absent := missing("porcupine"):
        pytest.skip(absent)
    linearizable.program()


def judged(history: History, folder: Path, *, slack: float = 0, stale: float = 0) -> Verdict:
    return linearizable.judge(history.write(folder / "trace.jsonl"), slack=slack, stale=stale)


def whole_life(h: History) -> None:
    h.do("submit", task="t", key="k")
    h.read("t", "PENDING", "QUEUED")
    h.run("t", "begin")
    h.read("t", "PROCESSING")
    h.run("t", "error")
    h.read("t", "PENDING")
    h.run("t", "begin", "end", attempt=2)
    h.read("t", "PROCESSING", "COMPLETED", "COMPLETED")
    h.do("submit", task="t", key="k", client="c2")
    h.do("cancel", FAIL, task="t")
    h.final("t", "COMPLETED", "retried", "completed", key="k")


def submission_that_takes_effect_later(h: History) -> None:
    h.do("submit", UNKNOWN, key="k")
    h.do("read", key="k", state="none")
    h.run("t", "begin", "end")
    h.do("submit", task="t", key="k")
    h.final("t", "COMPLETED", "completed", key="k")


def submission_that_comes_to_nothing(h: History) -> None:
    h.do("submit", UNKNOWN, key="k")
    h.do("read", key="k", state="none")


def submissions_at_once(h: History) -> None:
    first, second = h.begin("submit", key="k"), h.begin("submit", key="k", client="c2")
    h.end(second, "submit", task="t", key="k", client="c2")
    h.end(first, "submit", task="t", key="k")


def cancelled_while_it_waits(h: History) -> None:
    h.do("submit", task="t")
    h.do("cancel", task="t")
    h.do("cancel", task="t")
    h.read("t", "CANCELLED")
    h.final("t", "CANCELLED")


def cancelled_too_late(h: History) -> None:
    h.do("submit", task="t")
    h.run("t", "begin")
    h.do("cancel", task="t")
    h.run("t", "end")
    h.final("t", "COMPLETED", "completed")


def cancelled_between_claim_and_begin(h: History) -> None:
    h.do("submit", task="t")
    h.read("t", "PROCESSING")
    h.do("cancel", task="t")
    h.run("t", "begin", "end")
    h.final("t", "COMPLETED", "completed")


def cancellation_that_takes_effect_later(h: History) -> None:
    h.do("submit", task="t")
    h.do("cancel", UNKNOWN, task="t")
    h.read("t", "QUEUED", "CANCELLED")


def retried_by_an_operator(h: History) -> None:
    h.do("submit", task="t")
    h.run("t", "begin", "error")
    h.read("t", "FAILED")
    h.do("retry", task="t")
    h.read("t", "QUEUED")
    h.run("t", "begin", "end")
    h.read("t", "COMPLETED")


def late_worker(h: History) -> None:
    h.do("submit", task="t")
    h.fault("stop", "w1")
    h.run("t", "begin", "end", worker="w2")
    h.read("t", "COMPLETED")
    h.run("t", "begin", "end", worker="w1")
    h.final("t", "COMPLETED", "crashed", "completed")


def task_of_a_job_is_skipped_and_resumed(h: History) -> None:
    h.do("submit_job", task="j", key="k")
    h.read("t", "PENDING", "SKIPPED")
    h.do("resume_job", task="j")
    h.read("t", "PENDING")
    h.run("t", "begin", "end")
    h.final("t", "COMPLETED", "completed", job="j")


def job_whose_first_submission_was_not_answered(h: History) -> None:
    h.do("submit_job", UNKNOWN, key="k")
    h.run("t", "begin", "end")
    h.do("submit_job", task="j", key="k", detail={"tasks": {"a": "t", "b": "u"}})
    h.read("u", "PENDING")
    h.run("u", "begin", "end")
    h.final("t", "COMPLETED", "completed", job="j")
    h.final("u", "COMPLETED", "completed", job="j")


def operation_on_many_that_is_carried_out_later(h: History) -> None:
    h.do("batch", detail={"tasks": ["t"]})
    h.do("bulk", detail={"act": "cancel"})
    h.read("t", "QUEUED", "CANCELLED")


def task_that_expires(h: History) -> None:
    h.do("submit", task="t", detail={"expires": True})
    h.final("t", "CANCELLED")


def attempt_that_ran_out_of_time(h: History) -> None:
    h.do("submit", task="t")
    h.run("t", "begin")
    h.run("t", "begin", "end", worker="w2", attempt=2)
    h.final("t", "COMPLETED", "retried", "completed")


def task_that_writes_nothing(h: History) -> None:
    h.do("submit", task="t", detail={"unrecorded": True})
    h.do("submit", task="u")
    h.run("u", "begin", "end")
    h.final("t", "COMPLETED", "completed")


@pytest.mark.parametrize(
    "tell",
    [
        whole_life, submission_that_takes_effect_later, submission_that_comes_to_nothing, submissions_at_once,
        cancelled_while_it_waits, cancelled_too_late, cancelled_between_claim_and_begin,
        cancellation_that_takes_effect_later, retried_by_an_operator, late_worker, task_of_a_job_is_skipped_and_resumed,
        job_whose_first_submission_was_not_answered, operation_on_many_that_is_carried_out_later,
        attempt_that_ran_out_of_time, task_that_expires, task_that_writes_nothing,
    ],
)  # fmt: skip
def test_what_the_system_may_do_is_linearizable(tell: Callable[[History], None], tmp_path: Path) -> None:
    history = History()
    tell(history)

    verdict = judged(history, tmp_path)

    assert (verdict.verdict, verdict.illegal, verdict.ignored) == ("linearizable", [], {})
    assert verdict.operations > 0


def two_tasks_of_one_key(h: History) -> str:
    h.do("submit", task="t", key="k")
    h.do("submit", task="u", key="k", client="c2")
    return "key k"


def key_that_is_forgotten(h: History) -> str:
    h.do("submit", task="t", key="k")
    h.do("read", key="k", state="none")
    return "key k"


def second_task_found_under_a_key(h: History) -> str:
    h.do("submit", UNKNOWN, key="k")
    h.do("submit", task="t", key="k")
    h.final("t", "QUEUED", key="k")
    h.final("u", "QUEUED", key="k")
    return "key k"


def refused_submission_that_is_stored(h: History) -> str:
    h.do("submit", FAIL, key="k")
    h.final("t", "QUEUED", key="k")
    return "key k"


def one_task_for_two_submissions(h: History) -> str:
    h.do("submit", task="t")
    h.do("submit", task="t", client="c2")
    return "task t"


def acknowledged_task_that_is_gone(h: History) -> str:
    h.do("submit", task="t")
    h.read("t", "QUEUED", "none")
    return "task t"


def task_of_a_job_that_ran_before_it(h: History) -> str:
    h.run("t", "begin")
    h.do("job", key="k", detail={"job": "j", "tasks": ["t"]})
    return "task t"


def two_jobs_of_one_key(h: History) -> str:
    h.do("job", key="k", detail={"job": "j", "tasks": ["t"]})
    h.do("job", key="k", detail={"job": "i", "tasks": ["u"]})
    return "key k"


def completed_task_that_waits_again(h: History) -> str:
    h.do("submit", task="t")
    h.run("t", "begin", "end")
    h.read("t", "COMPLETED", "QUEUED")
    return "task t"


def completed_before_its_execution_ended(h: History) -> str:
    h.do("submit", task="t")
    h.run("t", "begin")
    h.read("t", "COMPLETED")
    h.run("t", "end")
    return "task t"


def completed_by_an_execution_that_failed(h: History) -> str:
    h.do("submit", task="t")
    h.run("t", "begin", "error")
    h.final("t", "COMPLETED", "completed")
    return "task t"


def completed_by_a_worker_that_lost_its_lease(h: History) -> str:
    h.do("submit", task="t")
    h.run("t", "begin")
    h.fault("stop", "w1")
    h.run("t", "begin", worker="w2", attempt=2)
    h.run("t", "end", worker="w1")
    h.read("t", "COMPLETED")
    h.run("t", "end", worker="w2", attempt=2)
    return "task t"


def execution_after_completion(h: History) -> str:
    h.do("submit", task="t")
    h.run("t", "begin", "end")
    h.read("t", "COMPLETED")
    h.run("t", "begin", worker="w2")
    return "task t"


def execution_after_completion_long_after_a_fault(h: History) -> str:
    h.fault("restart", "postgres")
    h.do("submit", task="u")
    h.read("u", *["QUEUED"] * 40)
    return execution_after_completion(h)


def execution_after_completion_beside_a_frozen_queue(h: History) -> str:
    h.fault("freeze", "queue", until=h.now + 99)
    return execution_after_completion(h)


def task_of_a_batch_cancelled_by_nobody(h: History) -> str:
    h.do("batch", detail={"tasks": ["t"]})
    h.final("t", "CANCELLED", "cancelled")
    return "task t"


def execution_before_submission(h: History) -> str:
    h.run("t", "begin")
    h.do("submit", task="t")
    return "task t"


def cancelled_task_that_runs(h: History) -> str:
    h.do("submit", task="t")
    h.read("t", "QUEUED")
    op = h.begin("cancel", task="t")
    h.read("t", "CANCELLED")
    h.end(op, "cancel", task="t")
    h.run("t", "begin", "end")
    h.final("t", "COMPLETED", "completed")
    return "task t"


def second_attempt_after_cancellation(h: History) -> str:
    h.do("submit", task="t")
    h.run("t", "begin")
    h.do("cancel", task="t")
    h.run("t", "error")
    h.run("t", "begin", "end", attempt=2)
    h.final("t", "COMPLETED", "retried", "completed")
    return "task t"


def forced_cancellation_that_completes(h: History) -> str:
    h.do("submit", task="t")
    h.run("t", "begin")
    h.do("cancel", task="t", detail={"force": True})
    h.run("t", "end")
    h.final("t", "COMPLETED", "completed")
    return "task t"


def cancellation_of_what_was_completed(h: History) -> str:
    h.do("submit", task="t")
    h.run("t", "begin", "end")
    h.read("t", "COMPLETED")
    h.do("cancel", task="t")
    return "task t"


def cancelled_though_nobody_asked(h: History) -> str:
    h.do("submit", task="t")
    h.final("t", "CANCELLED")
    return "task t"


def failed_task_that_runs_by_itself(h: History) -> str:
    h.do("submit", task="t")
    h.run("t", "begin", "error")
    h.read("t", "FAILED")
    h.run("t", "begin", "end", attempt=2)
    return "task t"


def retried_completed_task(h: History) -> str:
    h.do("submit", task="t")
    h.run("t", "begin", "end")
    h.read("t", "COMPLETED")
    h.do("retry", task="t")
    return "task t"


@pytest.mark.parametrize(
    "plant",
    [
        two_tasks_of_one_key, key_that_is_forgotten, second_task_found_under_a_key, refused_submission_that_is_stored,
        one_task_for_two_submissions, acknowledged_task_that_is_gone, task_of_a_job_that_ran_before_it,
        two_jobs_of_one_key, completed_task_that_waits_again,
        completed_before_its_execution_ended, completed_by_an_execution_that_failed,
        completed_by_a_worker_that_lost_its_lease, execution_after_completion, execution_before_submission,
        cancelled_task_that_runs, second_attempt_after_cancellation, forced_cancellation_that_completes,
        cancellation_of_what_was_completed, cancelled_though_nobody_asked, failed_task_that_runs_by_itself,
        retried_completed_task, execution_after_completion_long_after_a_fault,
        execution_after_completion_beside_a_frozen_queue, task_of_a_batch_cancelled_by_nobody,
    ],
)  # fmt: skip
def test_a_planted_violation_is_found_among_good_histories(plant: Callable[[History], str], tmp_path: Path) -> None:
    history = History()
    partition = plant(history)
    for number in range(3):
        history.do("submit", task=f"good {number}", key=f"good {number}")
        history.run(f"good {number}", "begin", "end")
        history.final(f"good {number}", "COMPLETED", "completed", key=f"good {number}")

    verdict = judged(history, tmp_path)

    assert verdict.verdict == "illegal"
    assert [violation.partition for violation in verdict.illegal] == [partition]
    assert verdict.illegal[0].history


def test_the_history_that_is_told_is_the_shortest_beginning_without_reads_that_do_not_matter(tmp_path: Path) -> None:
    history = History()
    history.do("submit", task="t")
    history.read("t", "QUEUED", "QUEUED")
    history.run("t", "begin", "end")
    history.read("t", "COMPLETED", "QUEUED", "QUEUED", "COMPLETED")

    (violation,) = judged(history, tmp_path).illegal

    assert violation.history is not None
    told = [(step["kind"], step.get("state")) for step in violation.history]
    assert told == [("submit", None), ("begin", None), ("end", None), ("read", "COMPLETED"), ("read", "QUEUED")]


def test_a_read_may_be_as_old_as_allowed(tmp_path: Path) -> None:
    history = History()
    history.do("submit", task="t")
    history.run("t", "begin", "end")
    history.read("t", "COMPLETED", "PROCESSING")

    assert judged(history, tmp_path).verdict == "illegal"
    assert judged(history, tmp_path, stale=0.5).verdict == "illegal"
    assert judged(history, tmp_path, stale=5).verdict == "linearizable"


def test_clocks_of_executions_may_differ_as_much_as_allowed(tmp_path: Path) -> None:
    history = History()
    history.do("submit", task="t")
    history.run("t", "begin")
    history.read("t", "COMPLETED")
    history.run("t", "end")

    assert judged(history, tmp_path, slack=0.5).verdict == "illegal"
    assert judged(history, tmp_path, slack=2.5).verdict == "linearizable"


def test_every_task_may_expire_if_the_caller_says_so(tmp_path: Path) -> None:
    history = History()
    cancelled_though_nobody_asked(history)

    assert judged(history, tmp_path).verdict == "illegal"
    assert linearizable.judge(tmp_path / "trace.jsonl", expires=True).verdict == "linearizable"


def test_operations_that_the_model_does_not_know_are_counted(tmp_path: Path) -> None:
    history = History()
    history.do("pause")
    history.do("pause")

    assert judged(history, tmp_path).ignored == {"pause": 2}


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trace.jsonl").write_text("{}\nno line\n")

    with pytest.raises(ValueError, match="line 2"):
        linearizable.judge(tmp_path / "trace.jsonl")


def test_a_thousand_tasks_are_judged_at_once(tmp_path: Path) -> None:
    history = History()
    for number in range(1000):
        history.do("submit", task=f"t{number}", key=f"k{number}", client=f"c{number % 7}")
        history.do("submit", UNKNOWN, key=f"k{number}", client=f"c{number % 7}")
        history.do("cancel", UNKNOWN, task=f"t{number}")
        history.run(f"t{number}", "begin", "end")
        history.read(f"t{number}", "COMPLETED")
        history.final(f"t{number}", "COMPLETED", "completed", key=f"k{number}")

    verdict = judged(history, tmp_path)

    assert (verdict.verdict, verdict.partitions) == ("linearizable", 2000)


def test_the_installer_fetches_the_version_that_the_judge_is_built_from() -> None:
    (wanted,) = (line for line in (PORCUPINE / "go.mod").read_text().splitlines() if line.startswith("require"))
    version = wanted.split()[-1]

    assert components()["porcupine"].files.endswith(f"/porcupine@{version}/go.mod")
    assert MODULES.name == f"porcupine-{version.removeprefix('v')}"
    assert find_program("go")
