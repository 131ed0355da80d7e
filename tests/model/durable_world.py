"""A durable task with its records, waits, signals and a child: what is stored, and what is promised of it.

Two workers, either of which may be late; one child; a sender of signals. A lease is "current or not": one that has
lost the fence never gets it back (why it needs epoch and nonce: `lease_protocol`). A transaction that locks before it
looks is one step; without the lock it is two (`durable_statements` checks that by statements).

    R1  a name has one record, never overwritten      R2  a lease that is not current writes nothing
    R3  a round is answered by its own records and children, and keeps its own deadlines
    W1  no signal answers twice, and none is lost     W2  a queued task whose wait can be answered is due
    W3  a deadline that has passed is not set anew
    C1  one child under a name and key                C2  the end of a parent, or of a round, reaches its children
    C3  the outcome of a child is there when its parent takes it
    A1  a cancel outlives parks and restarts          A2  a park uses no attempt
    A3  crashes with progress between are no poison   A4  what waits is leased to nobody
"""

from typing import Any, Literal, NamedTuple

State = Literal["queued", "running", "completed", "failed", "cancelled"]
Fence = Literal["lease", "state", "none"]
Op = tuple[str, tuple[str, ...]]
"""What the code of the task does next: `step`, `wait` for all or `any`, `call`, `restart` or `done`; and the names."""

ENDED = frozenset({"completed", "failed", "cancelled"})
LIVE = frozenset({"queued", "running"})
KEYS = ("a", "b", "c", "w1", "w2")
"""Names: two steps, the call of the child, and two waits for signals."""
SIGNALS = ("w1", "w2")

STEP_A, STEP_B, CALL, RESTART, DONE = ("step", ("a",)), ("step", ("b",)), ("call", ()), ("restart", ()), ("done", ())


def wait(*keys: str) -> Op:
    """Return a wait for something under each of some names at once."""
    return "wait", keys


def wait_any(*keys: str) -> Op:
    """Return a wait for something under one of some names; the others are waited for until the task goes on."""
    return "any", keys


PROGRAMS: dict[str, tuple[tuple[Op, ...], ...]] = {
    "steps": ((STEP_A, STEP_B, DONE),),
    "signals": ((STEP_A, wait("w1"), wait("w2"), DONE),),
    "pair": ((wait("w1", "w2"), DONE),),
    "child": ((STEP_A, CALL, wait("c"), DONE),),
    "both": ((CALL, wait("c", "w1"), DONE),),
    "restart": ((wait_any("w1", "w2"), RESTART), (wait("w2"), DONE)),
    "leave": ((CALL, RESTART), (CALL, wait("c"), DONE)),
}
"""What the code does in each round."""


class Protocol(NamedTuple):
    """Which protections are in place, what happens, and how many faults."""

    program: str = "steps"
    timeouts: tuple[str, ...] = ()
    signals: int = 0
    faults: int = 3
    cancels: bool = True
    fails: bool = True
    operator_retries: bool = False
    reschedules: bool = False
    prunes: bool = False
    child_restarts: bool = False
    has_limit: bool = False
    """One slot for the task and its child."""
    poison_after: int = 0

    record_fence: Fence = "lease"
    wait_fence: Fence = "lease"
    call_fence: Fence = "lease"
    record_locks: bool = True
    call_locks: bool = True
    park_locks: bool = True
    signal_locks: bool = True
    child_locks: bool = True
    first_stays: bool = True
    progress_counts: bool = True
    keeps_taken: bool = True
    gives_on_arrival: bool = False
    keeps_deadlines: bool = True
    due_at_earliest: bool = True
    wakes_by_epoch: bool = False
    parks_uncounted: bool = True
    park_sees_cancel: bool = True
    park_ends_lease: bool = True
    recounts: bool = True
    call_at_once: bool = True
    derives_id: bool = True
    note_in_transaction: bool = True
    notes_every_end: bool = True
    note_is_checked: bool = True
    child_stays: bool = True
    retry_forgets: bool = True
    frees_slot: bool = True
    restart_is_no_end: bool = True
    restart_sees_cancel: bool = True
    restart_keeps_signals: bool = True
    restart_drops_records: bool = True
    restart_drops_waits: bool = True
    restart_drops_links: bool = True
    restart_notes_children: bool = True


class Worker(NamedTuple):
    """What a worker is doing: where in the code, and whether its lease is current."""

    phase: str = "idle"
    round: int = 0
    place: int = 0
    is_current: bool = False


class Recorded(NamedTuple):
    """What is recorded under a name, and by which round."""

    value: str
    round: int = 0


