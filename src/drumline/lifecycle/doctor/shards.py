"""The shards of an installation: whether each can be reached and is who it should be, and who takes which new work."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from drumline.core.doctor_report import Finding, PostgresFacts, RedisFacts, Severity
from drumline.core.shard_map import DIRECTORY, ShardMap
from drumline.core.slots import SLOTS
from drumline.lifecycle.doctor.findings import note, ok, problem, warning
from drumline.lifecycle.doctor.services import SKEW_PROBLEM_MS, SKEW_WARNING_MS, judge_postgres, judge_redis
from drumline.ports.shards import OwnEntry, ShardIdentity, ShardState

MOST_NAMED: Final = 10
MOVES: Final = "shard.moves"
"""The check of moves that have not ended."""


class ShardFacts(Struct, frozen=True, kw_only=True):
    """What is known of a shard. What is None could not be asked."""

    name: str
    state: ShardState = ShardState.ACTIVE
    postgres: PostgresFacts | None = None
    error: str = ""
    """Why its database could not be asked."""
    redis: RedisFacts | None = None
    redis_error: str = ""
    is_cluster: bool = False
    """Whether its queue is named as one in a cluster."""
    identity: ShardIdentity | None = None
    entries: Sequence[OwnEntry] | None = None
    """Its own entries of the map."""


def judge_shards(
    shards: Sequence[ShardFacts], shard_map: ShardMap, *, known: frozenset[int], major: int
) -> Iterator[Finding]:
    """Judge all shards together, the directory first; its servers are judged elsewhere."""
    directory = shards[0]
    for shard in shards[1:]:
        yield from _servers(shard, known=known, major=major)
        yield from _identity(shard, directory)
        yield from _clock(shard, directory)
        if shard.state is ShardState.DRAINING:
            yield note(
                "shard.draining", f"shard {shard.name} is being drained", "`drumline shards list` tells how far."
            )
    yield from judge_slots({shard.name: shard.entries for shard in shards}, shard_map)


def _servers(shard: ShardFacts, *, known: frozenset[int], major: int) -> Iterator[Finding]:
    """Judge the database and the Redis of a shard; what is well is one finding."""
    if shard.postgres is None:
        advice = (
            "Its tasks wait until it is back, and keyed submissions that belong there are refused. See that it runs; "
            f"if it has moved: `drumline shards change {shard.name} --store-url …`."
        )
        yield problem("shard.store", f"shard {shard.name} cannot be reached: {shard.error}", advice)
    else:
        yield from _named(shard, judge_postgres(shard.postgres, known=known, major=major))
        version, applied = shard.postgres.version, shard.postgres.applied
        schema = f"schema {max(applied)}" if applied else "no schema"
        yield ok("shard.store", f"shard {shard.name} is PostgreSQL {version // 10_000} with {schema}")
    if shard.redis is not None:
        yield from _named(shard, judge_redis(shard.redis, is_cluster=shard.is_cluster))
    elif shard.redis_error:
        advice = "See that it runs: until then its tasks are claimed more slowly, and nothing is lost."
        yield problem("shard.redis", f"the Redis of shard {shard.name}: {shard.redis_error}", advice)


def _named(shard: ShardFacts, findings: Iterator[Finding]) -> Iterator[Finding]:
    for finding in findings:
        if finding.severity is not Severity.OK:
            yield replace(finding, text=f"shard {shard.name}: {finding.text}")


def _identity(shard: ShardFacts, directory: ShardFacts) -> Iterator[Finding]:
    """Check that the database behind an address is the one that the directory means."""
    if shard.entries is None:
        return
    advice = f"Its address leads to a wrong database: `drumline shards change {shard.name} --store-url …`."
    who = shard.identity
    if who is None:
        yield problem("shard.identity", f"the database of shard {shard.name} has joined no installation", advice)
    elif who.name != shard.name:
        yield problem("shard.identity", f"the database of shard {shard.name} is that of shard {who.name}", advice)
    elif directory.identity is None or who.directory != directory.identity.directory:
        yield problem("shard.identity", f"the database of shard {shard.name} is of another installation", advice)


def _clock(shard: ShardFacts, directory: ShardFacts) -> Iterator[Finding]:
    """Compare the clocks of two databases; each is known by its distance from this machine's."""
    if shard.postgres is None or directory.postgres is None:
        return
    distance = shard.postgres.clock - directory.postgres.clock
    if abs(distance) < SKEW_WARNING_MS:
        return
    word = "ahead of" if distance > 0 else "behind"
    text = f"the clock of shard {shard.name} is {abs(distance) / 1000:.1f} s {word} the directory's"
    advice = "Let NTP or chrony set the clocks of all machines: what is due is decided by each database's own clock."
    yield (problem if abs(distance) >= SKEW_PROBLEM_MS else warning)("shard.clock", text, advice)


