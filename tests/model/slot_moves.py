"""New work of one slot moves between shards, while two servers submit and two movers race, and any of them may die.

Each transaction touches one database and is one step. The `fast` server's clock reads 1 or 9, that of the `slow` one
reads 0 all the time; databases read 1 or 2. A submission is: route (newest map known, mint an id) > look for the key at
former owners > pass the fence > commit > answer. `K` is a keyed submission, which the client repeats, also through the
other server and after the answer. `U` has no key: the server repeats it, with the same id, if no answer comes. `C` is a
child that the task of `U` starts while it runs, in one transaction of that task's database.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeVar

from tests.model.explore import Step

OPEN = 99
"""When an entry is closed that is open."""
SERVERS = ("fast", "slow")
CLOCKS = ((1, 9), (0,))
DATABASE_CLOCK = (1, 2)

T = TypeVar("T")


class Rules(NamedTuple):
    """The protections, all in place, and how far to look."""

    fence: Literal["open entry", "any interval"] = "open entry"
    """Whether only the open entry of a shard accepts, or any of its own that includes the time of the id."""
    fences_time: bool = True
    """Whether the id has to be as new as the open entry."""
    fences_version: bool = True
    """Whether the submission names the entry that it was routed by."""
    close_waits: bool = True
    """Whether closing waits for submissions that have passed the fence."""
    closes_after_ids: bool = True
    """Whether an entry is closed at a time after every id that the shard holds, and not only after its clock."""
    closes_after_since: bool = True
    """Whether an entry is closed at a time after the one since when it was open."""
    clamps_ids: bool = True
    """Whether an id is never made older than the entry that it is routed by."""
    former_owners: Literal["all", "last", "none"] = "all"
    """Which former owners are asked for a key."""
    answers_stored_first: bool = True
    """Whether a submission that is stored is answered before the fence is asked."""
    opening_inserts_only: bool = True
    """Whether opening never changes an entry that exists."""
    map_comes_last: bool = True
    """Whether the map is written after the giver is closed and the taker opened."""
    children_stay: bool = True
    """Whether a child is stored beside its parent when the slot has left that shard."""
    children_as_old: bool = True
    """Whether the id of such a child is as old as that of its parent."""
    shards: int = 3
    moves: int = 2
    kinds: str = "K"
    faults: int = 2


class Entry(NamedTuple):
    """One entry of a shard's own: it has the slot from `since` until `closed_at`, and then `taker` has."""

    version: int
    since: int
    closed_at: int = OPEN
    taker: int | None = None


class Submission(NamedTuple):
    """What a server is doing."""

    kind: str
    phase: Literal["look", "send", "passed", "route"]
    version: int
    made_at: int
    """The time within the id."""
    former: tuple[int, ...] = ()
    """The former owners that are still to be asked."""


class Mover(NamedTuple):
    """What a mover is doing: it moves the slot on from the entry of `version`."""

    phase: Literal["close", "open", "map", "close late"]
    version: int
    since: int = 0
    taker: int = 0


class World(NamedTuple):
    """The map, the databases, servers and movers."""

    map: tuple[tuple[int, int], ...]
    """The directory's: (shard, since), by version."""
    entries: tuple[tuple[Entry, ...], ...]
    keyed: tuple[int | None, ...]
    """Of each shard: the time of the id that is stored with the key."""
    unkeyed: tuple[tuple[int, ...], ...]
    servers: tuple[Submission | None, ...]
    known: tuple[int, int]
    """The newest version that each server knows."""
    answered: tuple[int, int] | None
    """The id and shard that the keyed submission was answered with."""
    repeats: int
    """How often the client asks again after that."""
    unkeyed_state: Literal["not sent", "sent", "answered", "lost with its server", "none"]
    movers: tuple[Mover | None, ...]
    faults: int
    child: tuple[int, int] | None = None
    """The shard and the id of the child."""
    broken: str | None = None


def start(rules: Rules) -> World:
    """Return the world in which shard 0 has the slot."""
    shards = rules.shards
    is_keyed = "K" in rules.kinds
    return World(
        map=((0, 0),),
        entries=((Entry(0, 0),),) + ((),) * (shards - 1),
        keyed=(None,) * shards,
        unkeyed=((),) * shards,
        servers=(None, None),
        known=(0, 0),
        answered=None if is_keyed else (0, 0),
        repeats=1 if is_keyed else 0,
        unkeyed_state="not sent" if "U" in rules.kinds else "none",
        movers=(None, None),
        faults=rules.faults,
    )


