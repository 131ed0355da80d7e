"""Deliveries: what was told to whom, and how that went; send one again."""

from enum import StrEnum
from typing import Annotated, Any

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from drumline.api.key_restrictions import check_delivery
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.core.access import Permission
from drumline.core.clock import moment_of
from drumline.core.codec import encode
from drumline.core.delivery import Delivery, DeliveryId, DeliveryState
from drumline.core.field_schema import PAGE_SIZE, UUID, about, line, page_cursor
from drumline.core.ids import parse_task_id
from drumline.core.names import LONGEST_NAME, check_text
from drumline.core.subscription import SubscriptionId
from drumline.core.views import Moment, TaskIdText
from drumline.ports.notifications import DeliveryFilter


class DeliveryWord(StrEnum):
    """The state of a delivery."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


class DeliveryBody(Struct, frozen=True, kw_only=True):
    """One event on its way to one target, and what became of it."""

    id: TaskIdText
    """Also the header `webhook-id` of every try."""
    subscription: TaskIdText | None
    """Null if a task or job names the target itself."""
    event_id: str
    event_type: str
    subject: str
    channel: str
    target: str
    state: DeliveryWord
    attempts: int
    next_at: Moment | None
    status: int | None
    response: str | None
    error: str | None
    latency_ms: int | None
    created_at: Moment
    finished_at: Moment | None
    event: Raw | UnsetType = UNSET


class DeliveryList(Struct, frozen=True):
    """A page of deliveries, newest first."""

    items: tuple[DeliveryBody, ...]
    next_cursor: TaskIdText | None


class DeliveriesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which deliveries to list."""

    subscription: Annotated[str | None, about(**UUID)] = None
    state: DeliveryWord | None = None
    subject: Annotated[str | None, line(description="The id of the task, job … that it is about.")] = None
    event_type: Annotated[str | None, line()] = None
    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, page_cursor(format="uuid")] = None


async def list_deliveries(call: ApiCall[None, DeliveriesQuery]) -> Reply:
    """Return a page of deliveries, newest first."""
    query = call.query
    which = DeliveryFilter(
        tenant=call.tenant,
        subscription=_subscription_of(query.subscription),
        state=None if query.state is None else DeliveryState[query.state.name],
        subject=None if query.subject is None else check_text(query.subject, field="subject", longest=LONGEST_NAME),
        event_type=(
            None if query.event_type is None else check_text(query.event_type, field="event_type", longest=LONGEST_NAME)
        ),
    )
    page = await call.engine.deliveries.list(which, limit=query.limit, cursor=query.cursor)
    return Reply(encode(DeliveryList(tuple(delivery_body(each) for each in page.items), page.next_cursor)))


async def get_delivery(call: ApiCall[None, NoQuery]) -> Reply:
    """Return a delivery with what it sends."""
    return Reply(encode(delivery_body(await call.engine.deliveries.get(_id_of(call), tenant=call.tenant))))


async def resend(call: ApiCall[None, NoQuery]) -> Reply:
    """Let a delivery be tried again now, however it ended."""
    await check_delivery(call, await call.engine.deliveries.get(_id_of(call), tenant=call.tenant))
    return Reply(encode(delivery_body(await call.engine.deliveries.resend(_id_of(call), tenant=call.tenant))), 202)


def delivery_body(delivery: Delivery) -> DeliveryBody:
    """Return a delivery as it is shown."""
    return DeliveryBody(
        id=delivery.id,
        subscription=delivery.subscription,
        event_id=delivery.event_id,
        event_type=delivery.event_type,
        subject=delivery.subject,
        channel=delivery.target.channel.word,
        target=delivery.target.address,
        state=DeliveryWord(delivery.state.word),
        attempts=delivery.attempts,
        next_at=None if delivery.next_at is None else moment_of(delivery.next_at),
        status=delivery.status,
        response=delivery.response,
        error=delivery.error,
        latency_ms=delivery.latency_ms,
        created_at=moment_of(delivery.created_at),
        finished_at=None if delivery.finished_at is None else moment_of(delivery.finished_at),
        event=UNSET if delivery.event is None else Raw(delivery.event),
    )


def _subscription_of(text: str | None) -> SubscriptionId | None:
    return None if text is None else SubscriptionId(parse_task_id(text, field="subscription"))


def _id_of(call: ApiCall[Any, Any]) -> DeliveryId:
    return DeliveryId(parse_task_id(call.params["id"]))


_PATH = "/api/v1/deliveries"

OPERATIONS = (
    Operation(
        method="GET", path=_PATH, handler=list_deliveries, merges=True, tag=Tag.NOTIFICATIONS,
        summary="List deliveries, newest first", query=DeliveriesQuery, answer=DeliveryList,
        permission=Permission.SUBSCRIPTIONS_READ,
    ),
    Operation(
        method="GET", path=_PATH + "/{id}", handler=get_delivery, tag=Tag.NOTIFICATIONS,
        summary="Look at a delivery, with what it sends", answer=DeliveryBody,
        permission=Permission.SUBSCRIPTIONS_READ,
    ),
    Operation(
        method="POST", path=_PATH + "/{id}/resend", handler=resend, tag=Tag.NOTIFICATIONS,
        summary="Send a delivery again, now", answer=DeliveryBody, status=202,
        permission=Permission.SUBSCRIPTIONS_WRITE, audit_act="delivery.resend", reach=Reach.TASKS,
    ),
)  # fmt: skip
