"""One queue: its tasks, how fast they come and go, when it will be empty, and the limits that hold for it."""

from datetime import timedelta
from typing import Annotated, Final

from msgspec import Meta, Struct

from drumline.api.limits import LimitBody, limit_body
from drumline.api.operation import ApiCall, NoQuery, Operation, Reply, Tag
from drumline.api.queues import queue_view
from drumline.api.shapes import QueueBody, queue_body
from drumline.core.access import Permission
from drumline.core.codec import encode
from drumline.core.names import check_queue
from drumline.core.stats import Series

MEASURED: Final = timedelta(minutes=15)
"""The time over which rates are averaged."""


class QueueDetails(Struct, frozen=True, kw_only=True):
    """A queue with its rates over the last 15 minutes."""

    queue: QueueBody
    submitted_per_second: float
    ended_per_second: float
    drain_seconds: Annotated[
        float | None,
        Meta(description="In how long the tasks that are due now will have run, if rates stay; null if they grow."),
    ]
    limits: tuple[LimitBody, ...]
    """Limits of this queue, and of every queue."""


async def get_queue(call: ApiCall[None, NoQuery]) -> Reply:
    """Return a queue; one that nobody has used yet is empty."""
    queue = check_queue(call.params["name"], field="name")
    engine = call.engine
    view = await queue_view(call, queue)
    chart = await engine.figures.chart(last=MEASURED, tenant=call.home, queue=queue)
    seconds = max((chart.until - chart.since) / 1000, 1.0)
    submitted, ended = rates(chart.points, seconds=seconds)
    limits = await engine.flow.list_limits(tenant=call.home)
    concerned = [(limit, running) for limit, running in limits if limit.queue in {None, queue}]
    held = await engine.flow.holders([limit for limit, _ in concerned])
    body = QueueDetails(
        queue=queue_body(view, await engine.sessions.list(tenant=call.home)),
        submitted_per_second=submitted,
        ended_per_second=ended,
        drain_seconds=drain_seconds(view.queued, submitted=submitted, ended=ended),
        limits=tuple(limit_body(limit, running, held) for limit, running in concerned),
    )
    return Reply(encode(body))


def rates(points: tuple[Series, ...], *, seconds: float) -> tuple[float, float]:
    """Return how many tasks came and ended in a second."""
    submitted = sum(point.submitted for point in points)
    ended = sum(point.completed + point.failed + point.cancelled + point.skipped for point in points)
    return round(submitted / seconds, 4), round(ended / seconds, 4)


def drain_seconds(waiting: int, *, submitted: float, ended: float) -> float | None:
    """Return in how many seconds nothing will wait, if tasks come and end as fast as they did; None for never."""
    if waiting == 0:
        return 0.0
    return round(waiting / (ended - submitted), 1) if ended > submitted else None


OPERATIONS = (
    Operation(
        method="GET", path="/api/v1/queues/{name}", handler=get_queue, merges=True, tag=Tag.QUEUES,
        summary="Look at a queue: depth, rates, when it will be empty, limits", answer=QueueDetails,
        permission=Permission.QUEUES_READ,
    ),
)  # fmt: skip
