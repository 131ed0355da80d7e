"""Why a task is not running, in words that name the cause."""

import pytest
from msgspec.structs import replace

from drumline.core.clock import Instant
from drumline.core.durable import WaitKind, WaitView
from drumline.core.flow import FlowLimit, LimitUse, Use
from drumline.core.ids import SessionId, TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.session import SessionSpec, SessionView, TaskType
from drumline.core.state import State
from drumline.core.task import Lane, TaskOptions, TaskView
from drumline.core.wait_reasons import Cause, Surroundings, WaitReason, explain
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


def only(task: TaskView = TASK, **around: object) -> WaitReason:
    """Return the one reason why a task waits."""
    surroundings = Surroundings(now=NOW, **{"sessions": (WORKER,), **around})  # type: ignore[arg-type]
    (reason,) = explain(task, surroundings)
    return reason


def worker(**spec: object) -> SessionView:
    return replace(WORKER, spec=replace(WORKER.spec, **spec))


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (replace(TASK, state=State.COMPLETED), "it has ended: completed"),
        (
            replace(TASK, state=State.CANCELLED, error=ErrorInfo("Expired", "too late")),
            "it has expired: too late",
        ),
        (replace(TASK, state=State.COMPLETED, error=ErrorInfo("Expired", "too late")), "it has ended: completed"),
        (replace(TASK, state=State.RUNNING), "it is running"),
        (replace(TASK, state=State.RUNNING, options=TaskOptions(timeout_ms=1500)), "it is running"),
        (replace(TASK, state=State.RUNNING, started_at=NOW), "it is running"),
        (
            replace(TASK, state=State.RUNNING, started_at=NOW, options=TaskOptions(timeout_ms=1500)),
            "it is running; the attempt is stopped if it takes longer than 1.5 s",
        ),
        (
            replace(TASK, state=State.RUNNING, cancel_requested=True),
            "it was asked to stop, and its worker has not done so yet",
        ),
    ],
)
def test_what_does_not_wait_says_how_it_stands(task: TaskView, text: str) -> None:
    assert only(task).text == text


def test_a_later_time_is_told_with_the_instant_and_the_failed_attempt() -> None:
    later = replace(TASK, due_at=Instant(NOW + 1))
    failed = replace(later, attempt=3, failures=2)

    assert only(later) == WaitReason(cause=Cause.SCHEDULED, text="it is due later", until=Instant(NOW + 1))
    assert only(failed) == WaitReason(
        cause=Cause.BACKING_OFF,
        text="attempt 3 failed; it is tried again when its backoff is over",
        until=Instant(NOW + 1),
    )
    assert causes(replace(TASK, due_at=None)) == [Cause.NEXT]


def test_what_expires_says_what_happens_then() -> None:
    reasons = explain(replace(TASK, options=TaskOptions(expires_at=Instant(NOW + 9))), Surroundings(now=NOW))

    assert reasons[-1] == WaitReason(
        cause=Cause.EXPIRES, text="it is cancelled if it has not started by then", until=Instant(NOW + 9)
    )


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("a",), "it waits for a"),
        (("a", "b", "c", "d", "e"), "it waits for a, b, c, d, e"),
        (("a", "b", "c", "d", "e", "f"), "it waits for a, b, c, d, e and 1 more"),
        (("a", "b", "c", "d", "e", "f", "g"), "it waits for a, b, c, d, e and 2 more"),
    ],
)
def test_a_blocked_task_names_the_first_few_tasks_and_counts_all(names: tuple[str, ...], text: str) -> None:
    blocked = replace(TASK, state=State.BLOCKED, due_at=None)

    assert only(blocked, waits_for=names) == WaitReason(
        cause=Cause.DEPENDENCY, text=text, count=len(names), names=names
    )


@pytest.mark.parametrize(
    ("count", "text"), [(1, "its job waits for 1 other job"), (2, "its job waits for 2 other jobs")]
)
def test_a_task_whose_job_waits_counts_the_jobs(count: int, text: str) -> None:
    blocked = replace(TASK, state=State.BLOCKED, due_at=None)

    assert only(blocked, waits_for_jobs=count) == WaitReason(cause=Cause.DEPENDENCY, text=text, count=count)


def wait(kind: WaitKind, key: str = "", **more: object) -> WaitView:
    return WaitView(kind=kind, name="n", key=key, **{"since": NOW, "until": None, **more})  # type: ignore[arg-type]


CHILDREN = (TaskId("c1"), TaskId("c2"))