def broken(world: World) -> str | None:
    """Tell which promise does not hold."""
    if world.broken:
        return world.broken
    if sum(made_at is not None for made_at in world.keyed) > 1:
        return "one key, two tasks"
    if sum(map(len, world.unkeyed)) > 1:
        return "one unkeyed submission stored twice"
    for shard in range(len(world.keyed)):
        for made_at in _ids(world, shard):
            if complaint := _lookup(world, shard, made_at):
                return complaint
    return None


def has_ended(world: World, rules: Rules) -> bool:
    """Tell whether everything is answered, and the shard that the map names accepts."""
    last = world.entries[world.map[-1][0]][-1:]
    is_idle = world.servers == (None, None) and world.movers == (None, None)
    is_answered = world.answered is not None and world.unkeyed_state not in {"not sent", "sent"}
    is_answered = is_answered and (world.child is not None or "C" not in rules.kinds or not any(world.unkeyed))
    return is_idle and is_answered and bool(last) and last[0][0] == len(world.map) - 1 and last[0].closed_at == OPEN


def steps(world: World, rules: Rules) -> Iterator[Step[World]]:
    """Yield all that can happen next."""
    for number, submission in enumerate(world.servers):
        name = SERVERS[number]
        for what, after in _server_steps(world, rules, number, submission):
            yield Step(f"{name} {what}", after)
        if submission is not None and world.faults:
            yield from _server_faults(world, number, submission)
    if "C" in rules.kinds and world.child is None:
        yield from _child_steps(world, rules)
    for number, mover in enumerate(world.movers):
        for what, after in _mover_steps(world, rules, number, mover):
            yield Step(f"mover {number} {what}", after)
        if mover is not None and world.faults:
            died = world._replace(movers=_put(world.movers, number, None), faults=world.faults - 1)
            yield Step(f"fault: mover {number} dies", died, is_fault=True)


def _ids(world: World, shard: int) -> tuple[int, ...]:
    made_at, child = world.keyed[shard], world.child
    ids = world.unkeyed[shard] if made_at is None else (made_at, *world.unkeyed[shard])
    return ids if child is None or child[0] != shard else (*ids, child[1])


def _lookup(world: World, shard: int, made_at: int) -> str | None:
    """Look a stored id up with every version of the map that a reader may have."""
    if _holder(world.map, made_at) != shard:
        return "stored, and a reader with the newest map does not find it"
    for version in range(1, len(world.map)):
        asked = _holder(world.map[:version], made_at)
        if asked != shard and _has_interval(world.entries[asked], made_at):
            return "a reader with an old map gets 404 instead of MOVED"
    return None


def _holder(entries: tuple[tuple[int, int], ...], made_at: int) -> int:
    return next(shard for shard, since in reversed(entries) if since <= made_at)


def _has_interval(entries: tuple[Entry, ...], made_at: int) -> bool:
    return any(entry.since <= made_at < entry.closed_at for entry in entries)


def _server_steps(
    world: World, rules: Rules, number: int, submission: Submission | None
) -> Iterator[tuple[str, World]]:
    if submission is None:
        yield from _idle(world, rules, number)
        return
    match submission.phase:
        case "look":
            yield _looked(world, number, submission)
        case "send":
            yield _sent(world, rules, number, submission)
        case "passed":
            yield _committed(world, number, submission)
        case "route":
            yield from _read_map(world, number)
            for clock in CLOCKS[number]:
                routed = _routed(world, rules, number, submission.kind, clock)
                yield f"routes again, clock {clock}", routed


def _child_steps(world: World, rules: Rules) -> Iterator[Step[World]]:
    """Yield how a task that runs starts a child: where its shard takes new work, by an entry that the server knows."""
    for shard, tasks in enumerate(world.unkeyed):
        for parent in tasks:
            entry = world.entries[shard][-1]
            for clock in {*CLOCKS[0], *CLOCKS[1]}:
                made_at = max(clock, entry.since)
                if entry.closed_at != OPEN:
                    if not rules.children_stay:
                        continue
                    made_at = max(parent, entry.since) if rules.children_as_old else made_at
                elif entry.version >= len(world.map):
                    continue  # no server knows of the entry yet, and the call is repeated
                yield Step(f"a child@{made_at} is stored at {shard}", world._replace(child=(shard, made_at)))


