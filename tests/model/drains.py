"""A waiting task leaves its shard for the present owner of its slot, while clients, a worker and two movers race.

A shard has the row of the task, or an inactive copy of it that no claim, sweep or list sees, or nothing; and maybe a
forwarding row (shard, epoch). A mover reads the task and copies it to the owner, inactive; takes it out at the giver,
in one transaction with the forwarding row; activates the copy. `home` is where the map sends a reader. The slot may
move on meanwhile, an empty shard is removed, the idempotency key of the task is used again, and expires.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeVar

from tests.model.explore import Step

T = TypeVar("T")


class Rules(NamedTuple):
    """The protections, all in place, and how far to look."""

    takes_by_epoch: bool = True
    """Whether a task is taken out only if it waits with the epoch that was copied."""
    taking_raises: bool = True
    """Whether the move raises the epoch."""
    activates_by_epoch: bool = True
    """Whether activation names the epoch of the copy."""
    activates_copies_only: bool = True
    """Whether activation leaves a row alone that is active."""
    activates_last: bool = True
    """Whether activation follows the giver's commit."""
    copies_over_older: bool = True
    """Whether a copy replaces an older inactive copy only."""
    copies_over_no_row: bool = True
    """Whether a copy never replaces a row, live or ended."""
    copies_after_forward: bool = True
    """Whether a copy is refused that is older than the taker's own forwarding row."""
    looks_why: bool = True
    """Whether a mover that may not take out looks whether the task is forwarded already."""
    discards_by_epoch: bool = True
    """Whether a copy is discarded by its epoch."""
    carries_on: bool = True
    """Whether a mover works on the inactive copies that it finds."""
    acts_activate: bool = True
    """Whether a request that came by the forwarding row activates the copy, then acts."""
    row_first: bool = True
    """Whether a row comes before a forwarding row, which activation deletes."""
    removes_unnamed: bool = True
    """Whether a shard is removed only when the map does not name it."""
    removes_unled: bool = True
    """Whether a shard is removed only when no forwarding row leads to it."""
    removes_without_copies: bool = True
    """Whether a shard is removed only when no inactive copy is left that came from it."""
    removed_takes_none: bool = True
    """Whether a shard that is removed refuses copies."""
    names_who_has_forwards: bool = True
    """Whether the map names the shard that has the forwarding rows, and not who owns the slot by then."""
    forwards_stay: bool = True
    """Whether forwarding rows go only with their shard."""
    names_active: bool = True
    """Whether the map names a shard that has the task, or a forwarding row to it."""
    hands_forwards_over: bool = True
    """Whether the shard that the map names instead of a removed one first gets its forwarding rows."""
    edits_raise: bool = True
    """Whether every act on a waiting task raises its epoch."""
    key_goes_along: bool = True
    """Whether the copy has the key."""
    key_stays: bool = True
    """Whether the giver keeps the key as long as the forwarding row."""
    key_over_nothing: bool = True
    """Whether the key of a copy leaves alone the key of another task."""
    key_goes_by_task: bool = True
    """Whether discarding a copy deletes the key of that task only."""
    shards: int = 2
    acts: tuple[str, ...] = ("cancel", "reschedule", "read")
    latest_epoch: int = 4
    moves: int = 1
    """How often the slot moves on."""
    keys: bool = False
    """Whether the key is submitted again meanwhile."""
    expires: bool = False
    """Whether the key expires."""
    faults: int = 0


class Row(NamedTuple):
    """The task in one shard. A copy knows where it comes from."""

    state: Literal["queued", "running", "completed", "cancelled"]
    epoch: int
    value: int = 0
    """How often it was rescheduled."""
    giver: int | None = None
    """Where an inactive copy comes from; None if the row is active."""


class Forward(NamedTuple):
    """A forwarding row."""

    shard: int
    epoch: int


class Mover(NamedTuple):
    """What a mover is doing."""

    phase: Literal["copy", "take", "activate", "discard"]
    giver: int
    taker: int
    row: Row
    has_key: bool = True


class Request(NamedTuple):
    """What a client asks for, and where it goes next."""

    act: str
    shard: int
    epoch: int | None = None
    """That of the forwarding row that it came by."""


