"""Which slots go where, when shards are added, moved to or emptied."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from drumline.core.errors import Conflict, Invalid
from drumline.core.shard_map import ShardMap
from drumline.core.slots import SLOTS

Moves = dict[int, str]
"""Slots, and who takes their new work from now on."""


def spread(shard_map: ShardMap, shards: Sequence[str]) -> Moves:
    """Return the fewest moves after which these shards have all slots, as equal as can be."""
    held = _held(shard_map)
    room = _equal(shards, held)
    homeless = [slot for name, slots in held.items() if name not in room for slot in slots]
    for name, most in room.items():
        homeless += held[name][most:]
    moves: Moves = {}
    for name, most in room.items():
        for _ in range(most - len(held[name])):
            moves[homeless.pop()] = name
    return moves


def hand_over(shard_map: ShardMap, *, taker: str, giver: str, slots: int) -> Moves:
    """Return moves of some slots from one shard to another."""
    if giver == taker:
        raise Invalid("must be another shard than the one that gives", field="taker")
    held = _held(shard_map)[giver]
    if not 1 <= slots <= len(held):
        raise Invalid(f"must be between 1 and {len(held)}, which is what {giver} has", field="slots")
    return dict.fromkeys(held[-slots:], taker)


def take_over(shard_map: ShardMap, *, taker: str, shards: Sequence[str], slots: int | None) -> Moves:
    """Return moves to one shard from those that have most: so many slots, or as many as make it equal to the others."""
    held = _held(shard_map)
    givers = [name for name in shards if name != taker and held[name]]
    if not givers:
        raise Conflict("there is no other shard that has slots", field="taker")
    if slots is None:
        slots = max(_equal(shards, held)[taker] - len(held[taker]), 0)
    most = sum(len(held[name]) for name in givers)
    if not 0 <= slots <= most:
        raise Invalid(f"must be at most {most}, which is what the others have", field="slots")
    moves: Moves = {}
    for _ in range(slots):
        giver = max(givers, key=lambda name: len(held[name]))
        moves[held[giver].pop()] = taker
    return moves


def _held(shard_map: ShardMap) -> defaultdict[str, list[int]]:
    """Return the slots that each shard has."""
    held: defaultdict[str, list[int]] = defaultdict(list)
    for slot, entry in enumerate(shard_map.entries()):
        held[entry.shard].append(slot)
    return held


def _equal(shards: Sequence[str], held: defaultdict[str, list[int]]) -> Counter[str]:
    """Return how many slots each shard has if all have as many; who has most now has one more."""
    if not shards:
        raise Conflict("there is no other shard to take the work", field="name")
    share, more = divmod(SLOTS, len(shards))
    largest_first = sorted(shards, key=lambda name: -len(held[name]))
    return Counter({name: share + (number < more) for number, name in enumerate(largest_first)})
