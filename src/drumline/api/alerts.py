"""Alerts: rules, where they stand, and when they fired."""

import re
from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct, field

from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.api.reading import read_until
from drumline.core.accept_alert import AlertPatch, AlertRequest
from drumline.core.access import Permission
from drumline.core.alert import AlertId, AlertMeasure, AlertRule, AlertState, Incident, Severity, SloId, describe
from drumline.core.clock import Instant, moment_of
from drumline.core.codec import encode
from drumline.core.errors import Invalid
from drumline.core.field_schema import PAGE_SIZE, UUID, about, line, page_cursor
from drumline.core.ids import parse_task_id
from drumline.core.names import check_name
from drumline.core.views import Moment, TaskIdText
from drumline.ports.alerts import AlertFilter, IncidentFilter

StateWord = Literal["ok", "pending", "firing", "resolved"]
_CURSOR: Final = re.compile(r"([0-9]{1,15})[.]([0-9a-f-]{36})")


class AlertBody(Struct, frozen=True, kw_only=True):
    """A rule, and where it stands. Durations are seconds."""

    id: TaskIdText
    name: str
    summary: str
    """The condition in words."""
    measure: AlertMeasure
    threshold: float
    window: float | None
    hold: float = field(name="for")
    least: int
    severity: Severity
    task: str | None
    queue: str | None
    schedule: str | None
    slo: TaskIdText | None
    note: str | None
    enabled: bool
    muted_until: Moment | None
    """Until when nobody is notified; null if that is over."""
    state: StateWord
    """`resolved` if it has fired, and is ok again."""
    since: Moment
    """When it came into this state."""
    value: float | None
    """What was last measured; null if there was nothing to measure."""
    evaluated_at: Moment | None
    created_at: Moment


class AlertList(Struct, frozen=True):
    """A page of rules, newest first."""

    items: tuple[AlertBody, ...]
    next_cursor: TaskIdText | None


class IncidentBody(Struct, frozen=True, kw_only=True):
    """One time that an alert fired."""

    alert: TaskIdText
    name: str
    severity: Severity
    fired_at: Moment
    resolved_at: Moment | None
    """Null while it fires."""
    value: float
    """The value with which it began to fire."""
    peak: float
    """The highest value while it fired."""
    reason: str | None
    """`changed` or `paused`, if it was not resolved by its value."""


class IncidentList(Struct, frozen=True):
    """A page of incidents, the latest first."""

    items: tuple[IncidentBody, ...]
    next_cursor: str | None


class AlertsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which rules to list."""

    name: Annotated[str | None, line()] = None
    state: StateWord | None = None
    slo: Annotated[str | None, about("Only those of an objective.", **UUID)] = None
    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, page_cursor(format="uuid")] = None


class IncidentsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which incidents to list."""

    alert: Annotated[str | None, about("Only those of an alert.", **UUID)] = None
    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, page_cursor(pattern="^[0-9]{1,15}[.][0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")] = (
        None
    )


async def create_alert(call: ApiCall[AlertRequest, NoQuery]) -> Reply:
    """Keep a rule, and answer once it is durable; it is evaluated within seconds."""
    rule = await call.engine.alerts.create(call.body, tenant=call.home)
    body = alert_body(rule, now=call.engine.clock.now())
    call.note(after=_noted(body))
    location = ((b"location", f"{_PATH}/{rule.id}".encode()),)
    return Reply(encode(body), 201, headers=location)


async def list_alerts(call: ApiCall[None, AlertsQuery]) -> Reply:
    """Return a page of rules, newest first."""
    query = call.query
    limit = page_size(call, query.limit)
    which = AlertFilter(
        tenant=call.tenant,
        name=None if query.name is None else check_name(query.name),
        state=None if query.state is None else AlertState[query.state.upper()],
        slo=None if query.slo is None else SloId(parse_task_id(query.slo, field="slo")),
    )
    before = None if query.cursor is None else AlertId(parse_task_id(query.cursor, field="cursor"))
    found = await call.engine.store.alerts.alerts(which, limit=limit + 1, before=before)
    now = call.engine.clock.now()
    items = tuple(alert_body(rule, now=now) for rule in found[:limit])
    return Reply(encode(AlertList(items, items[-1].id if len(found) > limit else None)))


async def get_alert(call: ApiCall[None, NoQuery]) -> Reply:
    """Return a rule."""
    rule = await call.engine.alerts.get(_id_of(call), tenant=call.tenant)
    return Reply(encode(alert_body(rule, now=call.engine.clock.now())))


async def change_alert(call: ApiCall[AlertPatch, NoQuery]) -> Reply:
    """Change, pause, resume, mute or unmute a rule. Another condition, or a pause, resolves what fires."""
    now, given = call.engine.clock.now(), call.body.muted_until
    until = None if given is UNSET or given is None else read_until(given, now, field="muted_until")
    before = await call.engine.alerts.get(_id_of(call), tenant=call.tenant)
    rule = await call.engine.alerts.change(before.id, call.body, muted_until=until, tenant=call.tenant)
    body = alert_body(rule, now=now)
    call.note(before=_noted(alert_body(before, now=now)), after=_noted(body))
    return Reply(encode(body))