@pytest.mark.parametrize(
    ("view", "text"),
    [
        (wait(WaitKind.SLEEP), "it sleeps ('n')"),
        (wait(WaitKind.SLEEP, "k"), "it sleeps ('n', 'k')"),
        (wait(WaitKind.SIGNAL), "it waits for the signal 'n'"),
        (wait(WaitKind.SIGNAL, "k"), "it waits for the signal 'n', 'k'"),
        (wait(WaitKind.CALL, pending=1), "it waits for the child of 'n'"),
        (wait(WaitKind.CALL, "k", pending=1, children=CHILDREN[:1]), "it waits for the child of 'n' (c1), 'k'"),
        (wait(WaitKind.GROUP, pending=0), "it waits for 0 children of 'n'"),
        (wait(WaitKind.GROUP), "it waits for 0 children of 'n'"),
        (wait(WaitKind.GROUP, pending=2, children=CHILDREN), "it waits for 2 children of 'n' (c1, c2)"),
        (wait(WaitKind.GROUP, pending=1200, children=CHILDREN), "it waits for 1,200 children of 'n' (c1, c2, …)"),
        (wait(WaitKind.FIRST, pending=2), "it waits for the first of 2 children of 'n'"),
        (wait(WaitKind.WINDOW, pending=2), "it waits for 2 children of 'n'"),
        (wait(WaitKind.RETRY), "its step 'n' failed, and is tried again"),
        (wait(WaitKind.RETRY, "k"), "its step 'n', 'k' failed, and is tried again"),
        (
            wait(WaitKind.PERSON, reason="step 2 is gone"),
            "it waits for a person who runs code that can read it, and reschedules it: step 2 is gone",
        ),
    ],
)
def test_a_durable_task_says_what_it_waits_for_and_since_when(view: WaitView, text: str) -> None:
    assert only(waits=(view,)).text == f"{text}, since 1970-01-01T00:16:40.000Z"


def test_a_wait_tells_until_when_for_how_many_and_for_which() -> None:
    view = wait(WaitKind.GROUP, until=Instant(NOW + 7), pending=5, children=CHILDREN)

    reason = only(waits=(view,))

    assert (reason.cause, reason.until, reason.count, reason.names) == (Cause.WAITING, NOW + 7, 5, CHILDREN)


def test_waits_of_a_durable_task_are_all_told_and_nothing_else_until_it_fails() -> None:
    both = (wait(WaitKind.SIGNAL), wait(WaitKind.SLEEP))

    assert causes(waits=both, sessions=(), pause="") == [Cause.WAITING, Cause.WAITING]
    assert causes(replace(TASK, failures=1), waits=both) == [Cause.NEXT]


def test_pauses_name_the_queue_and_the_task() -> None:
    queue = WaitReason(cause=Cause.QUEUE_PAUSED, text="the queue mail is paused", names=("mail",))

    assert only(pause="") == queue
    assert only(pause="audit") == replace(queue, text="the queue mail is paused: audit")
    assert only(is_name_paused=True) == WaitReason(
        cause=Cause.NAME_PAUSED,
        text="the configuration pauses tasks named send (pauses.names)",
        names=("send",),
    )
    assert causes(pause="", is_name_paused=True) == [Cause.QUEUE_PAUSED, Cause.NAME_PAUSED]


FEW = FlowLimit(tenant="default", name="few", max_concurrent=1000)
SLOW = FlowLimit(tenant="default", name="slow", rate=1000, period_ms=60_000)
TWO = FlowLimit(tenant="default", name="two", max_concurrent=5, rate=10, period_ms=60_000)


def under(limit: FlowLimit, *, key: str | None = None, share: FlowLimit | None = None, **use: object) -> LimitUse:
    return LimitUse(limit=limit, key=key, use=Use(**use), share=share)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limit", "text", "count", "until"),
    [
        (under(FEW, running=1001), "the limit few lets 1,000 run at once, and 1,001 do", 1001, None),
        (
            under(FEW, key="eu", running=1000),
            "the limit few lets 1,000 run at once for the key eu, and 1,000 do",
            1000,
            None,
        ),
        (
            under(FEW, key="", running=1000),
            "the limit few lets 1,000 run at once for tasks without a key, and 1,000 do",
            1000,
            None,
        ),
        (
            under(SLOW, started=1000, oldest=NOW),
            "the limit slow lets 1000/1m start, and 1,000 have",
            1000,
            NOW + 60_000,
        ),
        (
            under(SLOW, key="eu", started=1000, oldest=NOW),
            "the limit slow lets 1000/1m start for the key eu, and 1,000 have",
            1000,
            NOW + 60_000,
        ),
    ],
)  # fmt: skip
def test_a_limit_without_room_says_how_much_it_allows_and_how_much_is_used(
    limit: LimitUse, text: str, count: int, until: Instant | None
) -> None:
    assert only(limits=(limit,)) == WaitReason(
        cause=Cause.LIMITED, text=text, until=until, count=count, names=(limit.limit.name,)
    )


def test_a_limit_counts_what_it_says_is_used_up() -> None:
    rate = only(limits=(under(TWO, running=2, started=10, oldest=NOW),))
    both = only(limits=(under(TWO, running=5, started=10, oldest=NOW),))

    assert rate.text == "the limit two lets 10/1m start, and 10 have"
    assert (rate.count, rate.until) == (10, NOW + 60_000)
    assert both.text == "the limit two lets 5 run at once, and 5 do"
    assert (both.count, both.until) == (5, None), "nobody knows when one of them ends"


