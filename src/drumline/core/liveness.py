"""Whether a process is alive: each of its activities must report progress again and again.

An open port proves nothing. A duty that hangs, a blocked loop or a worker without heartbeats does not report any more,
and is found by that. An outage elsewhere does not count: an activity that fails and tries again has made progress, and
restarting the process would not help.
"""

from msgspec import Struct

from drumline.core.clock import Clock


class Activity(Struct):
    """When an activity last reported progress, and how long it may be silent."""

    at: float
    within: float


class Liveness:
    """The activities of one process, and which of them are stuck."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._activities: dict[str, Activity] = {}
        self._shards: dict[str, Liveness] = {}

    def of_shard(self, shard: str) -> "Liveness":
        """Return the activities that this process has for another shard; they have the same names in each."""
        return self._shards.setdefault(shard, Liveness(self._clock))

    def forget_shard(self, shard: str) -> None:
        """Expect nothing more of the activities for a shard."""
        self._shards.pop(shard, None)

    def expect(self, activity: str, *, within: float) -> None:
        """Expect a sign of an activity every so many seconds, from now on."""
        self._activities[activity] = Activity(self._clock.monotonic(), within)

    def beat(self, activity: str) -> None:
        """Note that an activity has got somewhere."""
        if (known := self._activities.get(activity)) is not None:
            known.at = self._clock.monotonic()

    def end(self, activity: str) -> None:
        """Expect nothing more of an activity."""
        self._activities.pop(activity, None)

    def idle(self) -> dict[str, float]:
        """Return for how many seconds each activity has not been heard of, without those for other shards."""
        now = self._clock.monotonic()
        return {name: max(now - activity.at, 0.0) for name, activity in self._activities.items()}

    def stuck(self) -> dict[str, float]:
        """Return the activities that have been silent for too long, and for how many seconds."""
        idle = self.idle()
        stuck = {name: idle[name] for name, activity in self._activities.items() if idle[name] > activity.within}
        for shard, activities in self._shards.items():
            stuck |= {f"{name} of {shard}": seconds for name, seconds in activities.stuck().items()}
        return stuck
