"""The failure inbox: failures by their cause, and what people decide about each."""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.api.reading import read_time, read_until
from drumline.core.access import Permission
from drumline.core.audit import REASON
from drumline.core.bulk import BulkFilter
from drumline.core.clock import Instant, moment_of, to_datetime
from drumline.core.codec import encode
from drumline.core.errors import Invalid
from drumline.core.field_schema import PAGE_SIZE, QUEUE, TIME, about, duration_schemas, line, page_cursor
from drumline.core.filter_subjects import GROUPS
from drumline.core.filter_syntax import LONGEST_FILTER
from drumline.core.filters import read_filter
from drumline.core.names import check_text
from drumline.core.triage import (
    LONGEST_NOTE,
    LONGEST_OWNER,
    NOTE_PATTERN,
    Decision,
    GroupState,
    TriageChange,
    check_note,
)
from drumline.core.views import Moment, TaskIdText
from drumline.engine.bulk import letters_of
from drumline.engine.triage import InboxGroup, InboxQuery
from drumline.ports.dead_letters import GroupOrder

Fingerprint = Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9a-f]{12}$"})]


class StateFilter(StrEnum):
    """States of groups to list."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    REGRESSED = "regressed"
    IGNORED = "ignored"
    ACTIVE = "active"
    """Open, acknowledged or regressed: what there is still something to do about."""

    def states(self) -> tuple[GroupState, ...]:
        """Return the states that are meant."""
        if self is StateFilter.ACTIVE:
            return (GroupState.OPEN, GroupState.ACKNOWLEDGED, GroupState.REGRESSED)
        return (GroupState(self.value),)


class ExampleBody(Struct, frozen=True):
    """The latest failure of a group: its task, and its message as it was."""

    task: TaskIdText
    message: str


class GroupBody(Struct, frozen=True, kw_only=True):
    """Failures of one cause. The message is what they have in common: what varies is folded away."""

    fingerprint: Fingerprint
    kind: str
    message: str
    count: int
    first_at: Moment
    last_at: Moment
    names: tuple[str, ...]
    queues: tuple[str, ...]
    example: ExampleBody | None
    state: GroupState
    """`regressed` if it was resolved and a task has failed with it since."""
    decided_at: Moment | None
    """When it was acknowledged, resolved, ignored or opened again."""
    decided_by: str | None
    """The name of the key that did so."""
    ignored_until: Moment | None
    note: str | None
    owner: str | None
    trend: tuple[int, ...] | None
    """How many failed in each of the last 24 hours, the earliest first, counted up to 100; only if asked for."""


class GroupList(Struct, frozen=True):
    """A page of groups."""

    items: tuple[GroupBody, ...]
    next_cursor: str | None


class GroupsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which groups to list, and what comes first: what was seen last, or what there is most of."""

    queue: Annotated[str | None, about(**QUEUE)] = None
    name: Annotated[str | None, line()] = None
    kind: Annotated[str | None, line(description="The class of the error.")] = None
    since: Annotated[str | None, about("Only groups that have failed at this time or later.", **TIME)] = None
    until: Annotated[str | None, about("Only groups that have failed before this time.", **TIME)] = None
    filter: Annotated[
        str | None, line(LONGEST_FILTER, "Terms that all have to hold: `error:timeout -queue:bulk count>10`.")
    ] = None
    state: Annotated[
        StateFilter | None, about("Only groups in this state; `active` is open, acknowledged and regressed.")
    ] = None
    trend: Annotated[bool, about("Count the failures of each of the last 24 hours; then `limit` is at most 100.")] = (
        False
    )
    sort: Annotated[GroupOrder, about("What comes first: what was seen last, or what there is most of.")] = (
        GroupOrder.LAST_SEEN
    )
    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, page_cursor(pattern="^[0-9]{1,18}[.][0-9a-f]{12}$")] = None


class TriageRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change of a group; what is left out stays, null takes a note or an owner away."""

    state: Annotated[Decision | None, about("`resolved` becomes `regressed` by itself when it happens again.")] = None
    until: Annotated[
        str | float | None,
        about(
            "With `ignored`: until when, as a time or as a duration from now.", anyOf=[TIME, *duration_schemas()],
            examples=["24h", "2026-12-01T09:00:00Z"],
        ),
    ] = None  # fmt: skip
    note: Annotated[str | UnsetType | None, about(type="string", maxLength=LONGEST_NOTE, pattern=NOTE_PATTERN)] = UNSET
    owner: Annotated[str | UnsetType | None, line(LONGEST_OWNER, "Who takes care of it.")] = UNSET
    reason: Annotated[str | None, REASON] = None


async def list_groups(call: ApiCall[None, GroupsQuery]) -> Reply:
    """Return a page of groups."""
    query = call.query
    wanted = BulkFilter(
        queue=query.queue,
        name=query.name,
        kind=query.kind,
        since=None if query.since is None else to_datetime(read_time(query.since, field="since")),
        until=None if query.until is None else to_datetime(read_time(query.until, field="until")),
    )
    page = await call.engine.inbox.groups(
        InboxQuery(
            which=letters_of(wanted, tenant=call.tenant, field=""),
            also=None if query.filter is None else read_filter(query.filter, GROUPS, now=call.engine.clock.now()),
            home=call.home,
            states=() if query.state is None else query.state.states(),
            order=query.sort,
            limit=query.limit,
            cursor=query.cursor,
            trend=query.trend,
        )
    )
    return Reply(encode(GroupList(tuple(group_body(group) for group in page.items), page.next_cursor)))


async def get_group(call: ApiCall[None, NoQuery]) -> Reply:
    """Return one group."""
    group = await call.engine.inbox.group(call.params["fingerprint"], tenant=call.tenant, home=call.home)
    return Reply(encode(group_body(group)))


async def triage_group(call: ApiCall[TriageRequest, NoQuery]) -> Reply:
    """Acknowledge, resolve, ignore or open a group, and give it a note or an owner."""
    inbox, fingerprint = call.engine.inbox, call.params["fingerprint"]
    change = _change(call)
    before = await inbox.group(fingerprint, tenant=call.tenant, home=call.home)
    after = await inbox.decide(fingerprint, change, tenant=call.tenant, home=call.home)
    call.note(before=_noted(before), after=_noted(after))
    return Reply(encode(group_body(after)))


def group_body(found: InboxGroup) -> GroupBody:
    """Return a group as JSON shows it."""
    group, triage = found.group, found.triage
    return GroupBody(
        fingerprint=group.fingerprint,
        kind=group.kind,
        message=group.message,
        count=group.count,
        first_at=moment_of(group.first_at),
        last_at=moment_of(group.last_at),
        names=group.names,
        queues=group.queues,
        example=None if group.example is None else ExampleBody(group.example.task, group.example.message),
        state=found.state,
        decided_at=_moment(None if triage is None else triage.decided_at),
        decided_by=None if triage is None else triage.decided_by,
        ignored_until=_moment(triage.until if triage is not None and found.state is GroupState.IGNORED else None),
        note=None if triage is None else triage.note,
        owner=None if triage is None else triage.owner,
        trend=found.trend,
    )


def _change(call: ApiCall[TriageRequest, NoQuery]) -> TriageChange:
    body = call.body
    if body.state is None and body.note is UNSET and body.owner is UNSET:
        raise Invalid("give a state, a note or an owner", field="state")
    if (body.state is Decision.IGNORED) != (body.until is not None):
        wrong = "must say until when it is ignored" if body.until is None else "is for the state `ignored` only"
        raise Invalid(wrong, field="until")
    note = None if body.note is UNSET or body.note is None else check_note(body.note)
    owner = None
    if isinstance(body.owner, str):
        owner = check_text(body.owner, field="owner", longest=LONGEST_OWNER)
    return TriageChange(
        decision=body.state,
        by=call.by.name,
        until=None if body.until is None else read_until(body.until, call.engine.clock.now(), field="until"),
        sets_note=body.note is not UNSET,
        note=note or None,
        sets_owner=body.owner is not UNSET,
        owner=owner,
    )


def _noted(found: InboxGroup) -> dict[str, object]:
    """Return what the audit log keeps of a group."""
    triage = found.triage
    return {
        "state": found.state.value,
        "owner": None if triage is None else triage.owner,
        "note": None if triage is None else triage.note,
    }


def _moment(at: Instant | None) -> str | None:
    return None if at is None else moment_of(at)


_GROUPS: Final = "/api/v1/failures/groups"

OPERATIONS = (
    Operation(
        method="GET", path=_GROUPS, handler=list_groups, merges=True, tag=Tag.FAILURES,
        summary="List failures by their cause, with counts", query=GroupsQuery, answer=GroupList,
        permission=Permission.TASKS_READ,
    ),
    Operation(
        method="GET", path=_GROUPS + "/{fingerprint}", handler=get_group, merges=True, tag=Tag.FAILURES,
        summary="Look at the failures of one cause", answer=GroupBody, permission=Permission.TASKS_READ,
    ),
    Operation(
        method="PATCH", path=_GROUPS + "/{fingerprint}", handler=triage_group, tag=Tag.FAILURES,
        summary="Acknowledge, resolve or ignore the failures of one cause, or give them a note or an owner",
        body=TriageRequest, answer=GroupBody,
        permission=Permission.TASKS_CONTROL, audit_act="failures.triage", reach=Reach.WHOLE,
    ),
)  # fmt: skip