def test_a_limit_with_room_is_no_reason() -> None:
    limits = (under(FEW, running=999), under(SLOW, started=999, oldest=NOW), under(FEW, running=1000))

    assert [reason.text for reason in explain(TASK, Surroundings(now=NOW, sessions=(WORKER,), limits=limits))] == [
        "the limit few lets 1,000 run at once, and 1,000 do"
    ]


@pytest.mark.parametrize(
    ("limit", "words", "count"),
    [
        (
            under(FEW, share=replace(FEW, max_concurrent=0)),
            "of the 1,000 that may run at once, its shard may run 0, and runs 0",
            0,
        ),
        (
            under(FEW, share=replace(FEW, max_concurrent=-2), key="eu", running=998),
            "of the 1,000 that may run at once for the key eu, its shard may run 0, and runs 998",
            998,
        ),
        (
            under(SLOW, share=replace(SLOW, rate=-1), running=3, started=8, oldest=NOW),
            "of 1000/1m that may start, its shard may start 0, and has started 8",
            8,
        ),
        (
            under(TWO, share=replace(TWO, max_concurrent=3, rate=7), key="", running=2, started=7, oldest=NOW),
            "of 10/1m that may start for tasks without a key, its shard may start 7, and has started 7",
            7,
        ),
        (
            under(TWO, share=replace(TWO, max_concurrent=3, rate=7), running=3, started=7, oldest=NOW),
            "of the 5 that may run at once, its shard may run 3, and runs 3",
            3,
        ),
    ],
)
def test_a_task_that_waits_for_its_shards_share_says_what_the_shard_has(
    limit: LimitUse, words: str, count: int
) -> None:
    name = limit.limit.name

    assert only(limits=(limit,)) == WaitReason(
        cause=Cause.LIMITED, text=f"it waits for a share of the limit {name}: {words}", count=count, names=(name,)
    )


def test_a_limit_that_is_used_up_everywhere_is_told_as_that_in_a_shard_too() -> None:
    reason = only(limits=(under(FEW, share=replace(FEW, max_concurrent=500), running=1000),))

    assert reason.text == "the limit few lets 1,000 run at once, and 1,000 do"


@pytest.mark.parametrize(
    ("sessions", "text"),
    [
        ((), "no worker is running"),
        ((worker(tenant="another"),), "no worker is running"),
        ((worker(types=()),), "no live worker has the task send"),
        ((worker(queues=("reports",)),), "no live worker with the task send serves the queue mail"),
        ((replace(WORKER, should_drain=True),), "every worker with the task send is leaving"),
    ],
)
def test_it_is_told_which_worker_is_missing(sessions: tuple[SessionView, ...], text: str) -> None:
    assert only(sessions=sessions) == WaitReason(cause=Cause.NO_WORKER, text=text, count=0)


def test_a_worker_of_the_tenant_that_serves_the_queue_among_others_is_enough() -> None:
    other = replace(worker(tenant="another"), should_drain=True)

    assert causes(sessions=(other, worker(tenant="default", queues=("reports", "mail")))) == [Cause.NEXT]


def test_pauses_of_workers_and_busy_workers_are_counted() -> None:
    paused, busy = worker(paused=("send", "x")), replace(WORKER, held=2)
    pauses = "pauses tasks named send (pauses.names)"

    assert only(sessions=(paused,)) == WaitReason(
        cause=Cause.NAME_PAUSED,
        text=f"the configuration of the worker that can run it {pauses}",
        count=1,
        names=("send",),
    )
    assert only(sessions=(paused, paused)) == WaitReason(
        cause=Cause.NAME_PAUSED,
        text=f"the configuration of all 2 workers that can run it {pauses}",
        count=2,
        names=("send",),
    )
    assert only(sessions=(busy,)) == WaitReason(
        cause=Cause.WORKERS_BUSY, text="the worker that can run it is busy", count=1
    )
    assert only(sessions=(busy, replace(busy, held=3))) == WaitReason(
        cause=Cause.WORKERS_BUSY, text="all 2 workers that can run it are busy", count=2
    )
    assert causes(sessions=(busy, replace(WORKER, held=1))) == [Cause.NEXT]


@pytest.mark.parametrize(
    ("ahead", "reason"),
    [
        (0, WaitReason(cause=Cause.NEXT, text="it is next, and starts at any moment")),
        (1, WaitReason(cause=Cause.BEHIND, text="1 task of its queue comes first", count=1)),
        (1234, WaitReason(cause=Cause.BEHIND, text="1,234 tasks of its queue come first", count=1234)),
        (9999, WaitReason(cause=Cause.BEHIND, text="9,999 tasks of its queue come first", count=9999)),
        (10_000, WaitReason(cause=Cause.BEHIND, text="10,000 or more tasks of its queue come first", count=10_000)),
    ],
)
def test_a_task_that_nothing_hinders_says_how_many_come_first(ahead: int, reason: WaitReason) -> None:
    assert only(ahead=ahead) == reason