def judge_slots(entries: Mapping[str, Sequence[OwnEntry] | None], shard_map: ShardMap) -> Iterator[Finding]:
    """Check that one database takes the new work of each slot, and that it is the one that the map names.

    `entries` are the entries that each shard has; None for one that could not be asked.
    """
    names = {shard_map.entry(slot).shard for slot in range(SLOTS)}
    for name in sorted(names - entries.keys()):
        advice = "Add the shard again with the same database, under the same name."
        yield problem("shard.slots", f"the map names shard {name}, which is not in the list", advice)
    takers = open_slots(entries)
    absent = {name for name, own in entries.items() if own is None}
    unowned = [slot for slot in range(SLOTS) if not takers[slot] and shard_map.entry(slot).shard not in absent]
    twice = [slot for slot in range(SLOTS) if len(takers[slot]) > 1]
    elsewhere = [
        slot
        for slot in range(SLOTS)
        if len(takers[slot]) == 1 and shard_map.entry(slot).shard not in {*takers[slot], *absent}
    ]
    if twice:
        advice = "Stop submissions and report this: the fence is meant to make it impossible."
        yield problem("shard.slots", f"two shards take new work of {_slots(twice)}", advice)
    moving = [*unowned, *elsewhere]
    if moving:
        advice = "Start a scheduler: it finishes moves that were begun. Submissions to these slots wait until then."
        yield problem(MOVES, f"the move of {_slots(sorted(moving))} has not ended", advice)
    if not (twice or moving or names - entries.keys()):
        counts = Counter(shard_map.entry(slot).shard for slot in range(SLOTS))
        told = ", ".join(f"{name} {counts[name]}" for name in entries)
        checked = f"; {', '.join(sorted(absent))} could not be asked" if absent else ""
        yield ok("shard.slots", f"the {SLOTS} slots of new work: {told}{checked}")


def open_slots(entries: Mapping[str, Sequence[OwnEntry] | None]) -> list[list[str]]:
    """Return for each slot the shards that take its new work, by their own entries."""
    takers: list[list[str]] = [[] for _ in range(SLOTS)]
    for name, own in entries.items():
        for slot in () if own is None else _open_in(name, own):
            takers[slot].append(name)
    return takers


def _open_in(name: str, own: Sequence[OwnEntry]) -> Iterator[int]:
    """Yield the slots that are open in a shard, by the newest entry of each.

    The directory begins with all of them: a slot of which it keeps no entry is open there.
    """
    newest = {entry.slot: entry for entry in sorted(own, key=lambda entry: entry.version)}
    for slot in range(SLOTS):
        entry = newest.get(slot)
        if name == DIRECTORY if entry is None else entry.closed_at is None:
            yield slot


def _slots(slots: Sequence[int]) -> str:
    shown = ", ".join(map(str, slots[:MOST_NAMED]))
    more = f" and {len(slots) - MOST_NAMED} more" if len(slots) > MOST_NAMED else ""
    return f"slot {shown}" if len(slots) == 1 else f"slots {shown}{more}"
