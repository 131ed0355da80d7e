"""Celery on Redis: no results, no rate limits, no events, deep prefetch, in-process pool.

Settings: https://docs.celeryq.dev/en/stable/userguide/optimizing.html.
"""

from celery import Celery
from harness import REDIS_URL, Peer, blocking, main, tally

app = Celery("peer", broker=REDIS_URL)
app.conf.update(
    task_ignore_result=True,
    task_store_errors_even_if_ignored=False,
    worker_disable_rate_limits=True,
    worker_prefetch_multiplier=64,
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    broker_pool_limit=1,
    worker_hijack_root_logger=False,
)


@app.task(name="noop")
def noop(sent_ns: int) -> None:
    """Do nothing but count."""
    tally.count(sent_ns)


def work() -> None:
    """Run one worker that executes in its own process."""
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel=ERROR"]
    app.worker_main(["worker", "--pool=solo", *quiet])


if __name__ == "__main__":
    main(Peer(distribution="celery", producer=blocking(noop.delay), work=work))
