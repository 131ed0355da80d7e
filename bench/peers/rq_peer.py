"""RQ: jobs run inside the worker (`SimpleWorker`), which here is four times as fast as forking.

Results expire by themselves: to have them deleted at once costs more round trips.

Settings: https://python-rq.org/docs/workers/.
"""

from harness import REDIS_URL, Peer, blocking, main, tally
from redis import Redis
from rq import Queue, SimpleWorker

connection = Redis.from_url(REDIS_URL)
queue = Queue("peer", connection=connection)
TASK = "rq_peer.noop"


def noop(sent_ns: int) -> None:
    """Do nothing but count."""
    tally.count(sent_ns)


def submit(sent_ns: int) -> None:
    """Submit one task."""
    queue.enqueue(TASK, sent_ns, description=TASK)


def submit_many(count: int) -> None:
    """Submit `count` tasks by one pipeline."""
    one = Queue.prepare_data(TASK, (0,), description=TASK)
    queue.enqueue_many([one] * count)


def work() -> None:
    """Run one worker."""
    SimpleWorker([queue], connection=connection).work(logging_level="ERROR")


if __name__ == "__main__":
    main(Peer(distribution="rq", producer=blocking(submit, submit_many), work=work))
