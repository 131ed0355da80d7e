"""Traces are compared with the TLA+ specification of leases: what it allows is accepted, and nothing else."""

from collections.abc import Callable

import pytest

from scripts.programs import missing
from tests.evidence import trace, validate
from tests.evidence.histories import History
from tests.evidence.trace import Execution, Note, Phase

pytestmark = pytest.mark.skipif(missing("tlc") is not None, reason=str(missing("tlc")))

Plant = Callable[[History, str], None]


def note(history: History, task: str, what: str, epoch: int, outcome: str = "") -> None:
    """Note a step inside the system."""
    detail = {"epoch": epoch, "outcome": outcome}
    history.lines.append(Note(at=history.now, process="gateway", what=what, task=task, detail=detail))


def ran(history: History, task: str, moment: str, epoch: int) -> None:
    """Note a moment of the run under a lease."""
    history.lines.append(Execution(at=history.now, task=task, moment=moment, worker=f"w{epoch}", epoch=epoch))


def completed(history: History, task: str) -> None:
    history.do("submit", task=task)
    history.run(task, "begin", "end")
    history.read(task, "PROCESSING", "COMPLETED")
    history.final(task, "COMPLETED", "completed")


def retried_after_an_error(history: History, task: str) -> None:
    history.do("submit", task=task)
    history.run(task, "begin", "error")
    history.run(task, "begin", "end", attempt=2)
    history.final(task, "COMPLETED", "retried", "completed")


def killed_and_run_again(history: History, task: str) -> None:
    history.do("submit", task=task)
    history.run(task, "begin")
    history.run(task, "begin", "end", worker="w2", attempt=2)
    history.final(task, "COMPLETED", "crashed", "completed")


def claimed_without_running(history: History, task: str) -> None:
    history.do("submit", task=task)
    history.run(task, "begin", "end")
    history.final(task, "COMPLETED", "released", "completed")


def slow_worker_ends_after_it_was_reaped(history: History, task: str) -> None:
    history.do("submit", task=task)
    history.run(task, "begin", worker="w1")
    history.run(task, "begin", "end", worker="w2", attempt=2)
    history.run(task, "end", worker="w1")
    history.final(task, "COMPLETED", "crashed", "completed")


def parked_and_told_so_late(history: History, task: str) -> None:
    history.do("submit", task=task)
    history.run(task, "begin", worker="w1", epoch=1)
    history.run(task, "begin", "end", worker="w2", attempt=2, epoch=2)
    history.run(task, "parked", worker="w1", epoch=1)
    history.final(task, "COMPLETED", "parked", "completed")


def cancelled_while_it_waited(history: History, task: str) -> None:
    history.do("submit", task=task)
    history.do("cancel", task=task)
    history.final(task, "CANCELLED", "cancelled")


def retried_by_an_operator(history: History, task: str) -> None:
    history.do("submit", task=task)
    history.run(task, "begin", "error")
    history.do("retry", Phase.UNKNOWN, task=task)
    history.run(task, "begin", "end", attempt=2)
    history.final(task, "COMPLETED", "failed", "completed")


def fenced_with_notes(history: History, task: str) -> None:
    history.do("submit", task=task)
    note(history, task, "claimed", 1)
    ran(history, task, "begin", 1)
    note(history, task, "claimed", 3)
    ran(history, task, "begin", 3)
    ran(history, task, "end", 1)
    ran(history, task, "end", 3)
    note(history, task, "settled", 3, "completed")
    history.final(task, "COMPLETED", "crashed", "completed")


GOOD: tuple[Plant, ...] = (
    completed, retried_after_an_error, killed_and_run_again, claimed_without_running,
    slow_worker_ends_after_it_was_reaped, parked_and_told_so_late, cancelled_while_it_waited, retried_by_an_operator,
    fenced_with_notes,
)  # fmt: skip


def begins_after_completion(history: History, task: str) -> None:
    history.do("submit", task=task)
    history.run(task, "begin", "end")
    history.read(task, "COMPLETED")
    history.run(task, "begin", worker="w2", attempt=2)
    history.final(task, "COMPLETED", "completed")


def completes_by_a_fenced_lease(history: History, task: str) -> None:
    history.do("submit", task=task)
    note(history, task, "claimed", 1)
    ran(history, task, "begin", 1)
    note(history, task, "claimed", 3)
    ran(history, task, "begin", 3)
    ran(history, task, "end", 1)
    note(history, task, "settled", 1, "completed")
    history.final(task, "COMPLETED", "crashed", "completed")


def completes_without_its_run_having_ended(history: History, task: str) -> None:
    history.do("submit", task=task)
    history.run(task, "begin", worker="w1")
    history.run(task, "begin", worker="w2", attempt=2)
    history.final(task, "COMPLETED", "crashed", "completed")


def completes_twice(history: History, task: str) -> None:
    history.do("submit", task=task)
    history.run(task, "begin", "end")
    history.run(task, "begin", "end", attempt=2)
    history.final(task, "COMPLETED", "completed", "completed")


def is_lost(history: History, task: str) -> None:
    history.do("submit", task=task)
    history.run(task, "begin", "end")
    history.final(task, "QUEUED", "completed")


def is_read_as_completed_before_it_ran(history: History, task: str) -> None:
    history.do("submit", task=task)
    history.read(task, "COMPLETED")
    history.run(task, "begin", "end")
    history.final(task, "COMPLETED", "completed")


def runs_again_without_an_operator(history: History, task: str) -> None:
    history.do("submit", task=task)
    history.run(task, "begin", "error")
    history.do("retry", Phase.FAIL, task=task)
    history.run(task, "begin", "end", attempt=2)
    history.final(task, "COMPLETED", "failed", "completed")


def fails_after_it_was_retried(history: History, task: str) -> None:
    history.do("submit", task=task)
    history.run(task, "begin", worker="w1", epoch=1)
    history.run(task, "begin", "end", worker="w2", attempt=2, epoch=2)
    history.run(task, "error", worker="w1", epoch=1)
    history.final(task, "COMPLETED", "retried", "completed")


BAD: dict[Plant, str] = {
    fails_after_it_was_retried: "begin by lease 2",
    begins_after_completion: "begin by lease 2",
    completes_by_a_fenced_lease: "settled by lease 1 completed",
    completes_without_its_run_having_ended: "final completed",
    completes_twice: "begin by lease 2",
    is_lost: "final queued",
    is_read_as_completed_before_it_ran: "read completed",
    runs_again_without_an_operator: "begin by lease 2",
}


def test_only_histories_that_the_specification_allows_are_accepted() -> None:
    history = History()
    for plant in (*GOOD, *BAD):
        plant(history, plant.__name__)

    found = {rejection.task: rejection.step for rejection in validate.validate(history.lines)}

    assert found == {plant.__name__: step for plant, step in BAD.items()}


def test_tasks_with_the_same_history_are_compared_once() -> None:
    history = History()
    for number in range(50):
        completed(history, f"task {number}")
    found = validate.histories(history.lines)

    assert len(found) == 50
    assert len(set(found.values())) == 1


def test_a_rejected_task_is_named_with_its_history(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    history = History()
    begins_after_completion(history, "t1")
    path = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    trace.write(path, history.lines)

    assert validate.main([str(path)]) == 1
    out = capsys.readouterr().out
    assert "1 tasks, 1 not allowed" in out
    assert "t1: the lease specification does not allow 'begin by lease 2'" in out
