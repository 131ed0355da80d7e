"""Locks of durable tasks, statement by statement: a snapshot for each, row locks until the commit (READ COMMITTED).

The other models take a transaction that locks before it looks for one step. This one checks that: a statement that
waited for a lock has an old snapshot, so only a later statement may look; and locks have one order.

A program is a list of operations: `snap` (a statement begins), `lock ROW`, `locksaw FACT ROW` (if the fact was seen),
`see FACT` (in the snapshot), `now FACT` (in the latest version of a locked row), `put FACT`, `if FACT OTHER` and
`unless FACT OTHER` (put the other, by what was seen), `late FACT OTHER` (put the other if the fact is committed: what
an observer would say), `commit`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

Facts = frozenset[str]
NONE: Facts = frozenset()


class Transaction(NamedTuple):
    """Where a program is: its place, the snapshot of its statement, what it has written, what it has seen."""

    place: int = 0
    snapshot: Facts = NONE
    own: Facts = NONE
    saw: Facts = NONE


class World(NamedTuple):
    """All transactions, who holds which row, and what is committed."""

    transactions: tuple[Transaction, ...]
    locks: tuple[tuple[str, int], ...] = ()
    committed: Facts = NONE


class Found(NamedTuple):
    """What was found in all interleavings."""

    states: int
    deadlocks: int
    wrong: int


def program(text: str) -> tuple[tuple[str, ...], ...]:
    """Return a program from its text."""
    return tuple(tuple(each.split()) for each in text.split(";"))


def explore(texts: Sequence[str], is_wrong: Callable[[Facts], bool]) -> Found:
    """Run programs in every interleaving; count deadlocks, and ends that are wrong."""
    programs = [program(text) for text in texts]
    start = World(tuple(Transaction() for _ in programs))
    seen, frontier = {start}, [start]
    deadlocks = wrong = 0
    while frontier:
        world = frontier.pop()
        after = list(_steps(world, programs))
        if not after:
            is_over = all(each.place == len(own) for each, own in zip(world.transactions, programs, strict=True))
            deadlocks += not is_over
            wrong += is_over and is_wrong(world.committed)
        for each in after:
            if each not in seen:
                seen.add(each)
                frontier.append(each)
    return Found(len(seen), deadlocks, wrong)


def _steps(world: World, programs: Sequence[Sequence[tuple[str, ...]]]) -> Iterator[World]:
    for number, transaction in enumerate(world.transactions):
        if transaction.place < len(programs[number]):
            after = _step(world, number, programs[number][transaction.place])
            if after is not None:
                yield after


def _step(world: World, number: int, operation: tuple[str, ...]) -> World | None:
    """Return the world after an operation of a transaction; None if it has to wait."""
    word, *given = operation
    mine = world.transactions[number]
    mine = mine._replace(place=mine.place + 1)
    locks, committed = dict(world.locks), world.committed
    if word in {"lock", "locksaw"}:
        row = given[-1]
        if word == "lock" or given[0] in mine.saw:
            if locks.get(row, number) != number:
                return None
            locks[row] = number
    elif word == "commit":
        committed |= mine.own
        mine = mine._replace(own=NONE, saw=NONE)
        locks = {row: holder for row, holder in locks.items() if holder != number}
    else:
        mine = _inside(mine, word, given, committed)
    transactions = (*world.transactions[:number], mine, *world.transactions[number + 1 :])
    return World(transactions, tuple(sorted(locks.items())), committed)


def _inside(mine: Transaction, word: str, given: list[str], committed: Facts) -> Transaction:
    """Return a transaction after an operation that concerns nobody else."""
    fact, other = [*given, "", ""][:2]
    match word:
        case "snap":
            return mine._replace(snapshot=committed | mine.own)
        case "see":
            return mine._replace(saw=mine.saw | ({fact} & mine.snapshot))
        case "now":
            return mine._replace(saw=mine.saw | ({fact} & (committed | mine.own)))
        case "put":
            return mine._replace(own=mine.own | {fact})
        case _:
            pass
    holds = {"if": fact in mine.saw, "unless": fact not in mine.saw, "late": fact in committed}[word]
    return mine._replace(own=mine.own | ({other} if holds else NONE))