class Submission(NamedTuple):
    """The same key again: it looks at every other shard, then stores at the owner."""

    version: int
    left: tuple[int, ...]


class World(NamedTuple):
    """All databases, the map, and who is at work."""

    rows: tuple[Row | None, ...]
    forwards: tuple[Forward | None, ...]
    keys: tuple[str, ...]
    """Whose key each shard has: of this task (X), of a later one (Y), or none."""
    home: int = 0
    owner: int = 1
    moves: int = 0
    version: int = 0
    removed: int | None = None
    has_expired: bool = False
    has_later: bool = False
    """Whether the key belongs to a later task, since it has expired."""
    movers: tuple[Mover | None, ...] = (None, None)
    request: Request | None = None
    submission: Submission | None = None
    worker: tuple[int, int] | None = None
    """The shard and epoch of its lease."""
    acknowledged: tuple[int, int, str] = (1, 0, "")
    """The epoch, the value and the last act that somebody was told of."""
    faults: int = 0
    broken: str | None = None


def start(rules: Rules) -> World:
    """Return the world in which the task waits in shard 0, and shard 1 has the slot."""
    others = rules.shards - 1
    return World(
        rows=(Row("queued", 1),) + (None,) * others,
        forwards=(None,) * rules.shards,
        keys=("X",) + ("",) * others,
        faults=rules.faults,
    )


def broken(world: World, rules: Rules) -> str | None:
    """Tell which promise does not hold."""
    if world.broken:
        return world.broken
    rows = [row for row in world.rows if _is_active(row)]
    if len(rows) > 1:
        return "active in two places"
    for row in rows:
        if row and (complaint := _loss(row, world.acknowledged)):
            return complaint
    return _read(world, rules)


def has_ended(world: World) -> bool:
    """Tell whether the task has ended, and nothing is under way."""
    rows = [row for row in world.rows if row]
    is_idle = world.movers == (None, None) and world.request is None
    return is_idle and len(rows) == 1 and _is_active(rows[0]) and rows[0].state in {"completed", "cancelled"}


def is_cut(world: World, rules: Rules) -> bool:
    """Tell whether the task comes to the last epoch that the model counts."""
    return any(row and row.epoch >= rules.latest_epoch - 1 for row in world.rows)


def steps(world: World, rules: Rules) -> Iterator[Step[World]]:
    """Yield all that can happen next."""
    for what, after in _all_but_movers(world, rules):
        yield Step(what, after)
    for number, mover in enumerate(world.movers):
        for what, after, then in _mover_steps(world, rules, mover):
            yield Step(f"mover {number} {what}", after._replace(movers=_put(world.movers, number, then)))
        if mover is not None and world.faults:
            died = world._replace(movers=_put(world.movers, number, None), faults=world.faults - 1)
            yield Step(f"fault: mover {number} dies", died, is_fault=True)


def _all_but_movers(world: World, rules: Rules) -> Iterator[tuple[str, World]]:
    yield from _worker_steps(world, rules)
    yield from _request_steps(world, rules)
    yield from _submission_steps(world, rules)
    yield from _map_steps(world, rules)
    yield from _removals(world, rules)


def _loss(row: Row, acknowledged: tuple[int, int, str]) -> str | None:
    epoch, value, act = acknowledged
    if row.epoch < epoch:
        return "the epoch fell"
    if row.value < value:
        return "an acknowledged change is lost"
    if act == "cancel" and row.state != "cancelled":
        return "an acknowledged cancel was undone"
    if act == "complete" and row.state != "completed":
        return "a completed task lives again"
    return None


def _read(world: World, rules: Rules) -> str | None:
    """Follow the forwarding rows from home."""
    shard, epoch = world.home, None
    seen: set[tuple[int, int | None]] = set()
    while (shard, epoch) not in seen:
        seen.add((shard, epoch))
        row, forward = world.rows[shard], world.forwards[shard]
        if shard == world.removed:
            return "a reader is sent to a shard that was removed"
        if (forward is None or rules.row_first) and (_is_active(row) or _is_meant(row, epoch, rules)):
            return None
        if forward is None:
            return "a reader gets 404 for an existing task"
        shard, epoch = forward
    return "a reader goes round in circles"


def _is_active(row: Row | None) -> bool:
    return row is not None and row.giver is None


