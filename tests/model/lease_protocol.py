"""The protocol of DESIGN §4 for one task, two workers, a lossy queue, and a bounded number of faults.

Each protection is a switch in `Protocol`; the tests turn them off one by one and expect the checker to find out.
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from tests.model.explore import Step

Fence = Literal["epoch and nonce", "epoch", "state", "none"]
Phase = Literal["idle", "popped", "given", "running", "finished"]

ENDED = frozenset({"completed", "cancelled"})


class Protocol(NamedTuple):
    """Which protections are in place, and how far to look."""

    fence: Fence = "epoch and nonce"
    sweep: bool = True
    hints_reappear: bool = True
    releases_ghosts: bool = True
    acks_after_commit: bool = True
    store_confirms: bool = True
    store_can_choose: bool = True
    reaps: bool = True
    stores_leased: bool = True
    failover_loses_claims: bool = False
    faults: int = 3
    epochs: int = 5


class Worker(NamedTuple):
    """What one worker is doing, with which lease."""

    phase: Phase = "idle"
    epoch: int = 0
    nonce: int = 0
    is_alive: bool = True


IDLE = Worker()
NAMES = ("ada", "bob")


class World(NamedTuple):
    """The task in the store, its hint in the queue, the client, and the workers."""

    state: str = "absent"
    epoch: int = 0
    nonce: int = 0
    owner: int | None = None
    is_acked: bool = False
    push_is_due: bool = False
    is_hinted: bool = False
    is_hidden: bool = False
    workers: tuple[Worker, Worker] = (IDLE, IDLE)
    endings: int = 0
    broken: str | None = None
    faults: int = 0
    before_claim: tuple[str, int, int | None] | None = None


def steps(world: World, rules: Protocol) -> Iterator[Step[World]]:
    """Yield all that can happen next."""
    yield from _submission(world, rules)
    yield from _queue(world, rules)
    for number in (0, 1):
        yield from _worker(world, rules, number)
    yield from _keepers(world, rules)


def _faulty(world: World, rules: Protocol, name: str, **changes: Any) -> Iterator[Step[World]]:
    if world.faults < rules.faults:
        yield Step(f"fault: {name}", world._replace(faults=world.faults + 1, **changes), is_fault=True)


def _submission(world: World, rules: Protocol) -> Iterator[Step[World]]:
    if world.state == "absent":
        yield Step("commit the submission", world._replace(state="queued", push_is_due=True))
        for number in (0, 1) if rules.stores_leased else ():  # there is no claim that could be forgotten by itself
            leased = _claimed(world, rules, number)._replace(before_claim=None)
            yield Step(f"commit the submission, leased to {NAMES[number]}", leased)
        if not rules.acks_after_commit:
            yield Step("acknowledge early", world._replace(is_acked=True))
            if world.is_acked:
                yield from _faulty(world, rules, "die before the commit", broken="acknowledged but not stored")
    elif not world.is_acked:
        yield Step("acknowledge", world._replace(is_acked=True))
    if world.push_is_due:
        if world.state == "queued":
            yield Step("push the hint", world._replace(is_hinted=True, push_is_due=False))
        yield from _faulty(world, rules, "lose the push", push_is_due=False)


def _queue(world: World, rules: Protocol) -> Iterator[Step[World]]:
    nobody_has_it = not any(worker.phase == "popped" for worker in world.workers)
    if rules.sweep and world.state == "queued" and not world.is_hinted and not world.is_hidden:
        yield Step("sweep", world._replace(is_hinted=True))
    if rules.hints_reappear and world.is_hidden and nobody_has_it:
        yield Step("the hint reappears", world._replace(is_hidden=False, is_hinted=True))
    if world.is_hinted or world.is_hidden:
        yield from _faulty(world, rules, "flush the queue", is_hinted=False, is_hidden=False)
    if not world.is_hinted and world.state != "absent":
        yield from _faulty(world, rules, "a failover doubles the hint", is_hinted=True)


def _set(world: World, number: int, worker: Worker, **changes: Any) -> World:
    workers = (worker, world.workers[1]) if number == 0 else (world.workers[0], worker)
    return world._replace(workers=workers, **changes)


def _claimed(world: World, rules: Protocol, number: int) -> World:
    lease = Worker("given", world.epoch + 1, world.nonce + 1)
    before = (world.state, world.epoch, world.owner) if rules.failover_loses_claims else None
    return _set(
        world, number, lease, state="running", epoch=lease.epoch, nonce=lease.nonce, owner=number, is_hidden=False,
        before_claim=before,
    )  # fmt: skip


def _worker(world: World, rules: Protocol, number: int) -> Iterator[Step[World]]:
    acts = {"idle": _idle, "popped": _popped, "given": _given, "running": _running, "finished": _finished}
    yield from acts[world.workers[number].phase](world, rules, number)
    if world.workers[number].phase != "idle":
        dead = Worker(is_alive=False)
        yield from _faulty(world, rules, f"kill {NAMES[number]}", workers=_set(world, number, dead).workers)


def _can_be_claimed(world: World, rules: Protocol) -> bool:
    return world.state == "queued" and world.epoch < rules.epochs


def _idle(world: World, rules: Protocol, number: int) -> Iterator[Step[World]]:
    if not world.workers[number].is_alive:
        if world.owner != number:
            yield Step(f"{NAMES[number]} restarts", _set(world, number, IDLE))
        return
    if world.is_hinted:
        popped = _set(world, number, Worker("popped"), is_hinted=False, is_hidden=True)
        yield Step(f"{NAMES[number]} pops", popped)
    if rules.store_can_choose and _can_be_claimed(world, rules):
        yield Step(f"{NAMES[number]} claims from the store", _claimed(world, rules, number))


def _popped(world: World, rules: Protocol, number: int) -> Iterator[Step[World]]:
    if not rules.store_confirms and world.state != "queued":
        yield Step(f"{NAMES[number]} starts at once", world._replace(broken="run on the queue's word alone"))
    if _can_be_claimed(world, rules):
        yield Step(f"{NAMES[number]} claims", _claimed(world, rules, number))
    elif world.state != "queued":
        yield Step(f"{NAMES[number]} is refused", _set(world, number, IDLE, is_hidden=False))


def _given(world: World, rules: Protocol, number: int) -> Iterator[Step[World]]:
    running = world.workers[number]._replace(phase="running")
    yield Step(f"{NAMES[number]} starts", _set(world, number, running))
    yield from _faulty(world, rules, f"{NAMES[number]}'s answer is lost", workers=_set(world, number, IDLE).workers)
    if world.epoch < rules.epochs:  # whoever was to hear of it has left, or listens no more
        after, _ = _settled(world, rules, world.workers[number], "queued")
        yield Step(f"what {NAMES[number]} was given is given back", _set(after, number, IDLE))


def _running(world: World, rules: Protocol, number: int) -> Iterator[Step[World]]:
    finished = world.workers[number]._replace(phase="finished")
    yield Step(f"{NAMES[number]} finishes", _set(world, number, finished))
    if world.epoch < rules.epochs:
        after, _ = _settled(world, rules, world.workers[number], "queued")
        yield Step(f"{NAMES[number]} fails, to be retried", _set(after, number, IDLE))


def _finished(world: World, rules: Protocol, number: int) -> Iterator[Step[World]]:
    after, accepted = _settled(world, rules, world.workers[number], "completed")
    yield Step(f"{NAMES[number]} settles", _set(after, number, IDLE))
    if accepted:
        yield from _faulty(after, rules, f"{NAMES[number]}'s settlement goes unanswered")


def _settled(world: World, rules: Protocol, worker: Worker, state: str) -> tuple[World, bool]:
    """Return the world after a settlement reaches the store, and whether the store accepted it."""
    accepted = {
        "none": world.state != "absent",
        "state": world.state == "running",
        "epoch": world.state == "running" and worker.epoch == world.epoch,
        "epoch and nonce": world.state == "running" and (worker.epoch, worker.nonce) == (world.epoch, world.nonce),
    }[rules.fence]
    if not accepted:
        return world, False
    endings = world.endings + (state in ENDED)
    broken = world.broken
    if world.state in ENDED:
        broken = "an ended task changed"
    elif world.state == "queued" or worker.nonce != world.nonce:
        broken = "a stale lease was accepted"
    elif endings > 1:
        broken = "the task ended twice"
    return world._replace(state=state, owner=None, endings=endings, broken=broken, before_claim=None), True


def _keepers(world: World, rules: Protocol) -> Iterator[Step[World]]:
    if world.state in {"queued", "running"} and world.epoch < rules.epochs:
        cancelled = world._replace(
            state="cancelled", epoch=world.epoch + 1, owner=None, endings=world.endings + 1, before_claim=None
        )
        yield Step("cancel", cancelled, is_fault=True)
    if world.before_claim is not None:
        state, epoch, owner = world.before_claim
        yield from _faulty(
            world, rules, "a failover forgets the claim", state=state, epoch=epoch, owner=owner, before_claim=None
        )
    if world.state != "running" or world.owner is None or world.epoch >= rules.epochs:
        return
    owner_, freed = (
        world.workers[world.owner],
        world._replace(state="queued", epoch=world.epoch + 1, owner=None, before_claim=None),
    )
    if rules.reaps and not owner_.is_alive:
        yield Step("reap", freed)
    elif rules.reaps:
        yield from _faulty(freed, rules, "reap a living worker")
    holds = owner_.phase in {"given", "running", "finished"} and owner_.nonce == world.nonce
    if rules.releases_ghosts and owner_.is_alive and not holds:
        yield Step("release the ghost", freed)