def _server_faults(world: World, number: int, submission: Submission) -> Iterator[Step[World]]:
    name = SERVERS[number]
    if submission.phase == "passed":
        stored, _ = _stored(world, submission)
        again = submission._replace(phase="send")
        lost = stored._replace(servers=_put(world.servers, number, again), faults=world.faults - 1)
        yield Step(f"fault: {name} commits, and the reply is lost", lost, is_fault=True)
    died = world._replace(servers=_put(world.servers, number, None), faults=world.faults - 1)
    if submission.kind == "U":
        died = died._replace(unkeyed_state="lost with its server")
    yield Step(f"fault: {name} dies", died, is_fault=True)


def _idle(world: World, rules: Rules, number: int) -> Iterator[tuple[str, World]]:
    yield from _read_map(world, number)
    for clock in CLOCKS[number]:
        if "K" in rules.kinds and (world.answered is None or world.repeats):
            asked = world if world.answered is None else world._replace(repeats=world.repeats - 1)
            yield f"takes K, clock {clock}", _routed(asked, rules, number, "K", clock)
        if world.unkeyed_state == "not sent":
            sent = world._replace(unkeyed_state="sent")
            yield f"takes U, clock {clock}", _routed(sent, rules, number, "U", clock)


def _read_map(world: World, number: int) -> Iterator[tuple[str, World]]:
    newest = len(world.map) - 1
    if world.known[number] < newest:
        yield "reads the map", world._replace(known=_put2(world.known, number, newest))


def _routed(world: World, rules: Rules, number: int, kind: str, clock: int) -> World:
    version = world.known[number]
    shard, since = world.map[version]
    former: set[int] = set()
    if kind == "K" and rules.former_owners != "none":
        first = 0 if rules.former_owners == "all" else max(version - 1, 0)
        former = {owner for owner, _ in world.map[first:version]} - {shard}
    made_at = max(clock, since) if rules.clamps_ids else clock
    submission = Submission(kind, "look" if former else "send", version, made_at, tuple(sorted(former)))
    return world._replace(servers=_put(world.servers, number, submission))


def _looked(world: World, number: int, submission: Submission) -> tuple[str, World]:
    shard, *rest = submission.former
    found = world.keyed[shard]
    if found is not None:
        return f"finds the key at {shard}", _answered(world, number, submission, found, shard)
    on = submission._replace(phase="look" if rest else "send", former=tuple(rest))
    return f"finds no key at {shard}", world._replace(servers=_put(world.servers, number, on))


def _sent(world: World, rules: Rules, number: int, submission: Submission) -> tuple[str, World]:
    shard = world.map[submission.version][0]
    key = world.keyed[shard] if submission.kind == "K" else None
    if key is not None:
        return f"is told of the key by {shard}", _answered(world, number, submission, key, shard)
    is_stored = submission.kind == "U" and submission.made_at in world.unkeyed[shard]
    if is_stored and rules.answers_stored_first:
        return f"is told of the id by {shard}", _answered(world, number, submission, submission.made_at, shard)
    if _passes(world.entries[shard], rules, submission):
        passed = submission._replace(phase="passed")
        return f"passes the fence of {shard}", world._replace(servers=_put(world.servers, number, passed))
    moved = submission._replace(phase="route")
    known = _put2(world.known, number, len(world.map) - 1)
    return f"gets MOVED from {shard}", world._replace(servers=_put(world.servers, number, moved), known=known)


def _passes(entries: tuple[Entry, ...], rules: Rules, submission: Submission) -> bool:
    if rules.fence == "any interval":
        return _has_interval(entries, submission.made_at)
    if not entries or entries[-1].closed_at != OPEN:
        return False
    is_version = entries[-1].version == submission.version or not rules.fences_version
    return is_version and (entries[-1].since <= submission.made_at or not rules.fences_time)


def _committed(world: World, number: int, submission: Submission) -> tuple[str, World]:
    shard = world.map[submission.version][0]
    stored, made_at = _stored(world, submission)
    what = f"commits {submission.kind}@{submission.made_at} at {shard}"
    return what, _answered(stored, number, submission, made_at, shard)


def _stored(world: World, submission: Submission) -> tuple[World, int]:
    """Store it, unless the key or the id is; and return the time of the id that is stored."""
    shard, made_at = world.map[submission.version][0], submission.made_at
    key = world.keyed[shard]
    if submission.kind == "K":
        return (world._replace(keyed=_put(world.keyed, shard, made_at)), made_at) if key is None else (world, key)
    if made_at in world.unkeyed[shard]:
        return world, made_at
    return world._replace(unkeyed=_put(world.unkeyed, shard, (*world.unkeyed[shard], made_at))), made_at