def _is_meant(row: Row | None, epoch: int | None, rules: Rules) -> bool:
    """Tell whether the forwarding row that a request came by is about this copy."""
    return (
        rules.acts_activate and row is not None and row.giver is not None and epoch == row.epoch + rules.taking_raises
    )


def _worker_steps(world: World, rules: Rules) -> Iterator[tuple[str, World]]:
    for shard, row in enumerate(world.rows):
        if row and row.giver is None and row.state == "queued" and row.epoch < rules.latest_epoch:
            claimed = _row(world, shard, row._replace(state="running", epoch=row.epoch + 1), "claim")
            yield f"claim at {shard}", claimed._replace(worker=(shard, row.epoch + 1))
    if world.worker is None:
        return
    shard, epoch = world.worker
    row = world.rows[shard]
    if row and row.giver is None and row.state == "running" and row.epoch == epoch:
        completed = _row(world, shard, row._replace(state="completed"), "complete")
        yield f"complete at {shard}", completed._replace(worker=None)
        yield (
            f"fail at {shard}, waits again",
            _row(world, shard, row._replace(state="queued"), "fail")._replace(worker=None),
        )
    else:
        yield "the worker is fenced", world._replace(worker=None)


def _request_steps(world: World, rules: Rules) -> Iterator[tuple[str, World]]:
    request = world.request
    if request is None:
        if world.acknowledged[0] < rules.latest_epoch:
            for act in rules.acts:
                yield f"a client asks to {act}", world._replace(request=Request(act, world.home))
        return
    act, shard = request.act, request.shard
    row, forward = world.rows[shard], world.forwards[shard]
    if forward and (not rules.row_first or not (_is_active(row) or _is_meant(row, request.epoch, rules))):
        yield f"{act}: {shard} forwards", world._replace(request=Request(act, *forward))
    elif row and row.giver is None:
        yield f"{act} at {shard}", _acted(world, rules, shard, row, act)
    elif row and _is_meant(row, request.epoch, rules):
        activated = _activated(world, rules, shard)
        yield f"{act} at {shard} activates", _acted(activated, rules, shard, activated.rows[shard], act)
    elif shard != world.home:
        yield f"{act}: MOVED by {shard}", world._replace(request=Request(act, world.home))
    else:
        yield f"{act}: 404 at {shard}", world._replace(broken="an act gets 404 for an existing task")


def _acted(world: World, rules: Rules, shard: int, row: Row | None, act: str) -> World:
    assert row is not None
    done = world._replace(request=None)
    if act == "cancel" and row.state in {"queued", "running"}:
        return _row(done, shard, row._replace(state="cancelled", epoch=row.epoch + 1), act)
    if act == "reschedule" and row.state == "queued":
        return _row(done, shard, row._replace(value=row.value + 1, epoch=row.epoch + rules.edits_raise), act)
    if act == "retry" and row.state == "cancelled":
        return _row(done, shard, row._replace(state="queued", epoch=row.epoch + 1), act)
    return done


def _row(world: World, shard: int, row: Row, act: str) -> World:
    return world._replace(rows=_put(world.rows, shard, row), acknowledged=(row.epoch, row.value, act))


def _submission_steps(world: World, rules: Rules) -> Iterator[tuple[str, World]]:
    submission = world.submission
    if rules.expires and not world.has_expired:
        yield "the key expires", world._replace(has_expired=True)
    if submission is None:
        if rules.keys:
            former = tuple(shard for shard in range(rules.shards) if shard not in {world.owner, world.removed})
            yield "the key is submitted again", world._replace(submission=Submission(world.version, former))
    elif submission.version != world.version:
        yield "the submission gets MOVED", world._replace(submission=None)
    elif submission.left:
        shard, *rest = submission.left
        found = None if _has_key(world, shard) else submission._replace(left=tuple(rest))
        yield f"the submission asks {shard} for the key", world._replace(submission=found)
    elif _has_key(world, world.owner):
        yield "the owner knows the key", world._replace(submission=None)
    else:
        yield "the owner stores the key", _stored(world)


def _has_key(world: World, shard: int) -> bool:
    return world.keys[shard] == "Y" or (world.keys[shard] == "X" and not world.has_expired)


