"""Why a task is not running: the answer to the question that people ask most."""

from enum import StrEnum

from msgspec import Struct

from drumline.core.clock import Instant, moment_of
from drumline.core.durable import CHILD_KINDS, WaitKind, WaitView
from drumline.core.flow import FlowLimit, LimitUse, Use, free_at, room_in
from drumline.core.session import SessionView
from drumline.core.state import TERMINAL, State
from drumline.core.task import TaskView

EXPIRED = "Expired"
"""The kind of the error of a task that was cancelled because it had not started in time."""
MOST_AHEAD = 10_000
"""How far the tasks before one are counted."""


class Cause(StrEnum):
    """The kinds of reasons why a task waits. Programs use them: they stay stable."""

    ENDED = "ended"
    RUNNING = "running"
    STOPPING = "stopping"
    DEPENDENCY = "dependency"
    WAITING = "waiting"
    SCHEDULED = "scheduled"
    BACKING_OFF = "backing_off"
    QUEUE_PAUSED = "queue_paused"
    NAME_PAUSED = "name_paused"
    LIMITED = "limited"
    NO_WORKER = "no_worker"
    WORKERS_BUSY = "workers_busy"
    BEHIND = "behind"
    NEXT = "next"
    EXPIRED = "expired"
    EXPIRES = "expires"


class WaitReason(Struct, frozen=True, kw_only=True):
    """One reason why a task waits, as text."""

    cause: Cause
    text: str
    until: Instant | None = None
    """When it will be over by itself, where that is known."""
    count: int | None = None
    """How many tasks, jobs or workers it is about."""
    names: tuple[str, ...] = ()
    """The tasks of the same job, the queue or the workers that it is about."""


class Surroundings(Struct, frozen=True, kw_only=True):
    """What may keep a task from running: its queue, limits, workers and tasks before it."""

    now: Instant
    sessions: tuple[SessionView, ...] = ()
    pause: str | None = None
    """Why its queue is paused: empty if no reason was given, None if it is not paused."""
    is_name_paused: bool = False
    """Whether the configuration says that tasks of its name wait."""
    limits: tuple[LimitUse, ...] = ()
    """The limits that it is under, and how much of each is used."""
    ahead: int = 0
    waits_for: tuple[str, ...] = ()
    """The keys of the tasks of its job that it waits for."""
    waits_for_jobs: int = 0
    waits: tuple[WaitView, ...] = ()
    """What its last attempt, being durable, waits for."""


def explain(task: TaskView, around: Surroundings) -> tuple[WaitReason, ...]:
    """Return why a task is not running, the weightiest reason first; what is not waiting gets one that says so."""
    if task.state is State.CANCELLED and task.error is not None and task.error.kind == EXPIRED:
        return (WaitReason(cause=Cause.EXPIRED, text=f"it has expired: {task.error.message}"),)
    if task.state in TERMINAL:
        return (WaitReason(cause=Cause.ENDED, text=f"it has ended: {task.state.name.lower()}"),)
    if task.state is State.RUNNING:
        if task.cancel_requested:
            return (WaitReason(cause=Cause.STOPPING, text="it was asked to stop, and its worker has not done so yet"),)
        return (_running(task),)
    if task.state is State.BLOCKED:
        return (_dependency(around),)
    return _queued(task, around)


def _queued(task: TaskView, around: Surroundings) -> tuple[WaitReason, ...]:
    """Return why a queued task does not run."""
    if around.waits and not task.failures:  # what else would keep it from running may have changed when it is due
        return tuple(_wait(each) for each in around.waits)
    reasons = [*_time(task, around), *_pause(task, around), *_limits(around), *_workers(task, around)]
    return (*(reasons or (_turn(around),)), *_expiry(task))


