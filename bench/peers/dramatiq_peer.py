"""Dramatiq on Redis: one process of threads to a worker, default middleware, deep prefetch.

Without the deep prefetch a consumer that has all it may hold sleeps, for up to a second.

Settings: https://dramatiq.io/advanced.html.
"""

import os
import sys
from pathlib import Path

# Read by dramatiq when it is imported, so they come before it.
os.environ.setdefault("dramatiq_queue_prefetch", "1000")
os.environ.setdefault("dramatiq_worker_timeout", "10")

import dramatiq
from dramatiq import cli
from dramatiq.brokers.redis import RedisBroker
from harness import REDIS_URL, Peer, blocking, main, tally

broker = RedisBroker(url=REDIS_URL)
dramatiq.set_broker(broker)


@dramatiq.actor(actor_name="noop", queue_name="peer")
def noop(sent_ns: int) -> None:
    """Do nothing but count."""
    tally.count(sent_ns)


def work() -> None:
    """Run one worker process."""
    here = Path(__file__)
    options = ["--path", str(here.parent), "--processes", "1", "--threads", "8"]
    sys.exit(cli.main(cli.make_argument_parser().parse_args([here.stem, *options])))


if __name__ == "__main__":
    main(Peer(distribution="dramatiq", producer=blocking(noop.send), work=work))
