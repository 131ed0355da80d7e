"""The stream of events, as server-sent events: everything that changes, as it changes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Annotated, Final

from msgspec import Meta, Struct

from drumline.api.operation import EVENT_STREAM, ApiCall, NoQuery, Operation, Reach, Reply, Stream, Tag
from drumline.api.stopping import hung_up
from drumline.core.access import Permission
from drumline.core.clock import moment_of
from drumline.core.codec import encode
from drumline.core.errors import Invalid, NotFound
from drumline.core.event_interest import MOST_WORDS, EventInterest, check_types
from drumline.core.field_schema import Schema, about, line_schema
from drumline.core.names import LONGEST_NAME, LONGEST_QUEUE, LONGEST_TAG, check_name
from drumline.core.state import Status
from drumline.core.views import Moment
from drumline.engine.feed import EventsDropped, Feed, Follower

BEAT_SECONDS: Final = 15.0
"""Silence after which a comment is sent, so that proxies do not close the stream."""
SEND_SECONDS: Final = 30.0
"""How long a client may take to accept what is sent."""

HELLO: Final = b"retry: 2000\n: what changes is told from here on\n\n"
BEAT: Final = b": still here\n"
RESYNC: Final = (
    b'event: resync\ndata: {"reason": "events were missed that are not kept any more: look at everything anew"}\n'
)
CUT: Final = b'event: cut\ndata: {"reason": "too slow: come back with Last-Event-ID to go on"}\n\n'
OVER: Final = b'event: over\ndata: {"reason": "the server ends this stream: come back with Last-Event-ID to go on"}\n\n'

_TYPE: Final[Schema] = {
    "type": "string",
    "pattern": r"^(drumline\.)?[a-z_]{1,40}(\.([a-z_]{1,40}|\*))?$",
    "examples": ["task.failed", "job", "drumline.worker.reaped"],
}


def _several(item: Schema, description: str) -> Meta:
    return about(description, items=item, maxItems=MOST_WORDS)


class EventQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """What to hear of. Several values of one parameter are alternatives; different ones narrow together."""

    type: Annotated[
        tuple[str, ...], _several(_TYPE, "Kinds of events such as `task.failed`, or `task` for all about tasks.")
    ] = ()
    name: Annotated[tuple[str, ...], _several(line_schema(LONGEST_NAME), "Names of tasks, jobs or schedules.")] = ()
    queue: Annotated[tuple[str, ...], _several(line_schema(LONGEST_QUEUE), "Queues.")] = ()
    job: Annotated[
        tuple[str, ...], _several(line_schema(LONGEST_NAME), "Ids of jobs: for themselves and for their tasks.")
    ] = ()
    tag: Annotated[tuple[str, ...], _several(line_schema(LONGEST_TAG), "Tags.")] = ()
    status: Annotated[
        tuple[Status, ...], about("Where a task or job stood after the change.", maxItems=MOST_WORDS)
    ] = ()
    subject: Annotated[tuple[str, ...], _several(line_schema(LONGEST_NAME), "Ids of tasks, jobs, workers …")] = ()
    last_event_id: Annotated[
        str | None,
        about(
            "The same as the header `Last-Event-ID`, for those who cannot set one.",
            pattern=r"^[0-9a-f]{8}-[0-9]{1,18}-[0-9]{1,9}(\.[0-9a-f]{8}-[0-9]{1,18}-[0-9]{1,9}){0,255}$",
        ),
    ] = None


class StreamMessage(Struct, frozen=True, kw_only=True):
    """One message of the stream."""

    id: str | None = None
    """How far the stream has come: what to come back with."""
    event: str | None = None
    """The type of an event; or `resync`, `cut`, `over`, which tell of the stream itself."""
    data: str | None = None
    """The event as CloudEvents JSON, or the reason."""


class ConsumerBody(Struct, frozen=True, kw_only=True):
    """One who passes events on, and how far it has come."""

    name: str
    position: int
    behind: int
    """Rows still to pass on; a row holds one event or some thousands."""
    oldest_at: Moment | None
    """When the first of them was written."""
    moved_at: Moment


class ConsumerList(Struct, frozen=True):
    """Those who pass events on."""

    items: tuple[ConsumerBody, ...]
    next_cursor: str | None = None


async def follow_events(call: ApiCall[None, EventQuery]) -> Stream:
    """Follow everything that changes, as server-sent events.

    Each message has the event's id, its type, and the event itself as CloudEvents JSON. A client that comes back with
    the last id it saw gets what it has missed; if that is not kept any more, it gets `resync` first. A comment is sent
    each 15 seconds of silence. A client that is too slow is cut off, and may come back.
    """
    interest = _interest(call)
    header = call.header(b"last-event-id")
    last_id = header.decode("latin-1") if header else call.query.last_event_id
    if last_id is None:
        return Stream(_followed(call, interest, None, is_resumed=False), EVENT_STREAM, patience=SEND_SECONDS)
    place = await call.engine.feed.place_of(last_id)
    return Stream(_followed(call, interest, place, is_resumed=True), EVENT_STREAM, patience=SEND_SECONDS)


async def list_consumers(call: ApiCall[None, NoQuery]) -> Reply:
    """Return who passes events on, such as the relay to Kafka, and how far each has come."""
    views = await call.engine.store.events.cursors()
    items = tuple(
        ConsumerBody(
            name=view.consumer,
            position=view.position,
            behind=view.behind,
            oldest_at=None if view.oldest_at is None else moment_of(view.oldest_at),
            moved_at=moment_of(view.moved_at),
        )
        for view in views
    )
    return Reply(encode(ConsumerList(items)))


async def forget_consumer(call: ApiCall[None, NoQuery]) -> Reply:
    """Keep no more events for a consumer that will not come back, so that they can be pruned."""
    name = check_name(call.params["name"])
    if not await call.engine.store.events.forget_consumer(name):
        raise NotFound(f"there is no consumer {name}", field="name")
    call.note(before={"consumer": name})
    return Reply(b"", 204)


async def _followed(
    call: ApiCall[None, EventQuery], interest: EventInterest, place: object, *, is_resumed: bool
) -> AsyncIterator[bytes]:
    feed = call.engine.feed
    async with feed.following(interest) as follower:
        begin = feed.mark()
        watching = [
            asyncio.create_task(_end_with(hung_up(call.receive), follower), name="stream: client"),
            asyncio.create_task(_end_with(call.context.stop.wait(), follower), name="stream: stop"),
        ]
        try:
            yield HELLO
            try:
                if place is not None:
                    async for text in feed.missed(place, follower):
                        yield text
            except EventsDropped:
                place = None
            if place is None:
                # The client can resume from here, even if no event is sent before the connection breaks.
                yield b"id: %b\n%b\n" % (begin, RESYNC if is_resumed else b"")
            async for text in _live(feed, follower, call.context.info.longest_stream):
                yield text
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)


async def _live(feed: Feed, follower: Follower, longest: float) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + longest
    while not follower.is_over:
        if follower.is_cut:
            yield CUT
            return
        left = deadline - loop.time()
        if left <= 0:
            break
        text = await follower.take(min(BEAT_SECONDS, left))
        if text:
            yield text
        elif left > BEAT_SECONDS and follower.is_idle:
            yield b"%bid: %b\n\n" % (BEAT, feed.mark())
    yield OVER


async def _end_with(happening: Awaitable[object], follower: Follower) -> None:
    await happening
    follower.end()


def _interest(call: ApiCall[None, EventQuery]) -> EventInterest:
    query = call.query
    for name in ("type", "name", "queue", "job", "tag", "status", "subject"):
        if len(getattr(query, name)) > MOST_WORDS:
            raise Invalid(f"may have at most {MOST_WORDS} values", field=name)
    return EventInterest(
        tenant=call.tenant,
        types=check_types(query.type, field="type"),
        # Who has a key is for those who may see the keys.
        hidden=() if Permission.KEYS_MANAGE in call.by.permissions else ("key",),
        names=query.name,
        queues=query.queue,
        jobs=query.job,
        tags=query.tag,
        statuses=query.status,
        subjects=query.subject,
    )


OPERATIONS = (
    Operation(
        method="GET", path="/api/v1/events", handler=follow_events, tag=Tag.EVENTS,
        summary="Follow everything that changes, as server-sent events", query=EventQuery, media=EVENT_STREAM,
        answer=StreamMessage, permission=Permission.EVENTS_READ,
    ),
    Operation(
        method="GET", path="/api/v1/events/consumers", handler=list_consumers, merges=True, tag=Tag.EVENTS,
        summary="List who passes events on, and how far each has come", answer=ConsumerList,
        permission=Permission.SYSTEM_READ,
    ),
    Operation(
        method="DELETE", path="/api/v1/events/consumers/{name}", handler=forget_consumer, tag=Tag.EVENTS,
        summary="Keep no more events for a consumer", status=204,
        permission=Permission.TENANTS_MANAGE, audit_act="consumer.forget", reach=Reach.WHOLE,
    ),
)  # fmt: skip
