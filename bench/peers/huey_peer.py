"""Huey on Redis: blocking pops, no results, four threads to a consumer process.

Settings: https://huey.readthedocs.io/en/latest/consumer.html.
"""

from harness import REDIS_URL, Peer, blocking, main, tally
from huey import RedisHuey

huey = RedisHuey("peer", url=REDIS_URL, blocking=True, results=False)


@huey.task(name="noop")
def noop(sent_ns: int) -> None:
    """Do nothing but count."""
    tally.count(sent_ns)


def work() -> None:
    """Run one consumer."""
    huey.create_consumer(workers=4, worker_type="thread", periodic=False).run()


if __name__ == "__main__":
    main(Peer(distribution="huey", producer=blocking(noop), work=work))
