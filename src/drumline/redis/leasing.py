"""Tasks that are leased before they are told of: whom to lease one to, and how that session hears of it."""

from drumline.core.clock import Instant
from drumline.core.codec import decode, encode
from drumline.core.ids import SessionId
from drumline.core.task import ClaimedTask, Lane
from drumline.ports.queue import Reservation
from drumline.redis.client import RedisCall
from drumline.redis.keys import lane_text
from drumline.redis.queue_base import RedisQueueBase


class Leasing(RedisQueueBase):
    """The part of `ports.queue.Queue` that knows who waits."""

    async def reserve(self, lane: Lane) -> Reservation | None:
        """Take the session off the list that has waited longest, of those that can run a lone task of a lane."""
        keys = self._keys
        names = (keys.skew, keys.more, keys.lanes, keys.paused, keys.idle, keys.claims, keys.leases)
        found = await self._client.run(RedisCall("reserve", names, (self._now(), lane_text(lane))))
        if not found:
            return None
        process, session, nonce, listed, since = found
        return Reservation(
            session=SessionId(int(session)), nonce=int(nonce), process=process, listed=listed, since=Instant(int(since))
        )

    async def unreserve(self, reservation: Reservation) -> None:
        """Put a session back where it stood, unless it waits anew by now."""
        words = ("NX", reservation.since, reservation.listed)
        await self._client.run(RedisCall("ZADD", (self._keys.idle,), words, plain=True))

    async def hand(self, reservation: Reservation, task: ClaimedTask) -> bool | None:
        """Tell a session of a task that is leased to it; None if Redis is away, so that this is unknown.

        Said once: heard twice it would run twice, and if there was a listener only the first time, it would be released
        while it runs.
        """
        channel = self._keys.leases + reservation.process
        words = b"%d %b" % (reservation.session, encode(task))
        heard = await self._client.run_once(RedisCall("PUBLISH", (channel,), (words,), plain=True))
        return None if heard is None else heard > 0


def parse_leased(message: str) -> tuple[SessionId, ClaimedTask]:
    """Return the session that a task is leased to, and the task."""
    session, task = message.split(" ", 1)
    return SessionId(int(session)), decode(task, ClaimedTask)
