"""What happens to a durable task besides its workers: time, the reaper, people, its child, and who sends signals."""

from collections.abc import Iterator

from tests.model.durable_workers import NAMES, faulty, has_slot, worker_steps
from tests.model.durable_world import (
    ENDED,
    LIVE,
    SIGNALS,
    Protocol,
    Worker,
    World,
    child_ended,
    end,
    fail,
    index,
    put,
    stale,
    wake,
)
from tests.model.explore import Step

RETRIED = "fault: an operator retries"


def steps(world: World, rules: Protocol) -> Iterator[Step[World]]:
    """Yield all that can happen next."""
    if world.broken:
        return
    yield from _time(world, rules)
    yield from worker_steps(world, rules)
    if world.state == "running":
        yield from _reaper(world, rules)
    yield from _cancels(world, rules)
    yield from _operators(world, rules)
    yield from _notes(world, rules)
    yield from _child(world, rules)
    yield from _old_child(world)
    for number in range(rules.signals):
        yield from _sender(world, rules, number)


def _time(world: World, rules: Protocol) -> Iterator[Step[World]]:
    for key in SIGNALS:
        if world.waits[index(key)] == "ahead":
            after = world._replace(waits=put(world.waits, index(key), "passed"))
            is_earliest = rules.due_at_earliest or not world.waits[index("c")]
            if world.state == "queued" and world.due == "later" and is_earliest:
                after = after._replace(due="now")
            yield Step(f"the deadline of {key} passes", after)
    if world.state == "queued" and world.due == "set":
        yield Step("its time comes", world._replace(due="now"))


def _reaper(world: World, rules: Protocol) -> Iterator[Step[World]]:
    crashes, since = world.crashes + 1, world.crashes_since_progress + 1
    if world.is_cancel_asked:
        after = end(world, rules, "cancelled")
    elif rules.poison_after and crashes >= rules.poison_after:
        after = end(world, rules, "failed")
        if since < rules.poison_after:
            after = fail(after, "A3 taken for poison although it made progress between its crashes")
    else:
        after = world._replace(state="queued", due="now", workers=stale(world), attempts=world.attempts - 1)
    if rules.poison_after:
        after = after._replace(crashes=crashes, crashes_since_progress=since)
    if any(worker.is_current for worker in world.workers):
        yield from faulty(world, rules, "reap a worker that lives", after)
    else:
        yield Step("reap", after)


def _cancels(world: World, rules: Protocol) -> Iterator[Step[World]]:
    if rules.cancels:
        cancelled = end(world, rules, "cancelled") if world.state in LIVE else world
        if world.state == "queued":
            yield from faulty(world, rules, "cancel", cancelled)
        if world.state == "running":
            yield from faulty(world, rules, "cancel by force", cancelled)
            if not world.is_cancel_asked:
                yield from faulty(world, rules, "ask for its cancel", world._replace(is_cancel_asked=True))
    if world.state == "running" and world.is_cancel_asked:
        for number, worker in enumerate(world.workers):
            if worker.is_current:
                after = end(world, rules, "cancelled")
                yield Step(f"{NAMES[number]} stops", after._replace(workers=put(after.workers, number, Worker())))


def _operators(world: World, rules: Protocol) -> Iterator[Step[World]]:
    if rules.operator_retries and world.state in {"failed", "cancelled"}:
        yield from _operator_retries(world, rules)
    if rules.reschedules and world.state == "queued":
        yield from faulty(world, rules, "reschedule to now", world._replace(due="now"))
        yield from faulty(world, rules, "change its priority", world._replace(wake_matches=not rules.wakes_by_epoch))


def _operator_retries(world: World, rules: Protocol) -> Iterator[Step[World]]:
    after = world._replace(state="queued", due="now", crashes=0, crashes_since_progress=0, attempts=0)
    if rules.retry_forgets:
        outcome = world.records[index("c")]
        if outcome is not None and outcome.value == "error":
            after = after._replace(records=put(after.records, index("c"), None))
        if world.links:
            child = "queued" if world.child in {"failed", "cancelled"} else world.child
            after = after._replace(child=child, child_asked=False)
    if world.faults < rules.faults:
        yield Step(RETRIED, after._replace(faults=world.faults + 1), is_fault=True)