async def delete_alert(call: ApiCall[None, NoQuery]) -> Reply:
    """Delete a rule and its history. What fires is resolved."""
    rule = await call.engine.alerts.get(_id_of(call), tenant=call.tenant)
    call.note(before=_noted(alert_body(rule, now=call.engine.clock.now())))
    await call.engine.alerts.delete(rule.id, tenant=call.tenant)
    return Reply(b"", 204)


async def list_incidents(call: ApiCall[None, IncidentsQuery]) -> Reply:
    """Return a page of incidents, the latest first."""
    query = call.query
    limit = page_size(call, query.limit)
    which = IncidentFilter(
        tenant=call.tenant,
        rule=None if query.alert is None else AlertId(parse_task_id(query.alert, field="alert")),
    )
    before = None if query.cursor is None else _position(query.cursor)
    found = await call.engine.store.alerts.incidents(which, limit=limit + 1, before=before)
    items = tuple(_incident_body(incident) for incident in found[:limit])
    last = found[limit - 1] if len(found) > limit else None
    return Reply(encode(IncidentList(items, None if last is None else f"{last.fired_at}.{last.rule}")))


def page_size(call: ApiCall[Any, Any], limit: int) -> int:
    """Return how many items a page may have, or raise `Invalid`."""
    most = call.context.limits.page
    if not 1 <= limit <= most:
        raise Invalid(f"must be from 1 to {most}", field="limit")
    return limit


def alert_body(rule: AlertRule, *, now: Instant) -> AlertBody:
    """Return a rule as JSON shows it."""
    condition = rule.condition
    return AlertBody(
        id=rule.id,
        name=rule.name,
        summary=describe(condition),
        measure=condition.measure,
        threshold=condition.threshold,
        window=condition.window / 1000 if condition.window else None,
        hold=condition.hold / 1000,
        least=condition.least,
        severity=condition.severity,
        task=condition.task,
        queue=condition.queue,
        schedule=condition.schedule,
        slo=rule.slo,
        note=condition.note,
        enabled=rule.is_enabled,
        muted_until=_moment(rule.muted_until if rule.is_muted(now) else None),
        state=rule.state.word,  # type: ignore[arg-type]
        since=moment_of(rule.since),
        value=rule.value,
        evaluated_at=_moment(rule.evaluated_at),
        created_at=moment_of(rule.created_at),
    )


def _incident_body(incident: Incident) -> IncidentBody:
    return IncidentBody(
        alert=incident.rule,
        name=incident.name,
        severity=incident.severity,
        fired_at=moment_of(incident.fired_at),
        resolved_at=_moment(incident.resolved_at),
        value=incident.value,
        peak=incident.peak,
        reason=incident.reason,
    )


def _noted(body: AlertBody) -> dict[str, object]:
    """Return what the audit log keeps of a rule."""
    return {
        "name": body.name,
        "summary": body.summary,
        "severity": body.severity.value,
        "enabled": body.enabled,
        "muted_until": body.muted_until,
        "note": body.note,
    }


def _position(cursor: str) -> tuple[Instant, AlertId]:
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise Invalid("must be what an answer gave as next_cursor", field="cursor")
    return Instant(int(found[1])), AlertId(parse_task_id(found[2], field="cursor"))


def _moment(at: Instant | None) -> str | None:
    return None if at is None else moment_of(at)


def _id_of(call: ApiCall[Any, Any]) -> AlertId:
    return AlertId(parse_task_id(call.params["id"]))


_PATH: Final = "/api/v1/alerts"

OPERATIONS = (
    Operation(
        method="POST", path=_PATH, handler=create_alert, tag=Tag.ALERTS, summary="Create an alert",
        body=AlertRequest, answer=AlertBody, status=201,
        permission=Permission.ALERTS_WRITE, audit_act="alert.create", reach=Reach.WHOLE,
    ),
    Operation(
        method="GET", path=_PATH, handler=list_alerts, tag=Tag.ALERTS, summary="List alerts and where they stand",
        query=AlertsQuery, answer=AlertList, permission=Permission.ALERTS_READ,
    ),
    Operation(
        method="GET", path="/api/v1/alert-incidents", handler=list_incidents, tag=Tag.ALERTS,
        summary="List the times that alerts fired", query=IncidentsQuery, answer=IncidentList,
        permission=Permission.ALERTS_READ,
    ),
    Operation(
        method="GET", path=_PATH + "/{id}", handler=get_alert, tag=Tag.ALERTS, summary="Look at an alert",
        answer=AlertBody, permission=Permission.ALERTS_READ,
    ),
    Operation(
        method="PATCH", path=_PATH + "/{id}", handler=change_alert, tag=Tag.ALERTS,
        summary="Change, pause, resume, mute or unmute an alert", body=AlertPatch, answer=AlertBody,
        permission=Permission.ALERTS_WRITE, audit_act="alert.change", reach=Reach.WHOLE,
    ),
    Operation(
        method="DELETE", path=_PATH + "/{id}", handler=delete_alert, tag=Tag.ALERTS,
        summary="Delete an alert and its history", status=204,
        permission=Permission.ALERTS_WRITE, audit_act="alert.delete", reach=Reach.WHOLE,
    ),
)  # fmt: skip