def _stored(world: World) -> World:
    if not world.has_expired or world.has_later:
        return world._replace(broken="one key, two tasks")
    return world._replace(keys=_put(world.keys, world.owner, "Y"), has_later=True, submission=None)


def _map_steps(world: World, rules: Rules) -> Iterator[tuple[str, World]]:
    home, owner = world.home, world.owner
    if world.moves < rules.moves and world.removed is None:
        for shard in range(rules.shards):
            if shard != owner:
                moved = world._replace(owner=shard, moves=world.moves + 1, version=world.version + 1)
                yield f"the slot moves to {shard}", moved
    forward = world.forwards[home]
    if world.rows[home] is not None or forward is None or owner == home:
        return
    if rules.hands_forwards_over and _takes_over(world, owner, forward):
        handed = world._replace(forwards=_put(world.forwards, owner, forward))
        yield f"{owner} gets the forwarding row of {home}", handed
    for shard in (owner,) if home else range(1, rules.shards):  # the first time also who has owned the slot before
        if shard != world.removed and _may_name(world, rules, shard):
            named = world._replace(home=shard, version=world.version + 1)
            yield f"the map names {shard} instead of {home}", named


def _may_name(world: World, rules: Rules, shard: int) -> bool:
    """Tell whether the map may name a shard: one that owned the slot when it got the forwarding rows."""
    there = world.rows[shard]
    is_found = _is_active(there) or (rules.hands_forwards_over and world.forwards[shard] is not None)
    if is_found:
        return True
    is_owner = shard == world.owner
    return is_owner and (
        (there is not None and not rules.names_active)
        or not rules.hands_forwards_over
        or not rules.names_who_has_forwards
    )


def _takes_over(world: World, owner: int, forward: Forward) -> bool:
    own = world.forwards[owner]
    if forward.shard == owner or _is_active(world.rows[owner]):
        return False
    return own is None or own.epoch < forward.epoch


def _removals(world: World, rules: Rules) -> Iterator[tuple[str, World]]:
    for shard, forward in enumerate(world.forwards):
        if forward is None or world.removed is not None:
            continue
        leading = [
            other for other, each in enumerate(world.forwards) if each and each.shard == shard and other != shard
        ]
        for other in leading:
            own = world.forwards[other]
            if own and own.epoch < forward.epoch and world.rows[shard] is None:
                yield f"{other} forwards past {shard}", world._replace(forwards=_put(world.forwards, other, forward))
        if _may_remove(world, rules, shard, is_led=bool(leading)):
            gone = world._replace(forwards=_put(world.forwards, shard, None), keys=_put(world.keys, shard, ""))
            yield f"shard {shard} is removed", gone._replace(removed=shard)
            if not rules.forwards_stay:
                yield f"the forwarding row of {shard} is pruned", gone


def _may_remove(world: World, rules: Rules, shard: int, *, is_led: bool) -> bool:
    if world.rows[shard] is not None or world.keys[shard] == "Y" or world.owner == shard:
        return False
    if rules.removes_without_copies and any(row and row.giver == shard for row in world.rows):
        return False
    return (not is_led or not rules.removes_unled) and (world.home != shard or not rules.removes_unnamed)


def _mover_steps(world: World, rules: Rules, mover: Mover | None) -> Iterator[tuple[str, World, Mover | None]]:
    if mover is None:
        yield from _begin(world, rules)
        return
    match mover.phase:
        case "copy":
            yield _copied(world, rules, mover)
        case "take":
            yield _taken(world, rules, mover)
        case "activate":
            yield _activate(world, rules, mover)
        case "discard":
            yield _discarded(world, rules, mover)


def _begin(world: World, rules: Rules) -> Iterator[tuple[str, World, Mover | None]]:
    for shard, row in enumerate(world.rows):
        if row is None:
            continue
        if row.giver is not None and rules.carries_on:
            source = row._replace(giver=None)
            yield f"finds the copy at {shard}", world, Mover("take", row.giver, shard, source)
        is_waiting = row.giver is None and row.state == "queued"
        if is_waiting and shard != world.owner and row.epoch < rules.latest_epoch:
            has_key = world.keys[shard] == "X" and not world.has_expired
            yield f"reads the task at {shard}", world, Mover("copy", shard, world.owner, row, has_key)


