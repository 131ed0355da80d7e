"""What the public API shows of tasks, their executions and jobs."""

from typing import Any

import pytest
from msgspec.structs import asdict, replace

from drumline.core.attempt import AttemptOutcome, AttemptView, JobAttempt
from drumline.core.clock import Instant
from drumline.core.collapse import Collapse
from drumline.core.ids import JobId, ScheduleId, SessionId, TaskId, session_text
from drumline.core.job import JobCounts, JobOptions, JobStatus, JobView, NodeView, RunIf
from drumline.core.job_views import PublicJob, PublicJobAttempt, PublicNode, show_attempt, show_job, show_node
from drumline.core.mapping import NodeItems
from drumline.core.retry import Backoff
from drumline.core.state import State, Status
from drumline.core.task import Lane, NotifyTarget, TaskOptions, TaskView
from drumline.core.views import PublicTask, backoff_body, execution_fields, notify_body, show_task

TASK = TaskId("01890a5d-ac96-774b-bcce-b302099a8057")
OTHER = TaskId("01890a5d-ac96-774b-bcce-b302099a8058")
JOB = JobId("01890a5d-ac96-774b-bcce-b302099a8059")
SCHEDULE = ScheduleId("01890a5d-ac96-774b-bcce-b302099a805a")
WORKER = SessionId(77)
NOW = Instant(50)
PLAIN = TaskView(
    id=TASK, lane=Lane("t", "q", "charge", 7), state=State.QUEUED, created_at=Instant(1), due_at=None, epoch=0,
    attempt=0,
)  # fmt: skip


def time(instant: Instant) -> str:
    return f"at {instant}"


def show(view: TaskView) -> PublicTask[Any]:
    return show_task(PublicTask, view, now=NOW, time=time, backoff=Backoff(base=9))


def test_a_task_is_shown_with_all_that_is_known_of_it() -> None:
    collapse = Collapse(unique="1h", key="k")
    options = TaskOptions(
        retries=4, timeout_ms=1500, tags=("eu",), job=JOB, key="first", schedule=SCHEDULE, fire_time=Instant(6),
        limit_key="lk", expires_at=Instant(7), collapse=collapse, forked_from=OTHER, parent=OTHER,
    )  # fmt: skip
    view = replace(
        PLAIN, state=State.RUNNING, due_at=Instant(2), started_at=Instant(3), finished_at=Instant(4), attempt=5,
        worker=WORKER, cancel_requested=True, options=options, idempotency_key="ik",
    )  # fmt: skip
    assert show(view) == PublicTask(
        id=TASK, name="charge", queue="q", status=Status.PROCESSING, priority=7, created_at="at 1", due_at="at 2",
        started_at="at 3", finished_at="at 4", attempt=5, retries=4, timeout=1.5, tags=("eu",), idempotency_key="ik",
        limit_key="lk", expires_at="at 7", collapse=collapse, forked_from=OTHER, worker=session_text(WORKER),
        cancel_requested=True, job_id=JOB, parent_id=OTHER, key="first", schedule_id=SCHEDULE, fire_time="at 6",
        backoff=Backoff(base=9),
    )  # fmt: skip


def test_a_task_is_shown_without_what_it_does_not_have() -> None:
    shown = show(PLAIN)
    assert (shown.status, shown.created_at, shown.retries) == (Status.PENDING, "at 1", TaskOptions().retries)
    missing = ("due_at", "started_at", "finished_at", "timeout", "worker", "fire_time", "expires_at", "job_id", "key")
    assert [getattr(shown, name) for name in missing] == [None] * len(missing)


@pytest.mark.parametrize(
    ("due_at", "status", "is_waiting"),
    [(None, Status.PENDING, True), (50, Status.QUEUED, False), (51, Status.PENDING, True)],
)
def test_a_parked_task_is_shown_as_waiting_until_it_is_due(
    due_at: int | None, status: Status, is_waiting: bool
) -> None:
    shown = show(replace(PLAIN, is_parked=True, due_at=None if due_at is None else Instant(due_at)))
    assert (shown.status, shown.is_waiting) == (status, is_waiting)


