"""What the parts of the queue share: the client, the keys, the clock, and how hints are written."""

from collections.abc import Iterable, Sequence
from secrets import token_hex
from typing import Any, Final

from drumline.core.clock import Clock, Instant, SystemClock
from drumline.core.metrics import Metrics
from drumline.core.shard_map import DIRECTORY
from drumline.core.task import Lane
from drumline.ports.store import Hint
from drumline.redis.address import Address
from drumline.redis.client import Meter, RedisCall, RedisClient
from drumline.redis.keys import DEFAULT_PREFIX, QueueKeys, lane_text

MOST_PER_LANE: Final = 50_000
MOST_PER_CALL: Final = 2_000
"""Hints in one script: Redis does nothing else meanwhile."""


class RedisQueueBase:
    """The base class of the queue's parts."""

    def __init__(
        self,
        url: str,
        *,
        prefix: str = DEFAULT_PREFIX,
        shard: str = DIRECTORY,
        clock: Clock | None = None,
        most_per_lane: int = MOST_PER_LANE,
        metrics: Metrics | None = None,
    ) -> None:
        self._address = Address(url)
        self._keys = QueueKeys(prefix, shard)
        probe = RedisCall("probe", (self._keys.probe,), (self._keys.probe,))
        self._client = RedisClient(
            self._address, probe=probe, recovered=self._recovered, meter=Meter(metrics or Metrics(), "queue")
        )
        self._given_clock = clock
        self._clock = clock or SystemClock()
        self._most_per_lane = most_per_lane
        self._origin = token_hex(4)

    async def _recovered(self) -> None:
        """Make good what was missed while Redis was away."""

    async def _run(self, script: str, *args: str | int) -> Any | None:
        """Run a script over lanes at the time that a test gave, or else at the server's own; None if it is away."""
        keys = self._keys
        names = (keys.due, keys.waiting, keys.more, keys.skew, keys.lanes, keys.wake)
        return await self._client.run(RedisCall(script, names, (self._now(), *args)))

    def _now(self) -> Instant | str:
        return "" if self._given_clock is None else self._given_clock.now()


def by_lane(hints: Iterable[Hint]) -> dict[Lane, list[Hint]]:
    """Return hints by their lane, in the order in which they came."""
    lanes: dict[Lane, list[Hint]] = {}
    for hint in hints:
        held = lanes.get(hint.lane)
        if held is None:
            held = lanes[hint.lane] = []
        held.append(hint)
    return lanes


def written(hints: Sequence[Hint]) -> list[str | int]:
    """Return hints as the scripts take them: due time and task in turn."""
    args: list[str | int] = []
    for hint in hints:
        args += (hint.due_at, hint.task)
    return args


def written_lanes(lanes: dict[Lane, list[Hint]]) -> list[str | int]:
    """Return hints lane by lane: lane, number of hints, and those."""
    args: list[str | int] = []
    for lane, hints in lanes.items():
        args += (lane_text(lane), len(hints))
        args += written(hints)
    return args
