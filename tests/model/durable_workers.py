"""What the workers of a durable task do: claim it, run its code, record, call, wait, restart and settle."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tests.model.durable_world import (
    LIVE,
    PROGRAMS,
    SIGNALS,
    Fence,
    Op,
    Protocol,
    Recorded,
    Worker,
    World,
    answer_to,
    end,
    fail,
    index,
    put,
    stale,
)
from tests.model.explore import Step

IDLE = Worker()
NAMES = ("ada", "bob")


class Act(NamedTuple):
    """A transaction of a worker: what the store has after it, and where the worker is then, unless its attempt ends."""

    name: str
    after: World
    phase: str | None = "run"
    place: int = 0


def faulty(world: World, rules: Protocol, name: str, after: World) -> Iterator[Step[World]]:
    """Yield something that goes wrong, if the number of faults has not been reached."""
    if world.faults < rules.faults:
        yield Step(f"fault: {name}", after._replace(faults=world.faults + 1), is_fault=True)


def worker_steps(world: World, rules: Protocol) -> Iterator[Step[World]]:
    """Yield all that the workers can do."""
    for number, worker in enumerate(world.workers):
        if worker.phase == "idle":
            yield from _claim(world, rules, number)
            continue
        yield from faulty(world, rules, f"kill {NAMES[number]}", _idle(world, number))
        yield from _run(world, rules, number)
        if worker.phase == "run" and _is_fenced(world, number, rules.record_fence) and rules.fails:
            yield from _failures(world, rules, number)


def has_slot(world: World, rules: Protocol) -> bool:
    """Tell whether the limit has room for the task or its child."""
    if not rules.has_limit:
        return True
    holds = not rules.frees_slot and world.state == "queued" and any(world.waits) and world.due == "later"
    return world.child != "running" and world.state != "running" and not holds


def _claim(world: World, rules: Protocol, number: int) -> Iterator[Step[World]]:
    if world.state != "queued" or world.due != "now" or not has_slot(world, rules):
        return
    workers = put(stale(world), number, Worker("run", world.round, 0, is_current=True))
    after = world._replace(state="running", workers=workers, attempts=world.attempts + 1)
    yield Step(f"{NAMES[number]} claims", after)
    yield from faulty(world, rules, f"{NAMES[number]} claims, without an answer", _idle(after, number))


def _run(world: World, rules: Protocol, number: int) -> Iterator[Step[World]]:
    op = _op(world, rules, number)
    acts = {"step": _record, "call": _call, "wait": _wait, "any": _wait_any, "restart": _restart, "done": _settle}
    for act in acts[op[0]](world, rules, number, op[1]):
        if isinstance(act, Step):
            yield act
            continue
        name = f"{NAMES[number]} {act.name}"
        if act.phase is not None:
            yield Step(name, _goto(act.after, number, act.phase, act.place))
        else:
            yield Step(name, _idle(act.after, number) if rules.park_ends_lease else act.after)
        yield from faulty(world, rules, f"{name}, without an answer", act.after)


def _op(world: World, rules: Protocol, number: int) -> Op:
    """Return what a worker does next; one that is late may still be in the code of the round before."""
    worker = world.workers[number]
    return PROGRAMS[rules.program][worker.round][worker.place]


def _is_fenced(world: World, number: int, fence: Fence) -> bool:
    if fence == "none":
        return True
    return world.state == "running" and (fence == "state" or world.workers[number].is_current)


def _is_late(world: World, number: int) -> bool:
    return not (world.state == "running" and world.workers[number].is_current)


def _goto(world: World, number: int, phase: str, place: int) -> World:
    worker = world.workers[number]._replace(phase=phase, place=place)
    return world._replace(workers=put(world.workers, number, worker))


def _idle(world: World, number: int) -> World:
    return world._replace(workers=put(world.workers, number, IDLE))


def _refused(world: World, number: int) -> Step[World]:
    return Step(f"{NAMES[number]} is refused", _idle(world, number))


def _moves(world: World, number: int, name: str, phase: str, step: int = 0) -> Step[World]:
    return Step(f"{NAMES[number]} {name}", _goto(world, number, phase, world.workers[number].place + step))


def _write(world: World, rules: Protocol, number: int, key: str, value: str) -> World:
    if _is_late(world, number):
        world = fail(world, f"R2 a lease that is not current recorded {key}")
    if world.records[index(key)] is not None:
        return world if rules.first_stays else fail(world, "R1 a record was overwritten")
    records = put(world.records, index(key), Recorded(value, world.round))
    world = world._replace(records=records, crashes_since_progress=0)
    return world._replace(crashes=0) if rules.progress_counts else world


def _record(world: World, rules: Protocol, number: int, keys: tuple[str, ...]) -> Iterator[Step[World] | Act]:
    (key,) = keys
    worker = world.workers[number]
    written = Act(f"records {key}", _write(world, rules, number, key, "ok"), "run", worker.place + 1)
    if worker.phase == "run":
        if world.records[index(key)] is not None:
            yield _moves(world, number, f"has {key}", "run", 1)
        else:
            yield _moves(world, number, f"runs {key}", "ran")
    elif worker.phase == "matched":  # without the lock: the lease was looked at before
        yield written
    elif not _is_fenced(world, number, rules.record_fence):
        yield _refused(world, number)
    elif rules.record_locks:
        yield written
    else:
        yield _moves(world, number, "matches its lease", "matched")


def _call(world: World, rules: Protocol, number: int, _keys: tuple[str, ...]) -> Iterator[Step[World] | Act]:
    worker = world.workers[number]
    if world.links and worker.phase == "run":
        if world.link_round != world.round:
            world = fail(world, "R3 a call found the child of the round before")
        yield _moves(world, number, "has its child", "run", 1)
    elif worker.phase == "submitted":
        if _is_fenced(world, number, rules.record_fence):
            yield Act("links its child", world._replace(links=1, link_round=world.round), "run", worker.place + 1)
        else:
            yield _refused(world, number)
    elif worker.phase != "matched" and not _is_fenced(world, number, rules.call_fence):
        yield _refused(world, number)
    elif not rules.call_locks and worker.phase == "run":
        yield _moves(world, number, "matches its lease", "matched")
    elif rules.call_at_once:
        yield Act("starts its child", _started(world, number), "run", worker.place + 1)
    else:
        yield _submitted_first(world, rules, number)


def _started(world: World, number: int) -> World:
    if _is_late(world, number):
        world = fail(world, "C2 orphan: a lease that is not current started a child")
    if world.links:
        return world
    return world._replace(links=1, link_round=world.round, child="queued", child_asked=False)


def _submitted_first(world: World, rules: Protocol, number: int) -> Step[World]:
    """Submit the child, and write the link in another transaction."""
    there = world.child != "none"
    after = world if there and rules.derives_id else world._replace(child="queued", child_asked=False)
    if there and not rules.derives_id:
        after = fail(after, "C1 two children under one name and key")
    return Step(f"{NAMES[number]} submits its child", _goto(after, number, "submitted", world.workers[number].place))


def _wait(world: World, rules: Protocol, number: int, keys: tuple[str, ...]) -> Iterator[Step[World] | Act]:
    yield from _waits(world, rules, number, keys, is_enough=all)


def _wait_any(world: World, rules: Protocol, number: int, keys: tuple[str, ...]) -> Iterator[Step[World] | Act]:
    yield from _waits(world, rules, number, keys, is_enough=any)


def _waits(
    world: World,
    rules: Protocol,
    number: int,
    keys: tuple[str, ...],
    *,
    is_enough: Callable[[Iterable[Recorded | None]], bool],
) -> Iterator[Step[World] | Act]:
    worker = world.workers[number]
    found = [world.records[index(key)] for key in keys]
    if is_enough(found):
        if any(record and record.round != world.round for record in found):
            world = fail(world, "R3 a wait was answered by a record of the round before")
        yield _moves(world, number, "has its answers", "run", 1)
    elif not _is_fenced(world, number, rules.wait_fence):
        yield _refused(world, number)
    elif worker.phase == "looked":
        yield Act("parks", _parked(world, rules, number, keys), None)
    else:
        yield from _answer_or_park(world, rules, number, keys)


def _answer_or_park(world: World, rules: Protocol, number: int, keys: tuple[str, ...]) -> Iterator[Step[World] | Act]:
    place = world.workers[number].place
    looked = world
    if not rules.keeps_deadlines and "passed" in world.waits:
        looked = world._replace(waits=tuple("ahead" if each == "passed" else each for each in world.waits))
    after = looked
    for key in keys:
        after = _answered(after, rules, number, key)
    if after != looked:
        yield Act("is answered", after, "run", place)
    elif looked != world:
        yield Act("waits again", fail(looked, "W3 a deadline that had passed was set anew"), "run", place)
    elif rules.park_locks:
        yield Act("parks", _parked(world, rules, number, keys), None)
    else:
        yield _moves(world, number, "looks in vain", "looked")


def _answered(world: World, rules: Protocol, number: int, key: str) -> World:
    """Answer one wait, if that is possible."""
    place = index(key)
    if world.records[place] is not None:
        return world
    value = answer_to(world, key)
    if rules.gives_on_arrival and "given" in world.signals:
        if world.waits[place] == "passed":
            return fail(world, "W1 a wait timed out, and the signal that it was given is lost")
        value = f"signal {world.signals.index('given')}"
    if value is None:
        return world
    if value == "timeout" and world.wait_rounds[place] != world.round:
        world = fail(world, "R3 a wait was ended by the deadline of the round before")
    world = _taken(world, rules, value)
    world = _write(world, rules, number, key, value)
    return world._replace(waits=put(world.waits, place, ""))


def _taken(world: World, rules: Protocol, value: str) -> World:
    """Take what a wait is answered with."""
    if value == "gone":
        return fail(world, "C3 the child was pruned before its parent took the outcome")
    if value in {"result", "error"}:
        is_early = world.child_round == 1 and not rules.restart_is_no_end
        return fail(world, "C3 a call was answered by a child that restarted") if is_early else world
    if not value.startswith("signal"):
        return world
    if any(record is not None and record.value == value for record in world.records):
        world = fail(world, "W1 one signal answered two waits")
    number = int(value.split()[1])
    return world._replace(signals=put(world.signals, number, "taken" if rules.keeps_taken else ""))


def _parked(world: World, rules: Protocol, number: int, keys: tuple[str, ...]) -> World:
    """Queue the task until the earliest deadline; the attempt ends."""
    if _is_late(world, number):
        world = fail(world, "R2 a lease that is not current parked the task")
    if world.is_cancel_asked:
        if rules.park_sees_cancel:
            return end(world, rules, "cancelled")
        world = fail(world, "A1 a cancel was acknowledged, and the task waits")
    for key in keys:
        world = _waiting(world, rules, key)
    return world._replace(
        state="queued", due="later", wake_matches=True,
        workers=stale(world) if rules.park_ends_lease else world.workers,
        attempts=world.attempts - rules.parks_uncounted,
    )  # fmt: skip


def _waiting(world: World, rules: Protocol, key: str) -> World:
    """Keep that the task waits under a name; a deadline that is there stays."""
    place = index(key)
    if world.records[place] is not None:
        return world
    is_new = not world.waits[place]
    if is_new:
        kind = "ahead" if key in rules.timeouts and key in SIGNALS else "open"
        world = world._replace(
            waits=put(world.waits, place, kind), wait_rounds=put(world.wait_rounds, place, world.round)
        )
    if key == "c" and (rules.recounts or is_new):
        world = world._replace(pending=int(world.child in LIVE))
    return world


def _restart(world: World, rules: Protocol, number: int, _keys: tuple[str, ...]) -> Iterator[Step[World] | Act]:
    if not _is_fenced(world, number, rules.record_fence):
        yield _refused(world, number)
    elif world.is_cancel_asked and rules.restart_sees_cancel:
        yield Act("restarts, and is cancelled", end(world, rules, "cancelled"), None)
    else:
        yield Act("restarts", _next_round(world, rules), None)


def _next_round(world: World, rules: Protocol) -> World:
    """Set the round aside: the same task, queued, without records, waits and children; signals stay."""
    if world.is_cancel_asked:
        world = fail(world, "A1 a cancel was acknowledged, and the next round runs")
    if not rules.restart_keeps_signals and "kept" in world.signals:
        world = fail(world, "W1 a signal was lost with the round that did not take it")
    after = world._replace(
        state="queued", due="now", round=1, is_cancel_asked=False, workers=stale(world), attempts=0, crashes=0,
        crashes_since_progress=0,
    )  # fmt: skip
    if rules.restart_drops_records:
        after = after._replace(records=(None,) * 5)
    if rules.restart_drops_waits:
        after = after._replace(waits=("",) * 5, wait_rounds=(0,) * 5)
    if world.links and rules.restart_drops_links:
        is_live = world.child in LIVE
        old = "ended" if not is_live else "asked" if world.child_asked else world.child
        after = after._replace(
            links=0, child="none", child_asked=False, child_retried=False, pending=0, old_child=old,
            round_note=rules.restart_notes_children and is_live, note="",
        )  # fmt: skip
    return after


def _settle(world: World, rules: Protocol, number: int, _keys: tuple[str, ...]) -> Iterator[Step[World] | Act]:
    if not _is_fenced(world, number, rules.record_fence):
        yield _refused(world, number)
        return
    outcome = world.records[index("c")]
    is_bad = outcome is not None and outcome.value == "error"
    yield Act("settles", end(world, rules, "failed" if is_bad else "completed"), None)


def _failures(world: World, rules: Protocol, number: int) -> Iterator[Step[World]]:
    if world.is_cancel_asked:
        after = end(world, rules, "cancelled")
    else:
        after = world._replace(state="queued", due="set", workers=stale(world), attempts=world.attempts - 1)
    yield from faulty(world, rules, f"{NAMES[number]} fails, and backs off", _idle(after, number))
    failed = _idle(end(world, rules, "failed"), number)
    yield from faulty(world, rules, f"{NAMES[number]} fails for good", failed)