def _copied(world: World, rules: Rules, mover: Mover) -> tuple[str, World, Mover | None]:
    taker, row = mover.taker, mover.row
    there, forward = world.rows[taker], world.forwards[taker]
    on = mover._replace(phase="take")
    is_removed = world.removed == taker and rules.removed_takes_none
    if is_removed or (rules.copies_after_forward and forward and forward.epoch > row.epoch):
        return f"copies to {taker} too late", world, None
    if _may_copy(there, row, rules):
        copied = world._replace(rows=_put(world.rows, taker, row._replace(giver=mover.giver)))
        is_free = world.keys[taker] != "Y" or not rules.key_over_nothing
        if rules.key_goes_along and (mover.has_key or not rules.key_over_nothing) and is_free:
            copied = copied._replace(keys=_put(world.keys, taker, "X"))
        return f"copies epoch {row.epoch} to {taker}", copied, on
    if there and there.giver is not None and there.epoch == row.epoch:
        return f"finds it copied to {taker}", world, on
    return f"finds it at {taker}", world, None


def _may_copy(there: Row | None, row: Row, rules: Rules) -> bool:
    if there is None:
        return True
    if there.giver is not None:
        return there.epoch < row.epoch or not rules.copies_over_older
    return not rules.copies_over_no_row and there.state in {"completed", "cancelled"}


def _taken(world: World, rules: Rules, mover: Mover) -> tuple[str, World, Mover | None]:
    giver, taker, copied = mover.giver, mover.taker, mover.row
    there = world.rows[taker]
    if not rules.activates_last and there and there.giver is not None:
        return f"activates at {taker}", _activated(world, rules, taker), mover
    row = world.rows[giver]
    forward = Forward(taker, copied.epoch + rules.taking_raises)
    is_waiting = row is not None and row.giver is None and row.state == "queued"
    if is_waiting and row and (row.epoch == copied.epoch or not rules.takes_by_epoch):
        out = world._replace(rows=_put(world.rows, giver, None), forwards=_put(world.forwards, giver, forward))
        if not rules.key_stays:
            out = out._replace(keys=_put(world.keys, giver, ""))
        return f"takes it out at {giver}", out, mover._replace(phase="activate")
    if rules.looks_why and world.forwards[giver] == forward:
        return f"finds it taken out at {giver}", world, mover._replace(phase="activate")
    return f"may not take it out at {giver}", world, mover._replace(phase="discard")


def _activate(world: World, rules: Rules, mover: Mover) -> tuple[str, World, Mover | None]:
    taker = mover.taker
    row = world.rows[taker]
    if row and row.giver is not None and (row.epoch == mover.row.epoch or not rules.activates_by_epoch):
        return f"activates at {taker}", _activated(world, rules, taker), None
    if row and row.giver is None and not rules.activates_copies_only:
        again = world._replace(rows=_put(world.rows, taker, row._replace(state="queued")))
        return f"activates at {taker}", again, None
    return f"has nothing to activate at {taker}", world, None


def _activated(world: World, rules: Rules, shard: int) -> World:
    row = world.rows[shard]
    assert row is not None
    active = row._replace(epoch=row.epoch + rules.taking_raises, giver=None)
    forwards = _put(world.forwards, shard, None) if rules.row_first else world.forwards
    return world._replace(rows=_put(world.rows, shard, active), forwards=forwards)


def _discarded(world: World, rules: Rules, mover: Mover) -> tuple[str, World, Mover | None]:
    taker = mover.taker
    row = world.rows[taker]
    if row is None or row.giver is None or (rules.discards_by_epoch and row.epoch != mover.row.epoch):
        return f"has nothing to discard at {taker}", world, None
    keeps_key = world.forwards[taker] is not None and rules.key_stays
    is_its = world.keys[taker] == "X" or not rules.key_goes_by_task
    keys = _put(world.keys, taker, "") if is_its and not keeps_key else world.keys
    return f"discards the copy at {taker}", world._replace(rows=_put(world.rows, taker, None), keys=keys), None


def _put(values: tuple[T, ...], place: int, value: T) -> tuple[T, ...]:
    return (*values[:place], value, *values[place + 1 :])