def _notes(world: World, rules: Protocol) -> Iterator[Step[World]]:
    """The duty that works off what the ends of parents and of rounds have left to do about children."""
    if world.note == "volatile":
        yield from faulty(world, rules, "the server dies", world._replace(note=""))
    if world.note:
        done = world._replace(note="")
        if world.state not in ENDED and rules.note_is_checked:
            yield Step("an old note is void", done)
        else:
            if world.state not in ENDED and world.child in LIVE:
                done = fail(done, "C2 an old note cancelled the child of a task that was retried")
            if world.child == "queued":
                done = child_ended(done, "cancelled")
            elif world.child == "running":
                done = done._replace(child_asked=True)
            yield Step("a note cancels the child", done)
    if world.round_note:
        old = {"queued": "ended", "running": "asked"}.get(world.old_child, world.old_child)
        yield Step("a note cancels the child of the round", world._replace(round_note=False, old_child=old))


def _child(world: World, rules: Protocol) -> Iterator[Step[World]]:
    if world.child == "queued" and has_slot(world, rules):
        yield Step("the child is claimed", world._replace(child="running"))
    if world.child == "running":
        yield from _child_runs(world, rules)
    if rules.operator_retries and world.child in {"failed", "cancelled"} and world.links:
        after = world._replace(child="queued", child_asked=False, child_retried=True)
        if world.waits[index("c")] and rules.recounts:
            after = after._replace(pending=world.pending + 1)
        yield from faulty(world, rules, "an operator retries the child", after)
    is_taken = (record := world.records[index("c")]) is not None and record.value == "result"
    if rules.prunes and world.child in ENDED and (is_taken or not rules.child_stays):
        yield Step("the child is pruned", world._replace(child="pruned"), is_fault=True)


def _child_runs(world: World, rules: Protocol) -> Iterator[Step[World]]:
    if rules.child_locks or (world.waits[index("c")] and world.state == "queued"):
        yield Step("the child completes", child_ended(world, "completed"))
    else:
        yield Step("the child sees nobody wait", world._replace(child_is_late=True))
    if world.child_is_late:
        yield Step("the child completes late", world._replace(child="completed"))
    if world.child_asked:
        yield Step("the child stops", child_ended(world, "cancelled"))
    yield from faulty(world, rules, "the child fails", child_ended(world, "failed"))
    reaped = child_ended(world, "cancelled") if world.child_asked else world._replace(child="queued")
    yield from faulty(world, rules, "the child is reaped", reaped)
    if rules.child_restarts and world.child_round == 0 and not world.child_asked:
        after = world._replace(child="queued") if rules.restart_is_no_end else child_ended(world, "completed")
        yield Step("the child restarts", after._replace(child_round=1))


def _old_child(world: World) -> Iterator[Step[World]]:
    if world.old_child == "queued":
        yield Step("the child of the round is claimed", world._replace(old_child="running"))
    if world.old_child in {"running", "asked"}:
        yield Step("the child of the round ends", world._replace(old_child="ended"))


def _sender(world: World, rules: Protocol, number: int) -> Iterator[Step[World]]:
    """Send a signal: the same one until there is an answer."""
    if world.senders[number] == "acknowledged":
        return
    if world.senders[number] == "looked":
        yield Step(f"signal {number} is written late", _kept(world, number, "kept", "acknowledged"))
        return
    after = world
    if not world.signals[number]:
        if world.state in ENDED:
            return  # refused: it is not acknowledged, and may be sent again
        if not rules.signal_locks and not any(world.waits):
            yield Step(f"signal {number} sees nobody wait", _sent(world, number, "looked"))
            return
        is_given = rules.gives_on_arrival and any(world.waits)
        after = _kept(world, number, "given" if is_given else "kept", world.senders[number])
        for key in SIGNALS:
            after = wake(after, key)
    yield Step(f"signal {number} is acknowledged", _sent(after, number, "acknowledged"))
    yield from faulty(world, rules, f"signal {number}, without an answer", _sent(after, number, "unanswered"))


def _sent(world: World, number: int, how: str) -> World:
    return world._replace(senders=put(world.senders, number, how))


def _kept(world: World, number: int, how: str, sender: str) -> World:
    signals = world.signals if world.signals[number] else put(world.signals, number, how)
    return _sent(world._replace(signals=signals), number, sender)