class World(NamedTuple):
    """What is stored, and what everybody is doing."""

    state: State = "queued"
    due: str = "now"
    """`now`, `later` (at a deadline, or never) or `set` (a time that comes)."""
    is_cancel_asked: bool = False
    round: int = 0
    crashes: int = 0
    crashes_since_progress: int = 0
    attempts: int = 0
    workers: tuple[Worker, ...] = (Worker(), Worker())
    records: tuple[Recorded | None, ...] = (None,) * 5
    waits: tuple[str, ...] = ("",) * 5
    """Under each name: nothing, `ahead`, `passed` or `open` (a wait without a deadline)."""
    wait_rounds: tuple[int, ...] = (0,) * 5
    pending: int = 0
    signals: tuple[str, ...] = ()
    """Each: nothing, `kept`, `taken`, or `given` to a wait."""
    senders: tuple[str, ...] = ()
    """Each: nothing, `unanswered`, `looked` or `acknowledged`."""
    child: str = "none"
    child_asked: bool = False
    child_retried: bool = False
    """By an operator: whoever did so wants it to run."""
    child_round: int = 0
    child_is_late: bool = False
    links: int = 0
    link_round: int = 0
    old_child: str = "none"
    """The child of the round before: as `child`, or `asked` to stop."""
    note: str = ""
    """What has to be done about the child: nothing, `ended`, `volatile` if it is only in memory."""
    round_note: bool = False
    wake_matches: bool = True
    faults: int = 0
    broken: str | None = None


def index(key: str) -> int:
    """Return the place of a name."""
    return KEYS.index(key)


def put(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    """Return a tuple with another value at a place."""
    return (*values[:place], value, *values[place + 1 :])


def fail(world: World, reason: str) -> World:
    """Return a world in which a promise is broken; the first reason counts."""
    return world if world.broken else world._replace(broken=reason)


def stale(world: World) -> tuple[Worker, ...]:
    """Return the workers without a current lease among them."""
    return tuple(worker._replace(is_current=False) for worker in world.workers)


def end(world: World, rules: Protocol, state: State) -> World:
    """Return the task as ended. What it waits for stays: a retry keeps the deadlines."""
    world = world._replace(state=state, is_cancel_asked=False, workers=stale(world))
    if world.links and (rules.notes_every_end or state == "cancelled"):
        world = world._replace(note="ended" if rules.note_in_transaction else "volatile")
    return world


def answer_to(world: World, key: str) -> str | None:
    """Return what the store would answer to a wait now."""
    if key == "c":
        if not world.links or world.child in LIVE:
            return None
        return {"completed": "result", "pruned": "gone"}.get(world.child, "error")
    if "kept" in world.signals:
        return f"signal {world.signals.index('kept')}"
    return "timeout" if world.waits[index(key)] == "passed" else None


def wake(world: World, key: str) -> World:
    """Make a queued task due that waits under a name. It is only a hint: the next attempt asks the store."""
    if world.state == "queued" and world.waits[index(key)] and world.wake_matches:
        return world._replace(due="now")
    return world


def child_ended(world: World, state: str) -> World:
    """End the child, count it down and wake its parent, in one transaction under the parent's lock."""
    world = world._replace(child=state, child_asked=False)
    if world.waits[index("c")]:
        world = world._replace(pending=world.pending - 1)
        if world.pending == 0:
            world = wake(world, "c")
    return world


def broken(world: World) -> str | None:
    """Return the promise that a world breaks, if any."""
    return world.broken or _broken_family(world) or (_broken_wait(world) if world.state == "queued" else None)


def _broken_wait(world: World) -> str | None:
    if any(worker.is_current for worker in world.workers):
        return "A4 a queued task is leased"
    for key in ("c", *SIGNALS):
        place = index(key)
        waits = world.waits[place] and world.records[place] is None and world.due == "later"
        if waits and answer_to(world, key):
            return f"W2 lost wake-up: the wait {key} can be answered, and the task is not due"
    return None


def _broken_family(world: World) -> str | None:
    if world.links > 1:
        return "C1 two children under one name and key"
    if world.attempts > 1:
        return "A2 waiting used an attempt"
    is_alone = world.child in LIVE and not world.note and not world.child_asked and not world.child_retried
    if world.state in ENDED and is_alone:
        return "C2 orphan: the parent has ended, and its child runs on"
    if world.old_child in LIVE and not world.round_note:
        return "C2 orphan: the round is over, and its child runs on"
    return None


def has_ended(world: World) -> bool:
    """Tell whether nothing is left to be done."""
    return (
        world.state in ENDED
        and not world.note
        and not world.round_note
        and world.child not in LIVE
        and world.old_child not in (LIVE | {"asked"})
    )
