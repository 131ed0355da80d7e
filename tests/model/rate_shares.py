"""A rate split into shares: in no window of all shards together start more than the rate allows."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import Step


class Rules(NamedTuple):
    """The protection, and how far to look."""

    counts_window: bool = True
    """Whether a share is not lowered under what the last window has used."""
    rate: int = 2
    window: int = 2
    latest: int = 5


class World(NamedTuple):
    """Two shards, their shares and the starts within the last window."""

    now: int = 0
    shares: tuple[int, int] = (2, 0)
    starts: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    taker: int | None = None
    """Which shard is still to raise its share by one."""


def steps(world: World, rules: Rules) -> Iterator[Step[World]]:
    """Yield all that can happen next."""
    if world.now < rules.latest:
        first, second = (tuple(time for time in each if time > world.now - rules.window) for each in world.starts)
        yield Step("time passes", world._replace(now=world.now + 1, starts=(first, second)))
    for shard in (0, 1):
        used = _used(world, rules, shard)
        if used < world.shares[shard]:
            starts = tuple(sorted((*world.starts[shard], world.now)))
            both = (starts, world.starts[1]) if shard == 0 else (world.starts[0], starts)
            yield Step(f"a task starts at {shard}", world._replace(starts=both))
        if world.taker is None and world.shares[shard] > (used if rules.counts_window else 0):
            yield Step(f"{shard} lowers", _share(world, shard, -1)._replace(taker=1 - shard))
    if world.taker is not None:
        yield Step(f"{world.taker} raises", _share(world, world.taker, 1)._replace(taker=None))


def broken(world: World, rules: Rules) -> str | None:
    """Tell whether more have started within the window than may."""
    if _used(world, rules, 0) + _used(world, rules, 1) > rules.rate:
        return "more starts in a window than the rate"
    return None


def has_ended(world: World) -> bool:
    """Tell whether nothing is under way."""
    return world.taker is None


def _used(world: World, rules: Rules, shard: int) -> int:
    return sum(time > world.now - rules.window for time in world.starts[shard])


def _share(world: World, shard: int, change: int) -> World:
    first, second = world.shares
    return world._replace(shares=(first + change, second) if shard == 0 else (first, second + change))
