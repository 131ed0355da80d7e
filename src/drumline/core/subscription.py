"""A subscription: which events are sent to which webhook or mail address."""

import re
from typing import Any, Final, NewType

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.errors import Invalid
from drumline.core.event import TASK_CANCELLED, TASK_COMPLETED, TASK_FAILED, Event, TaskChange
from drumline.core.names import LONGEST_NAME, LONGEST_TAG, check_name, check_queue, check_text
from drumline.core.signing import Secrets
from drumline.core.state import State
from drumline.core.target import Target
from drumline.core.task import DEFAULT_TENANT

SubscriptionId = NewType("SubscriptionId", str)

PREFIX: Final = "drumline."
TASK_SKIPPED: Final = "drumline.task.skipped"
STATE_OF: Final = {
    TASK_COMPLETED: State.COMPLETED,
    TASK_FAILED: State.FAILED,
    TASK_CANCELLED: State.CANCELLED,
    TASK_SKIPPED: State.SKIPPED,
}
"""The ends of a task. Subscriptions get no earlier changes; the event stream has them."""
TEST_EVENT: Final = "drumline.subscription.tested"
"""The type of the event that tests a subscription."""
DEFAULT_EVENTS: Final = (TASK_FAILED, "drumline.job.failed")
MOST_EVENTS: Final = 50

_TYPE: Final = re.compile(r"drumline\.([a-z_]{1,40})\.([a-z_]{1,40}|\*)")


class EventFilter(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A filter of events; a field that is None matches all."""

    events: tuple[str, ...] = DEFAULT_EVENTS
    """Types such as `drumline.task.failed`; `drumline.job.*` for all of a noun."""
    task: str | None = None
    """The name of a task."""
    queue: str | None = None
    job: str | None = None
    """The id of a job, for its tasks and for itself; or its name, for itself."""
    tag: str | None = None


class Subscription(Struct, frozen=True, kw_only=True):
    """A subscription, without its secrets."""

    id: SubscriptionId
    tenant: str
    name: str
    filter: EventFilter
    target: Target
    created_at: Instant
    is_enabled: bool = True
    disabled_reason: str | None = None


class NewSubscription(Struct, frozen=True, kw_only=True):
    """A validated subscription on its way into the store."""

    id: SubscriptionId
    tenant: str
    name: str
    filter: EventFilter
    target: Target
    secrets: Secrets = ()


class SubscriptionChange(Struct, frozen=True, kw_only=True):
    """Changes to a subscription; a field that is None stays as it is."""

    name: str | None = None
    filter: EventFilter | None = None
    address: str | None = None
    is_enabled: bool | None = None
    reason: str | None = None


def check_filter(wanted: EventFilter) -> EventFilter:
    """Return the filter with the full names of its events, or raise `Invalid` naming the field at fault."""
    if not wanted.events:
        raise Invalid("must have at least one type of event", field="events")
    if len(wanted.events) > MOST_EVENTS:
        raise Invalid(f"must be at most {MOST_EVENTS}", field="events")
    types = [_full_type(text, field=f"events[{number}]") for number, text in enumerate(wanted.events)]
    return EventFilter(
        events=tuple(dict.fromkeys(types)),
        task=None if wanted.task is None else check_name(wanted.task, field="task"),
        queue=None if wanted.queue is None else check_queue(wanted.queue),
        job=None if wanted.job is None else check_text(wanted.job, field="job", longest=LONGEST_NAME),
        tag=None if wanted.tag is None else check_text(wanted.tag, field="tag", longest=LONGEST_TAG),
    )


def _full_type(text: str, *, field: str) -> str:
    full = text if text.startswith(PREFIX) else PREFIX + text
    match = _TYPE.fullmatch(full)
    if match is None:
        raise Invalid("must be a type of event such as task.failed, or job.* for all of a noun", field=field)
    if match[1] == "task" and match[2] != "*" and full not in STATE_OF:
        ends = ", ".join(type_.removeprefix(PREFIX) for type_ in STATE_OF)
        raise Invalid(f"must be the end of a task: {ends}; follow the events for every change", field=field)
    return full


def states_wanted(wanted: EventFilter) -> frozenset[State]:
    """Return the ends of tasks that a filter asks for."""
    return frozenset(state for type_, state in STATE_OF.items() if any(_fits(want, type_) for want in wanted.events))


def is_told(subscription: Subscription, event: Event) -> bool:
    """Tell whether an event matches a subscription: of its tenant, and not older than it.

    Events without a tenant go to the home tenant, which is the operator's.
    """
    wanted = subscription.filter
    return (
        (event.tenant or DEFAULT_TENANT) == subscription.tenant
        and event.at >= subscription.created_at
        and any(_fits(type_, event.type) for type_ in wanted.events)
        and all(want is None or want in has for want, has in _narrowing(wanted, event))
    )


def _fits(wanted: str, type_: str) -> bool:
    if not wanted.endswith(".*"):
        return wanted == type_
    return type_ in STATE_OF if wanted == "drumline.task.*" else type_.startswith(wanted[:-1])


def _narrowing(wanted: EventFilter, event: Event) -> tuple[tuple[str | None, Any], ...]:
    """Return what a filter asks for beside the values that would do."""
    data = event.data
    if isinstance(data, TaskChange):
        return (
            (wanted.task, (data.name,)),
            (wanted.queue, (data.queue,)),
            (wanted.job, (data.job,)),
            (wanted.tag, data.tags),
        )
    is_job = event.type.startswith("drumline.job.")
    return (
        (wanted.task, (data.get("task"), data.get("task_name"))),
        (wanted.queue, (data.get("queue"), event.subject if event.type.startswith("drumline.queue.") else None)),
        (wanted.job, (event.subject, data.get("name")) if is_job else (data.get("job"),)),
        (wanted.tag, tuple(data.get("tags") or ())),
    )