def _running(task: TaskView) -> WaitReason:
    """Return that a task is running, and when its attempt is stopped if it has a timeout."""
    timeout_ms = task.options.timeout_ms
    if timeout_ms is None or task.started_at is None:
        return WaitReason(cause=Cause.RUNNING, text="it is running")
    text = f"it is running; the attempt is stopped if it takes longer than {timeout_ms / 1000:g} s"
    return WaitReason(cause=Cause.RUNNING, text=text, until=Instant(task.started_at + timeout_ms))


def _expiry(task: TaskView) -> list[WaitReason]:
    """Return until when a task has to start that expires; one that has started once goes on, retries included."""
    expires_at = task.options.expires_at
    if expires_at is None or task.attempt:
        return []
    return [WaitReason(cause=Cause.EXPIRES, text="it is cancelled if it has not started by then", until=expires_at)]


def _dependency(around: Surroundings) -> WaitReason:
    if around.waits_for_jobs:
        count = around.waits_for_jobs
        text = f"its job waits for {count} other job{'s' if count > 1 else ''}"
        return WaitReason(cause=Cause.DEPENDENCY, text=text, count=count)
    names = around.waits_for
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return WaitReason(cause=Cause.DEPENDENCY, text=f"it waits for {shown}", count=len(names), names=names)


def _time(task: TaskView, around: Surroundings) -> list[WaitReason]:
    if task.due_at is None or task.due_at <= around.now:
        return []
    if task.failures:
        text = f"attempt {task.attempt} failed; it is tried again when its backoff is over"
        return [WaitReason(cause=Cause.BACKING_OFF, text=text, until=task.due_at)]
    return [WaitReason(cause=Cause.SCHEDULED, text="it is due later", until=task.due_at)]


def _wait(wait: WaitView) -> WaitReason:
    """Return what a durable task waits for."""
    of = f", {wait.key!r}" if wait.key else ""
    texts = {
        WaitKind.SLEEP: f"it sleeps ({wait.name!r}{of})",
        WaitKind.SIGNAL: f"it waits for the signal {wait.name!r}{of}",
        **dict.fromkeys(CHILD_KINDS, f"it waits for {_children(wait)}{of}"),
        WaitKind.RETRY: f"its step {wait.name!r}{of} failed, and is tried again",
        WaitKind.PERSON: f"it waits for a person who runs code that can read it, and reschedules it: {wait.reason}",
    }
    text = f"{texts[wait.kind]}, since {moment_of(wait.since)}"
    return WaitReason(cause=Cause.WAITING, text=text, until=wait.until, count=wait.pending, names=tuple(wait.children))


def _children(wait: WaitView) -> str:
    """Return what is said of the children that a task waits for."""
    count = wait.pending or 0
    some = f"{count:,} children" if count != 1 else "the child"
    first = "the first of " if wait.kind is WaitKind.FIRST else ""
    named = f" ({', '.join(wait.children)}{', …' if count > len(wait.children) else ''})" if wait.children else ""
    return f"{first}{some} of {wait.name!r}{named}"


def _pause(task: TaskView, around: Surroundings) -> list[WaitReason]:
    reasons = []
    if around.pause is not None:
        why = f": {around.pause}" if around.pause else ""
        queue = task.lane.queue
        reasons.append(WaitReason(cause=Cause.QUEUE_PAUSED, text=f"the queue {queue} is paused{why}", names=(queue,)))
    if around.is_name_paused:
        text = f"the configuration pauses tasks named {task.lane.name} (pauses.names)"
        reasons.append(WaitReason(cause=Cause.NAME_PAUSED, text=text, names=(task.lane.name,)))
    return reasons


def _limits(around: Surroundings) -> list[WaitReason]:
    """Return the limits in which there is no room for it now."""
    return [_limited(each) for each in around.limits if room_in(each.here, each.use) == 0]


