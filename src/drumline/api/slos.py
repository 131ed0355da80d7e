"""Service level objectives of task types: what they have spent of their error budget, and how fast."""

from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from drumline.api.alerts import page_size
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.core.accept_slo import SloPatch, SloRequest
from drumline.core.access import Permission
from drumline.core.alert import SloId
from drumline.core.clock import moment_of
from drumline.core.codec import encode
from drumline.core.field_schema import PAGE_SIZE, line, page_cursor
from drumline.core.ids import parse_task_id
from drumline.core.names import check_name
from drumline.core.slo import Objective
from drumline.core.views import Moment, TaskIdText
from drumline.engine.alerts import SloStatus
from drumline.ports.alerts import SloFilter


class SloPointBody(Struct, frozen=True):
    """How many tasks there were in a stretch of time, and how many of them went well."""

    at: Moment
    good: int
    total: int


class SloBody(Struct, frozen=True, kw_only=True):
    """An objective, and what it has spent of its budget. Durations are seconds."""

    id: TaskIdText
    name: str
    task: str
    queue: str | None
    objective: Objective
    within: float | None
    target: float
    period: float
    good: int
    """Tasks of the period that went well."""
    total: int
    """Tasks of the period, as far as they count: those that ended, or those that started."""
    share: float | None
    """The share that went well; null without tasks."""
    budget_left: float
    """The share of the error budget that is left; below 0 if more was spent than there was."""
    burn_1h: float | None
    """How many times faster than allowed the budget was spent in the last hour; null without tasks."""
    burn_6h: float | None
    counted_at: Moment | None
    """When this was counted; null if it was not yet."""
    created_at: Moment
    step: float | None
    """The width of the points."""
    points: tuple[SloPointBody, ...] | None
    """The period, the earliest first; only of one objective."""


class SloList(Struct, frozen=True):
    """A page of objectives, newest first."""

    items: tuple[SloBody, ...]
    next_cursor: TaskIdText | None


class SlosQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which objectives to list."""

    name: Annotated[str | None, line()] = None
    task: Annotated[str | None, line(description="Only those about tasks of this name.")] = None
    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, page_cursor(format="uuid")] = None


async def create_slo(call: ApiCall[SloRequest, NoQuery]) -> Reply:
    """Keep an objective and its alerts; what happened before is counted within seconds, as far as it is known."""
    body = slo_body(await call.engine.slos.create(call.body, tenant=call.home))
    call.note(after=_noted(body))
    return Reply(encode(body), 201, headers=((b"location", f"{_PATH}/{body.id}".encode()),))


async def list_slos(call: ApiCall[None, SlosQuery]) -> Reply:
    """Return a page of objectives, newest first."""
    query = call.query
    limit = page_size(call, query.limit)
    which = SloFilter(
        tenant=call.tenant,
        name=None if query.name is None else check_name(query.name),
        task=None if query.task is None else check_name(query.task, field="task"),
    )
    before = None if query.cursor is None else SloId(parse_task_id(query.cursor, field="cursor"))
    found = await call.engine.store.slos.slos(which, limit=limit + 1, before=before)
    items = tuple(slo_body(status) for status in await call.engine.slos.statuses(found[:limit]))
    return Reply(encode(SloList(items, items[-1].id if len(found) > limit else None)))


async def get_slo(call: ApiCall[None, NoQuery]) -> Reply:
    """Return an objective with what happened in its period."""
    return Reply(encode(slo_body(await call.engine.slos.get(_id_of(call), tenant=call.tenant))))


async def change_slo(call: ApiCall[SloPatch, NoQuery]) -> Reply:
    """Change an objective. With another target, time or period it is counted anew."""
    id_ = _id_of(call)
    call.note(before=_noted(slo_body(await call.engine.slos.get(id_, tenant=call.tenant))))
    body = slo_body(await call.engine.slos.change(id_, call.body, tenant=call.tenant))
    call.note(after=_noted(body))
    return Reply(encode(body))


async def delete_slo(call: ApiCall[None, NoQuery]) -> Reply:
    """Delete an objective with its history and its alerts."""
    id_ = _id_of(call)
    call.note(before=_noted(slo_body(await call.engine.slos.get(id_, tenant=call.tenant))))
    await call.engine.slos.delete(id_, tenant=call.tenant)
    return Reply(b"", 204)


def slo_body(status: SloStatus) -> SloBody:
    """Return an objective as JSON shows it."""
    slo, tally = status.slo, status.tally
    definition = slo.definition
    points = None if status.points is None else tuple(
        SloPointBody(moment_of(point.at), point.tally.good, point.tally.total) for point in status.points
    )  # fmt: skip
    return SloBody(
        id=slo.id,
        name=slo.name,
        task=definition.task,
        queue=definition.queue,
        objective=definition.objective,
        within=None if definition.within is None else definition.within / 1000,
        target=definition.target,
        period=definition.period / 1000,
        good=tally.good,
        total=tally.total,
        share=tally.good / tally.total if tally.total else None,
        budget_left=tally.budget_left(definition.budget),
        burn_1h=slo.burn_fast,
        burn_6h=slo.burn_slow,
        counted_at=None if slo.counted_at is None else moment_of(slo.counted_at),
        created_at=moment_of(slo.created_at),
        step=None if points is None else status.step / 1000,
        points=points,
    )


def _noted(body: SloBody) -> dict[str, object]:
    """Return what the audit log keeps of an objective."""
    return {
        "name": body.name,
        "task": body.task,
        "queue": body.queue,
        "objective": body.objective.value,
        "within": body.within,
        "target": body.target,
        "period": body.period,
    }


def _id_of(call: ApiCall[Any, Any]) -> SloId:
    return SloId(parse_task_id(call.params["id"]))


_PATH: Final = "/api/v1/slos"

OPERATIONS = (
    Operation(
        method="POST", path=_PATH, handler=create_slo, tag=Tag.ALERTS,
        summary="Create a service level objective of a task type", body=SloRequest, answer=SloBody, status=201,
        permission=Permission.ALERTS_WRITE, audit_act="slo.create", reach=Reach.WHOLE,
    ),
    Operation(
        method="GET", path=_PATH, handler=list_slos, tag=Tag.ALERTS,
        summary="List service level objectives with their error budgets", query=SlosQuery, answer=SloList,
        permission=Permission.ALERTS_READ,
    ),
    Operation(
        method="GET", path=_PATH + "/{id}", handler=get_slo, tag=Tag.ALERTS,
        summary="Look at a service level objective, with its period hour by hour", answer=SloBody,
        permission=Permission.ALERTS_READ,
    ),
    Operation(
        method="PATCH", path=_PATH + "/{id}", handler=change_slo, tag=Tag.ALERTS,
        summary="Change a service level objective", body=SloPatch, answer=SloBody,
        permission=Permission.ALERTS_WRITE, audit_act="slo.change", reach=Reach.WHOLE,
    ),
    Operation(
        method="DELETE", path=_PATH + "/{id}", handler=delete_slo, tag=Tag.ALERTS,
        summary="Delete a service level objective and its alerts", status=204,
        permission=Permission.ALERTS_WRITE, audit_act="slo.delete", reach=Reach.WHOLE,
    ),
)  # fmt: skip
