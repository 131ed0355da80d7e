"""The fleet, as the store knows it: workers and queues that miss each other, schedulers, the outbox."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Final

from drumline._version import __version__
from drumline.core.clock import Instant
from drumline.core.doctor_report import Finding
from drumline.core.errors import DrumlineError
from drumline.core.ids import session_text
from drumline.core.session import SESSION_TTL, SessionView
from drumline.core.task import Lane
from drumline.lifecycle.doctor.findings import note, ok, problem, warning
from drumline.ports.outbox import CursorView
from drumline.ports.schedules import Watch
from drumline.ports.store import QueueView, Store
from drumline.settings.sources import check_runtime

LATE_SECONDS: Final = 60.0
"""How long a consumer may leave an event unread before it counts as stuck."""
GONE_SECONDS: Final = 60.0
"""How long no scheduler may be heard of."""
MOST_NAMED: Final = 10


async def examine_fleet(store: Store) -> AsyncIterator[Finding]:
    """Check workers, queues, schedulers, the outbox and the runtime configuration."""
    now = await store.queries.now()
    sessions = await store.sessions.sessions()
    due = await store.upcoming(due_before=now, per_lane=1)
    queues = await store.queries.queues()
    for finding in judge_lanes([hint.lane for hint in due], sessions, queues):
        yield finding
    for finding in judge_workers(sessions, queues, now):
        yield finding
    yield judge_scheduler(await store.schedules.watch(), sessions)
    for finding in judge_cursors(await store.events.cursors(), now):
        yield finding
    for finding in judge_runtime((await store.config.runtime_config()).settings):
        yield finding


def judge_lanes(due: Sequence[Lane], sessions: Sequence[SessionView], queues: Sequence[QueueView]) -> Iterator[Finding]:
    """Check that a live worker serves every waiting task."""
    paused = {(queue.tenant, queue.name) for queue in queues if queue.is_paused}
    lonely: Counter[str] = Counter()
    for lane in due:
        if (lane.tenant, lane.queue) in paused:
            continue
        mine = [view for view in sessions if view.spec.tenant in {None, lane.tenant}]
        serving = [view for view in mine if not view.spec.queues or lane.queue in view.spec.queues]
        if not serving:
            lonely[f"no worker serves the queue {lane.queue}, where tasks are due"] += 1
        elif all(lane.name not in view.spec.names for view in serving):
            lonely[f"no worker of the queue {lane.queue} has the task {lane.name}, which is due"] += 1
    advice = "Start one (`drumline worker APP --queue NAME`), or look for a misspelt name."
    for text in list(lonely)[:MOST_NAMED]:
        yield warning("queue.no_worker", text, advice)
    if not lonely:
        yield ok("queue.no_worker", "a live worker serves everything that is due")


def judge_workers(sessions: Sequence[SessionView], queues: Sequence[QueueView], now: Instant) -> Iterator[Finding]:
    """Judge whether every worker has something to wait for, and lives."""
    known = {queue.name for queue in queues}
    serves_all = any(not view.spec.queues for view in sessions)
    served = known if serves_all else {queue for view in sessions for queue in view.spec.queues}
    for view in sessions:
        who = f"worker {session_text(view.id)} ({view.spec.label or view.spec.host})"
        if view.spec.queues and not known.intersection(view.spec.queues):
            text = f"{who} serves only {', '.join(view.spec.queues)}, where there is no task"
            # On a quiet day that is as it should be; while others wait in vain, it is a misspelt name.
            tell = warning if any(queue.name not in served for queue in queues if queue.queued) else note
            yield tell("worker.no_queue", text, "If that is meant, all is well; else look for a misspelt name.")
        if not view.spec.types:
            yield warning("worker.no_tasks", f"{who} has no tasks", "Name its app: `drumline worker APP`.")
        if (silence := (now - view.beat_at) / 1000) > SESSION_TTL:
            advice = "If no scheduler runs, start one: it gives its tasks to others."
            yield warning("worker.silent", f"{who} has not been heard of for {silence:.0f} s", advice)
    others = sorted({view.spec.version for view in sessions} - {__version__})
    if others:
        yield note("worker.version", f"there are workers of version {', '.join(others)}; this is {__version__}")


def judge_scheduler(watch: Watch, sessions: Sequence[SessionView]) -> Finding:
    """Check that a scheduler runs: it records its passes while there are schedules, and closes expired sessions."""
    advice = "Start one (`drumline scheduler`): without it no schedule fires, and what dead workers held is stuck."
    has_schedules = watch.next_due is not None or watch.has_waiting
    silence = None if watch.seen_at is None else (watch.now - watch.seen_at) / 1000
    if has_schedules and silence is None:
        return problem("scheduler", "there are schedules, and no scheduler was ever here", advice)
    if has_schedules and silence is not None and silence > GONE_SECONDS:
        return problem("scheduler", f"no scheduler has been heard of for {silence:.0f} s", advice)
    if any(watch.now - view.beat_at > GONE_SECONDS * 1000 for view in sessions):
        return problem("scheduler", "workers are silent, and no scheduler gives their tasks to others", advice)
    text = "a scheduler is at work" if has_schedules else "no scheduler is needed: there is no schedule"
    return ok("scheduler", text)


def judge_cursors(cursors: Sequence[CursorView], now: Instant) -> Iterator[Finding]:
    """Judge whether those who pass events on keep up."""
    stuck = False
    for view in cursors:
        late = 0.0 if view.oldest_at is None else (now - view.oldest_at) / 1000
        if view.behind and late > LATE_SECONDS:
            stuck = True
            text = f"{view.consumer} is {late:.0f} s behind, by {view.behind:,} rows of the outbox"
            advice = (
                f"See that it runs and what it logs. Until then nothing of this is pruned. If it is gone for good: "
                f"`drumline consumers forget {view.consumer}`."
            )
            yield problem("outbox", text, advice)
    if not stuck:
        yield ok("outbox", "events are passed on as they come")


def judge_runtime(settings: Mapping[str, Any]) -> Iterator[Finding]:
    """Judge whether this version understands the runtime configuration."""
    for key, value in settings.items():
        try:
            check_runtime(key, value)
        except DrumlineError as error:
            advice = f"`drumline config unset {key}`, unless a newer version knows it."
            yield warning("runtime", f"the runtime configuration has {key}: {error.message}", advice)
