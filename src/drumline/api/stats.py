"""Figures over time, for charts."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from drumline.api.operation import ApiCall, Operation, Reply, Tag
from drumline.core.access import Permission
from drumline.core.clock import moment_of
from drumline.core.codec import encode
from drumline.core.duration import parse_duration
from drumline.core.field_schema import QUEUE, SEVERAL, about, line
from drumline.core.names import check_name, check_queue
from drumline.core.stats import Series, UsualDurations
from drumline.core.views import Moment

MOST_NAMES = 100
"""Names of tasks in one question for durations."""


class StatsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which stretch of time, and of which tasks."""

    last: Literal["15m", "1h", "6h", "24h", "7d"] = "15m"
    queue: Annotated[str | None, about(**QUEUE)] = None
    name: Annotated[str | None, line()] = None


class PointBody(Struct, frozen=True, kw_only=True):
    """What happened in one bucket of time. Durations are seconds, as exact as their classes: within a factor of two."""

    at: Moment
    submitted: int
    completed: int
    failed: int
    cancelled: int
    skipped: int
    retried: int
    wait_p50: float | None
    wait_p95: float | None
    run_p50: float | None
    run_p95: float | None
    depth: Annotated[
        float | None, Meta(description="How many tasks were due and waited to be run, on average; null if unknown.")
    ]


class StatsBody(Struct, frozen=True, kw_only=True):
    """Figures of every bucket of a stretch of time, `step` seconds wide; the last one is still being filled."""

    since: Moment
    until: Moment
    step: float
    points: tuple[PointBody, ...]


class DurationsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Of which tasks, and of which stretch of time."""

    name: Annotated[tuple[Annotated[str, line()], ...], Meta(max_length=MOST_NAMES), SEVERAL] = ()
    last: Literal["15m", "1h", "6h", "24h", "7d"] = "24h"


class DurationsList(Struct, frozen=True):
    """How long tasks of each name that was asked for usually wait and run, in that order."""

    items: tuple[UsualDurations, ...]


async def durations(call: ApiCall[None, DurationsQuery]) -> Reply:
    """Return how long tasks of some names usually wait and run: medians and 95th percentiles."""
    names = tuple(check_name(name) for name in call.query.name)
    last = parse_duration(call.query.last, field="last")
    return Reply(encode(DurationsList(await call.engine.figures.usual(names, last=last, tenant=call.tenant))))


async def stats(call: ApiCall[None, StatsQuery]) -> Reply:
    """Return figures over time: what came, ended and failed, how much waited, how long it waited and ran."""
    last = parse_duration(call.query.last, field="last")
    queue = None if call.query.queue is None else check_queue(call.query.queue)
    name = None if call.query.name is None else check_name(call.query.name)
    chart = await call.engine.figures.chart(last=last, tenant=call.tenant, queue=queue, name=name)
    body = StatsBody(
        since=moment_of(chart.since),
        until=moment_of(chart.until),
        step=chart.step / 1000,
        points=tuple(_point(point) for point in chart.points),
    )
    return Reply(encode(body))


def _point(point: Series) -> PointBody:
    return PointBody(
        at=moment_of(point.at),
        submitted=point.submitted,
        completed=point.completed,
        failed=point.failed,
        cancelled=point.cancelled,
        skipped=point.skipped,
        retried=point.retried,
        wait_p50=point.wait_p50,
        wait_p95=point.wait_p95,
        run_p50=point.run_p50,
        run_p95=point.run_p95,
        depth=point.depth,
    )


OPERATIONS = (
    Operation(
        method="GET", path="/api/v1/stats", handler=stats, merges=True, tag=Tag.HEALTH,
        summary="Metrics over time: throughput, failures, depth, waiting and running times", query=StatsQuery,
        answer=StatsBody, permission=Permission.METRICS_READ,
    ),
    Operation(
        method="GET", path="/api/v1/stats/durations", handler=durations, merges=True, tag=Tag.HEALTH,
        summary="How long tasks of some names usually wait and run", query=DurationsQuery, answer=DurationsList,
        permission=Permission.METRICS_READ,
    ),
)  # fmt: skip
