"""Positions in several event logs as one number.

Each shard numbers its own log. A reader of all of them has a position in each; together they are one number, with 64
bits for each shard, in the order of the shards. So a position is still something to go on from, and 0 is still the
start, also of a shard that was added since. Such numbers say nothing about which of two came first.
"""

from collections.abc import Iterable
from typing import Final

_BITS: Final = 64


def joined(positions: Iterable[int]) -> int:
    """Return positions, one for each shard, as one number."""
    return sum(position << (_BITS * place) for place, position in enumerate(positions))


def position_in(position: int, place: int) -> int:
    """Return the position in the log of the shard at a place."""
    return position >> (_BITS * place) & ((1 << _BITS) - 1)
