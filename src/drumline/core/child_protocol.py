"""The messages of the worker protocol about children of durable tasks (docs/reference/worker-protocol.md)."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from drumline.core.children import MOST_IN_GROUP, MOST_STARTED, ChildOutcome, ChildRequests, OnEnd, OutcomePage
from drumline.core.durable import NOTHING
from drumline.core.durable_protocol import Key, RecordName
from drumline.core.field_schema import LINE_PATTERN, about
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.names import LONGEST_NAME
from drumline.core.outcome import ErrorInfo
from drumline.core.protocol import LeaseBody, StateWord, lease_body, lease_of, state_of
from drumline.core.state import State
from drumline.core.task import TaskRequest
from drumline.core.views import UUID_FORMAT, ErrorBody

_Place = Annotated[int, Meta(ge=0, le=MOST_IN_GROUP)]
_Tenant = Annotated[str, Meta(max_length=LONGEST_NAME, pattern=LINE_PATTERN)]


class StartFields(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which children to start: those of a call, by its name and key, from a place on."""

    lease: LeaseBody
    name: RecordName
    key: Key = ""
    first: _Place = 0
    """The place of the first of them among those of the same name and key."""
    on_end: Literal["cancel", "abandon"] = "cancel"
    """Whether the end of their parent cancels them."""
    tenant: _Tenant | None = None
    """Their tenant, which can only be that of their parent."""


class StartRequest(StartFields, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Children to start. What is there under a place stays: sent again, it is the answer."""

    tasks: Annotated[list[TaskRequest], about(minItems=1, maxItems=MOST_STARTED)]


class RawStartRequest(StartFields, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Children to start, as they come."""

    tasks: Raw


class StartedBody(Struct, frozen=True, kw_only=True):
    """The ids of the children, in the order of their places, and how many the call has by now."""

    ids: list[Annotated[TaskId, UUID_FORMAT]]
    count: int


class OutcomesRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The call whose outcomes are wanted, and the place to begin at."""

    lease: LeaseBody
    name: RecordName
    key: Key = ""
    first: _Place = 0


class OutcomeBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a child ended; without a state it has not."""

    place: int
    child: Annotated[TaskId, UUID_FORMAT]
    state: StateWord | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: ErrorBody | None = None


class OutcomePageBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Outcomes in the order of their places, and whether there are more."""

    outcomes: tuple[OutcomeBody, ...] = ()
    has_more: bool = False


def start_request(wanted: ChildRequests) -> StartRequest:
    """Return children to start as JSON carries them."""
    return StartRequest(
        lease=lease_body(wanted.lease), name=wanted.name, key=wanted.key, first=wanted.first,
        on_end=wanted.on_end.word, tenant=wanted.tenant, tasks=list(wanted.tasks),
    )  # fmt: skip


def children_of(body: StartFields, tasks: list[TaskRequest]) -> ChildRequests:
    """Return children to start behind their JSON form, or raise `Invalid`."""
    return ChildRequests(
        lease=lease_of(body.lease, field="lease"), name=body.name, key=body.key, first=body.first,
        on_end=OnEnd.CANCEL if body.on_end == "cancel" else OnEnd.ABANDON, tenant=body.tenant, tasks=tuple(tasks),
    )  # fmt: skip


def outcomes_request(lease: Lease, name: str, key: str, *, first: int) -> OutcomesRequest:
    """Return the request for a page of outcomes."""
    return OutcomesRequest(lease=lease_body(lease), name=name, key=key, first=first)


def outcomes_body(page: OutcomePage) -> OutcomePageBody:
    """Return outcomes as JSON carries them."""
    return OutcomePageBody(outcomes=tuple(map(_body, page.outcomes)), has_more=page.has_more)


def outcomes_of(body: OutcomePageBody) -> OutcomePage:
    """Return outcomes as a worker knows them."""
    return OutcomePage(tuple(map(_outcome, body.outcomes)), body.has_more)


def _body(outcome: ChildOutcome) -> OutcomeBody:
    error = outcome.error
    return OutcomeBody(
        place=outcome.place, child=outcome.child,
        state=UNSET if outcome.state is None else outcome.state.name.lower(),
        result=outcome.result if outcome.state is State.COMPLETED else UNSET,
        error=None if error is None else ErrorBody(error.kind, error.message, error.traceback),
    )  # fmt: skip


def _outcome(body: OutcomeBody) -> ChildOutcome:
    error = body.error
    return ChildOutcome(
        place=body.place, child=TaskId(body.child), state=state_of(body.state) if body.state else None,
        result=Raw(bytes(body.result)) if body.result is not UNSET else NOTHING,
        error=None if error is None else ErrorInfo(error.kind, error.message, error.traceback),
    )  # fmt: skip