def _limited(under: LimitUse) -> WaitReason:
    limit, use = under.limit, under.use
    of = f" for the key {under.key}" if under.key else " for tasks without a key" if under.key == "" else ""
    if under.share is not None and room_in(limit, use) > 0:
        is_full = _is_full(under.share, use)
        text = f"it waits for a share of the limit {limit.name}: {_share(limit, under.share, use, of)}"
        until = None
    elif is_full := _is_full(limit, use):
        text = f"the limit {limit.name} lets {limit.max_concurrent:,} run at once{of}, and {use.running:,} do"
        until = None
    else:
        text = f"the limit {limit.name} lets {limit.rate_text} start{of}, and {use.started:,} have"
        until = free_at(limit, use)
    count = use.running if is_full else use.started
    return WaitReason(cause=Cause.LIMITED, text=text, until=until, count=count, names=(limit.name,))


def _is_full(limit: FlowLimit, use: Use) -> bool:
    """Tell whether as many run as may run at once; if not, it is the rate that keeps others from starting."""
    return limit.max_concurrent is not None and use.running >= limit.max_concurrent


def _share(limit: FlowLimit, here: FlowLimit, use: Use, of: str) -> str:
    """Return how much of a limit the task's shard has, of what it lacks."""
    if _is_full(here, use):
        mine = max(here.max_concurrent or 0, 0)
        whole = f"of the {limit.max_concurrent:,} that may run at once{of}"
        return f"{whole}, its shard may run {mine:,}, and runs {use.running:,}"
    mine = max(here.rate or 0, 0)
    return f"of {limit.rate_text} that may start{of}, its shard may start {mine:,}, and has started {use.started:,}"


def _workers(task: TaskView, around: Surroundings) -> list[WaitReason]:
    """Return why no worker takes the task: none is live, has its type or serves its queue, or all are draining."""
    lane = task.lane
    mine = [view for view in around.sessions if view.spec.tenant in {None, lane.tenant}]
    skilled = [view for view in mine if lane.name in view.spec.names]
    serving = [view for view in skilled if not view.spec.queues or lane.queue in view.spec.queues]
    staying = [view for view in serving if not view.should_drain]
    steps = (
        (mine, "no worker is running"),
        (skilled, f"no live worker has the task {lane.name}"),
        (serving, f"no live worker with the task {lane.name} serves the queue {lane.queue}"),
        (staying, f"every worker with the task {lane.name} is leaving"),
    )
    lacking = next((_none(text) for found, text in steps if not found), None)
    if lacking is not None:
        return lacking
    willing = [view for view in staying if lane.name not in view.spec.paused]
    if willing:
        return _busy(willing)
    return [] if around.is_name_paused else [_paused_by_workers(lane.name, len(staying))]


def _paused_by_workers(name: str, count: int) -> WaitReason:
    whose = "the worker that can run it" if count == 1 else f"all {count} workers that can run it"
    text = f"the configuration of {whose} pauses tasks named {name} (pauses.names)"
    return WaitReason(cause=Cause.NAME_PAUSED, text=text, count=count, names=(name,))


def _none(text: str) -> list[WaitReason]:
    return [WaitReason(cause=Cause.NO_WORKER, text=text, count=0)]


def _busy(able: list[SessionView]) -> list[WaitReason]:
    if any(view.held < view.spec.capacity for view in able):
        return []
    words = "the worker that can run it is" if len(able) == 1 else f"all {len(able)} workers that can run it are"
    return [WaitReason(cause=Cause.WORKERS_BUSY, text=f"{words} busy", count=len(able))]


def _turn(around: Surroundings) -> WaitReason:
    if around.ahead:
        shown = f"{MOST_AHEAD:,} or more" if around.ahead >= MOST_AHEAD else f"{around.ahead:,}"
        text = f"{shown} tasks of its queue come first" if around.ahead > 1 else "1 task of its queue comes first"
        return WaitReason(cause=Cause.BEHIND, text=text, count=around.ahead)
    return WaitReason(cause=Cause.NEXT, text="it is next, and starts at any moment")