RAN = AttemptView(
    epoch=3, attempt=2, outcome=AttemptOutcome.RETRIED, worker=WORKER, started_at=Instant(5), finished_at=Instant(6)
)
RAN_SHOWN = {
    "attempt": 2, "epoch": 3, "outcome": "retried", "worker": session_text(WORKER), "started_at": "at 5",
    "finished_at": "at 6",
}  # fmt: skip


def test_an_execution_is_shown_with_its_outcome_in_a_word() -> None:
    assert execution_fields(RAN, time) == RAN_SHOWN
    nothing = replace(RAN, worker=None, started_at=None, finished_at=None)
    assert execution_fields(nothing, time) == RAN_SHOWN | dict.fromkeys(("worker", "started_at", "finished_at"))


def test_an_execution_of_a_job_is_shown_with_its_task() -> None:
    ran = JobAttempt(
        epoch=3, attempt=2, outcome=AttemptOutcome.RETRIED, worker=WORKER, started_at=Instant(5),
        finished_at=Instant(6), key="first", task=TASK, reason="E: m",
    )  # fmt: skip
    shown = show_attempt(PublicJobAttempt, ran, time=time)
    assert asdict(shown) == RAN_SHOWN | {"key": "first", "task_id": TASK, "reason": "E: m"}


def test_bodies_have_all_parts_of_what_they_show() -> None:
    backoff = Backoff(base=1.5, factor=3, cap=60)
    assert asdict(backoff_body(backoff)) == asdict(backoff)
    target = NotifyTarget(email="ada@example.org", on=("failed",))
    assert asdict(notify_body(target)) == asdict(target)


COUNTS = JobCounts(total=1)
JOB_VIEW = JobView(
    id=JOB, tenant="t", name="report", owner="ada", status=JobStatus.PROCESSING, counts=COUNTS, created_at=Instant(1),
    started_at=Instant(2), finished_at=Instant(3), reason="why", cancel_requested=True, depends_on=(JOB,),
    waits_for=2, options=JobOptions(retries=4, tags=("eu",)), idempotency_key="ik", schedule_id=SCHEDULE,
    fire_time=Instant(4),
)  # fmt: skip


def test_a_job_is_shown_with_all_that_is_known_of_it() -> None:
    assert show_job(PublicJob, JOB_VIEW, time=time, counts=COUNTS) == PublicJob(
        id=JOB, name="report", owner="ada", status=JobStatus.PROCESSING, counts=COUNTS, created_at="at 1",
        started_at="at 2", finished_at="at 3", reason="why", cancel_requested=True, depends_on=(JOB,), waits_for=2,
        retries=4, tags=("eu",), idempotency_key="ik", schedule_id=SCHEDULE, fire_time="at 4",
    )  # fmt: skip


def test_a_job_is_shown_without_times_that_it_does_not_have() -> None:
    view = replace(JOB_VIEW, started_at=None, finished_at=None, fire_time=None)
    shown = show_job(PublicJob, view, time=time, counts=COUNTS)
    assert (shown.started_at, shown.finished_at, shown.fire_time) == (None, None, None)


NODE = NodeView(
    key="first", task=TASK, name="charge", state=State.FAILED, needs=("zeroth",), run_if=RunIf.ALL_DONE, attempt=3,
    started_at=Instant(5), finished_at=Instant(6), reason="why", cause="zeroth",
    items=NodeItems(total=3, ended=2, failed=1), due_at=Instant(1),
)  # fmt: skip


def test_a_task_of_a_job_is_shown_with_all_that_is_known_of_it() -> None:
    assert show_node(PublicNode, NODE, now=NOW, time=time) == PublicNode(
        key="first", task_id=TASK, name="charge", status=Status.FAILED, needs=("zeroth",), run_if=RunIf.ALL_DONE,
        attempt=3, started_at="at 5", finished_at="at 6", reason="why", cause="zeroth", items=NODE.items,
    )  # fmt: skip


def test_a_task_of_a_job_that_is_due_later_is_shown_as_pending() -> None:
    later = replace(NODE, state=State.QUEUED, due_at=Instant(51), started_at=None, finished_at=None)
    shown = show_node(PublicNode, later, now=NOW, time=time)
    assert (shown.status, shown.started_at, shown.finished_at) == (Status.PENDING, None, None)
