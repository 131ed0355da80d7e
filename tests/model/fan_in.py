"""Two parents of one task end at the same moment, and somebody cancels the job: statement by statement.

Each transaction sees what others have committed when its statement begins, and what it did itself; a row that it has
written is locked until it commits. It may be killed between any two statements, and is then tried again from the start.
"""

from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple

from tests.model.explore import Step

Release = Literal["count", "look", "read then write"]
TRANSACTIONS = ("first parent", "second parent", "cancel")


class Rules(NamedTuple):
    """Which protections are in place, and how far to look."""

    locks_job: bool = True
    release: Release = "count"
    """How the child's turn is found: by its count, by looking for parents that have not ended, or by a stale count."""
    only_blocked: bool = True
    """Whether only a child that is still blocked is released."""
    cancels: bool = True
    kills: int = 2


class Transaction(NamedTuple):
    """How far one transaction is, what it has read, and what it has written and not committed."""

    step: int = 0
    has_committed: bool = False
    read: int = 0
    child: str | None = None
    pending: int | None = None
    counted: int = 0


class World(NamedTuple):
    """What is committed, who holds which lock, and the transactions."""

    parents: tuple[bool, bool] = (False, False)
    child: str = "blocked"
    pending: int = 2
    ended: int = 0
    """Tasks that the job has counted as ended."""
    job_lock: int | None = None
    child_lock: int | None = None
    transactions: tuple[Transaction, Transaction, Transaction] = (Transaction(), Transaction(), Transaction())
    releases: int = 0
    kills: int = 0
    broken: str | None = None


SETTLE = ("lock job", "end parent", "read", "write child", "count", "commit")
CANCEL = ("lock job", "cancel child", "count", "commit")


def steps(world: World, rules: Rules) -> Iterator[Step[World]]:
    """Yield all that can happen next."""
    for number, transaction in enumerate(world.transactions):
        if transaction.has_committed or (number == 2 and not rules.cancels):
            continue
        script = SETTLE if number < 2 else CANCEL
        name = script[transaction.step]
        after = STATEMENTS[name](world, number, rules)
        if after is not None:
            yield Step(f"{TRANSACTIONS[number]}: {name}", after)
        if transaction.step and world.kills < rules.kills:
            yield Step(f"fault: {TRANSACTIONS[number]} is killed", _killed(world, number), is_fault=True)


def has_ended(world: World) -> bool:
    """Tell whether everything has come to rest as it should."""
    if not all(world.parents):
        return False
    # Three tasks: the parents have ended, and the child either was cancelled or waits to be claimed.
    return (world.child == "queued" and world.ended == 2) or (world.child == "cancelled" and world.ended == 3)


def _lock_job(world: World, number: int, rules: Rules) -> World | None:
    if rules.locks_job and world.job_lock not in {None, number}:
        return None
    locked = world._replace(job_lock=number) if rules.locks_job else world
    return _put(locked, number, world.transactions[number])


def _end_parent(world: World, number: int, _rules: Rules) -> World:
    return _put(world, number, world.transactions[number])


def _read(world: World, number: int, rules: Rules) -> World:
    seen = world.pending if rules.release == "read then write" else sum(world.parents)
    return _put(world, number, world.transactions[number]._replace(read=seen))


def _cancel_child(world: World, number: int, _rules: Rules) -> World | None:
    mine = world.transactions[number]
    if world.child_lock not in {None, number}:
        return None
    if world.child in {"blocked", "queued"}:
        mine = mine._replace(child="cancelled", counted=1)
    return _put(world._replace(child_lock=number), number, mine)


def _count(world: World, number: int, _rules: Rules) -> World:
    mine = world.transactions[number]
    return _put(world, number, mine._replace(counted=mine.counted + (number < 2)))


def _write_child(world: World, number: int, rules: Rules) -> World | None:
    mine = world.transactions[number]
    if world.child_lock not in {None, number}:
        return None
    # A row that was changed while we waited for its lock is read again, so a count is never stale here.
    pending = (mine.read if rules.release == "read then write" else world.pending) - 1
    is_ready = mine.read + 1 == 2 if rules.release == "look" else pending == 0
    if rules.only_blocked and world.child != "blocked":
        return _put(world._replace(child_lock=number), number, mine._replace(pending=pending))
    written = mine._replace(pending=pending, child="queued" if is_ready else None)
    return _put(world._replace(child_lock=number), number, written)


def _commit(world: World, number: int, _rules: Rules) -> World:
    mine = world.transactions[number]
    parents = (
        tuple(done or place == number for place, done in enumerate(world.parents)) if number < 2 else world.parents
    )
    releases = world.releases + (mine.child == "queued")
    broken = None
    if releases > 1:
        broken = "the child was released twice"
    elif mine.child == "queued" and not all(parents):
        broken = "the child was released before its parents ended"
    elif mine.child == "queued" and world.child == "cancelled":
        broken = "a cancelled child was released"
    return _unlocked(world, number)._replace(
        parents=(parents[0], parents[1]),
        child=mine.child or world.child,
        pending=world.pending if mine.pending is None else mine.pending,
        ended=world.ended + mine.counted,
        releases=releases,
        broken=broken,
        transactions=_with(world, number, Transaction(has_committed=True)),
    )


STATEMENTS: Final[dict[str, Callable[[World, int, Rules], World | None]]] = {
    "lock job": _lock_job,
    "end parent": _end_parent,
    "read": _read,
    "write child": _write_child,
    "cancel child": _cancel_child,
    "count": _count,
    "commit": _commit,
}
"""Each returns the world after a statement; None if it has to wait for a lock."""


def _killed(world: World, number: int) -> World:
    return _unlocked(world, number)._replace(transactions=_with(world, number, Transaction()), kills=world.kills + 1)


def _unlocked(world: World, number: int) -> World:
    return world._replace(
        job_lock=None if world.job_lock == number else world.job_lock,
        child_lock=None if world.child_lock == number else world.child_lock,
    )


def _put(world: World, number: int, mine: Transaction) -> World:
    return world._replace(transactions=_with(world, number, mine._replace(step=mine.step + 1)))


def _with(world: World, number: int, mine: Transaction) -> tuple[Transaction, Transaction, Transaction]:
    first, second, third = (mine if place == number else each for place, each in enumerate(world.transactions))
    return first, second, third
