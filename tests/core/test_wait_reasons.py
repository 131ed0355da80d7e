"""Why a task is not running, in words that name the cause."""

import pytest
from msgspec.structs import replace

from drumline.core.clock import Instant
from drumline.core.ids import SessionId, TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.session import SessionSpec, SessionView, TaskType
from drumline.core.state import State
from drumline.core.task import Lane, TaskOptions, TaskView
from drumline.core.wait_reasons import Cause, Surroundings, explain
from drumline.engine.expiry import expiry_error

NOW = Instant(1_000_000)
TASK = TaskView(
    id=TaskId("01890a5d-ac96-774b-bcce-b302099a8057"),
    lane=Lane("default", "mail", "send", 0),
    state=State.QUEUED,
    created_at=NOW,
    due_at=NOW,
    epoch=0,
    attempt=0,
)
WORKER = SessionView(
    id=SessionId(1),
    spec=SessionSpec(host="h", pid=1, version="1", queues=(), types=(TaskType(name="send"),), capacity=2),
    opened_at=NOW,
    beat_at=NOW,
    beat=1,
    held=0,
)


def causes(task: TaskView = TASK, **around: object) -> list[Cause]:
    surroundings = Surroundings(now=NOW, **{"sessions": (WORKER,), **around})  # type: ignore[arg-type]
    return [reason.cause for reason in explain(task, surroundings)]


@pytest.mark.parametrize("state", [State.COMPLETED, State.FAILED, State.CANCELLED, State.SKIPPED])
def test_what_has_ended_does_not_wait(state: State) -> None:
    assert causes(replace(TASK, state=state)) == [Cause.ENDED]


def test_what_runs_does_not_wait() -> None:
    assert causes(replace(TASK, state=State.RUNNING)) == [Cause.RUNNING]
    assert causes(replace(TASK, state=State.RUNNING, cancel_requested=True)) == [Cause.STOPPING]


def test_an_attempt_with_a_timeout_says_when_it_is_stopped() -> None:
    running = replace(TASK, state=State.RUNNING, started_at=NOW, options=TaskOptions(timeout_ms=30_000))

    (reason,) = explain(running, Surroundings(now=NOW))

    assert (reason.cause, reason.until) == (Cause.RUNNING, NOW + 30_000)
    assert "longer than 30 s" in reason.text


def test_a_task_that_expires_says_until_when_it_has_to_start() -> None:
    expiring = replace(TASK, options=TaskOptions(expires_at=Instant(NOW + 9_000)))

    *_, reason = explain(expiring, Surroundings(now=NOW))

    assert causes(expiring, sessions=()) == [Cause.NO_WORKER, Cause.EXPIRES]
    assert reason.until == NOW + 9_000
    assert causes(replace(expiring, attempt=1, failures=1)) == [Cause.NEXT]  # it has started in time, and goes on


def test_a_task_that_has_expired_says_so() -> None:
    expired = replace(TASK, state=State.CANCELLED, error=expiry_error(NOW))
    cancelled = replace(TASK, state=State.CANCELLED, error=ErrorInfo("Cancelled", "by hand"))

    (reason,) = explain(expired, Surroundings(now=NOW))

    assert reason.cause is Cause.EXPIRED
    assert "had not started by" in reason.text
    assert causes(cancelled) == [Cause.ENDED]


def test_a_later_time_is_a_reason_and_a_backoff_another() -> None:
    later = replace(TASK, due_at=Instant(NOW + 5))

    assert causes(later) == [Cause.SCHEDULED]
    assert causes(replace(later, failures=1, attempt=1)) == [Cause.BACKING_OFF]


def test_a_blocked_task_names_what_it_waits_for() -> None:
    blocked = replace(TASK, state=State.BLOCKED, due_at=None)

    (reason,) = explain(blocked, Surroundings(now=NOW, waits_for=("extract", "clean")))
    (other,) = explain(blocked, Surroundings(now=NOW, waits_for_jobs=2))

    assert reason.text == "it waits for extract, clean"
    assert other.text == "its job waits for 2 other jobs"


def test_a_paused_queue_says_why() -> None:
    (reason,) = explain(TASK, Surroundings(now=NOW, sessions=(WORKER,), pause="the mail server is away"))

    assert reason.cause is Cause.QUEUE_PAUSED
    assert "the mail server is away" in reason.text


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (replace(WORKER.spec, types=(TaskType(name="other"),)), "has the task send"),
        (replace(WORKER.spec, queues=("reports",)), "serves the queue mail"),
        (replace(WORKER.spec, tenant="another"), "no worker is running"),
    ],
)
def test_without_a_worker_that_can_run_it_the_missing_skill_is_named(spec: SessionSpec, words: str) -> None:
    (reason,) = explain(TASK, Surroundings(now=NOW, sessions=(replace(WORKER, spec=spec),)))

    assert reason.cause is Cause.NO_WORKER
    assert words in reason.text


def test_leaving_and_busy_workers_are_told_apart() -> None:
    assert causes(sessions=(replace(WORKER, should_drain=True),)) == [Cause.NO_WORKER]
    assert causes(sessions=(replace(WORKER, held=2),)) == [Cause.WORKERS_BUSY]


def test_a_name_that_the_workers_own_configuration_pauses_is_told_as_that() -> None:
    paused = replace(WORKER, spec=replace(WORKER.spec, paused=("send",)))
    (reason,) = explain(TASK, Surroundings(now=NOW, sessions=(paused, replace(paused, held=2))))

    assert reason.cause is Cause.NAME_PAUSED
    assert "all 2 workers that can run it pauses tasks named send" in reason.text
    assert causes(sessions=(paused,), is_name_paused=True) == [Cause.NAME_PAUSED]
    assert causes(sessions=(paused, WORKER)) == [Cause.NEXT]
    assert causes(sessions=(paused, replace(WORKER, held=2))) == [Cause.WORKERS_BUSY]


def test_those_ahead_are_counted_up_to_a_bound() -> None:
    assert causes(ahead=3) == [Cause.BEHIND]
    assert causes(ahead=0) == [Cause.NEXT]
    (reason,) = explain(TASK, Surroundings(now=NOW, sessions=(WORKER,), ahead=10_000))
    assert "10,000 or more" in reason.text