def _answered(world: World, number: int, submission: Submission, made_at: int, shard: int) -> World:
    world = world._replace(servers=_put(world.servers, number, None))
    if submission.kind == "U":
        return world._replace(unkeyed_state="answered")
    if world.answered not in {None, (made_at, shard)}:
        return world._replace(broken="one key answered with two ids")
    return world._replace(answered=(made_at, shard))


def _mover_steps(world: World, rules: Rules, number: int, mover: Mover | None) -> Iterator[tuple[str, World]]:
    if mover is None:
        if len(world.map) - 1 < rules.moves:
            yield "reads the map", _mover(world, number, Mover("close", len(world.map) - 1))
        return
    giver = world.map[mover.version][0]
    place = next(place for place, entry in enumerate(world.entries[giver]) if entry.version == mover.version)
    match mover.phase:
        case "close":
            steps_of = _close if rules.map_comes_last else _write_map_first
            yield from steps_of(world, rules, number, mover, giver, place)
        case "close late":
            if not _is_in_flight(world, giver):
                closed = _closed(world, giver, place, mover.since, mover.taker)
                yield f"closes {giver}@{mover.since}", _mover(closed, number, None)
        case "open":
            opened = _opened(world, rules, mover)
            yield f"opens {mover.taker}@{mover.since}", _mover(opened, number, mover._replace(phase="map"))
        case "map":
            is_next = len(world.map) == mover.version + 1
            written = world._replace(map=(*world.map, (mover.taker, mover.since))) if is_next else world
            yield f"writes the map {mover.taker}@{mover.since}", _mover(written, number, None)


def _close(
    world: World, rules: Rules, number: int, mover: Mover, giver: int, place: int
) -> Iterator[tuple[str, World]]:
    entry = world.entries[giver][place]
    if entry.closed_at != OPEN:
        on = Mover("open", mover.version, entry.closed_at, entry.taker or 0)
        yield f"finds {giver} closed@{entry.closed_at}", _mover(world, number, on)
    elif not (rules.close_waits and _is_in_flight(world, giver)):
        after: tuple[int, ...] = (entry.since,) if rules.closes_after_since else ()
        after += _ids(world, giver) if rules.closes_after_ids else ()
        for now in DATABASE_CLOCK:
            closed_at = 1 + max((now, *after))
            for taker in _others(rules, giver):
                closed = _closed(world, giver, place, closed_at, taker)
                yield (
                    f"closes {giver}@{closed_at}",
                    _mover(closed, number, Mover("open", mover.version, closed_at, taker)),
                )


def _write_map_first(
    world: World, rules: Rules, number: int, mover: Mover, giver: int, place: int
) -> Iterator[tuple[str, World]]:
    entry = world.entries[giver][place]
    if entry.closed_at != OPEN or len(world.map) != mover.version + 1:
        return
    since = max(DATABASE_CLOCK[0], entry.since) + 1
    for taker in _others(rules, giver):
        late = Mover("close late", mover.version, since, taker)
        written = _opened(world, rules, late)._replace(map=(*world.map, (taker, since)))
        yield f"writes the map {taker}@{since}", _mover(written, number, late)


def _is_in_flight(world: World, giver: int) -> bool:
    return any(each and each.phase == "passed" and world.map[each.version][0] == giver for each in world.servers)


def _others(rules: Rules, giver: int) -> list[int]:
    return [shard for shard in range(rules.shards) if shard != giver]


def _closed(world: World, giver: int, place: int, closed_at: int, taker: int) -> World:
    entry = world.entries[giver][place]._replace(closed_at=closed_at, taker=taker)
    return world._replace(entries=_put(world.entries, giver, _put(world.entries[giver], place, entry)))


def _opened(world: World, rules: Rules, mover: Mover) -> World:
    entries, entry = world.entries[mover.taker], Entry(mover.version + 1, mover.since)
    places = [place for place, each in enumerate(entries) if each.version == entry.version]
    if not places:
        return world._replace(entries=_put(world.entries, mover.taker, (*entries, entry)))
    if rules.opening_inserts_only:
        return world
    return world._replace(entries=_put(world.entries, mover.taker, _put(entries, places[0], entry)))


def _mover(world: World, number: int, mover: Mover | None) -> World:
    return world._replace(movers=_put(world.movers, number, mover))


def _put(values: tuple[T, ...], place: int, value: T) -> tuple[T, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _put2(pair: tuple[int, int], place: int, value: int) -> tuple[int, int]:
    return (value, pair[1]) if place == 0 else (pair[0], value)
