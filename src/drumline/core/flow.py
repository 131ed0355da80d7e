"""Flow limits: how many tasks of a kind may run at once, and how often they may start.

A limit is about a queue, a task name, or both. With a key it holds for each key by itself: for each customer, say. The
store decides: a task under limits is leased only together with a slot in each of them, in one transaction. A slot in
what runs is the lease itself, so whatever ends the lease frees it.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Raw, Struct

from drumline.core.clock import Instant
from drumline.core.duration import millis, parse_duration
from drumline.core.errors import Invalid
from drumline.core.fair_shares import Share, by_share
from drumline.core.field_schema import QUEUE, Schema, about, given, line
from drumline.core.ids import TaskId
from drumline.core.names import LONGEST_NAME, check_name, check_queue, check_text
from drumline.core.priority import score
from drumline.core.rate import Rate, parse_rate
from drumline.core.task import Lane, TaskOptions

MOST_LIMITS: Final = 200
"""Limits of one tenant."""
MOST_CONCURRENT: Final = 10_000
MOST_STARTS: Final = 10_000
LIMIT_KEY: Final = "limit_key"
PAYLOAD: Final = "payload."
NO_KEY: Final = 0
"""The number of the key where a limit has none."""

Slots = tuple[int, int]
"""What is counted together: the number of a limit, and of a key."""


class LimitRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a limit: which tasks it matches, and how many may run or start."""

    SCHEMA: ClassVar[Schema] = {
        "allOf": [
            {"anyOf": [given("queue"), given("task")]},
            {"anyOf": [given("max_concurrent"), given("rate")]},
        ]
    }

    queue: Annotated[str | None, about("The queue that it is about; without one every queue.", **QUEUE)] = None
    task: Annotated[str | None, line(description="The task name that it is about; without one every name.")] = None
    max_concurrent: Annotated[
        int | None, about("How many may run at once, over all workers.", minimum=1, maximum=MOST_CONCURRENT)
    ] = None
    rate: Annotated[
        str | None,
        about(
            "How many may start in any stretch of a time.",
            pattern=r"^[1-9][0-9]{0,3}/([1-9][0-9]{0,3}(s|m)|1h|1d|s|m|h|d)$",
            examples=["50/s", "100/10m"],
        ),
    ] = None
    key: Annotated[
        str | None,
        about(
            "Count for each key by itself: `limit_key`, or where in the payload it is.",
            pattern=r"^(limit_key|payload(\.[A-Za-z0-9_-]{1,40}){1,5})$",
            examples=["limit_key", "payload.customer_id"],
        ),
    ] = None


class FlowLimit(Struct, frozen=True, kw_only=True):
    """A limit as it is stored. `id` is its number in the store; a limit that is set again keeps it."""

    tenant: str
    name: str
    queue: str | None = None
    task: str | None = None
    keyed_by: str | None = None
    """`limit_key`, or `payload.` and a path into it; a task's own `limit_key` counts in any case."""
    max_concurrent: int | None = None
    rate: int | None = None
    period_ms: int | None = None
    id: int = 0
    created_at: Instant = Instant(0)
    split: int = 0
    """How much of it this database has: `limit_shares.Split`."""

    def concerns(self, lane: Lane) -> bool:
        """Tell whether the tasks of a lane are under this limit."""
        return self.tenant == lane.tenant and self.queue in {None, lane.queue} and self.task in {None, lane.name}

    def may_concern(self, queues: Sequence[str], names: Sequence[str], tenant: str | None) -> bool:
        """Tell whether a worker with these queues and names may claim a task under this limit."""
        return (
            (tenant is None or tenant == self.tenant)
            and (self.task is None or self.task in names)
            and (self.queue is None or not queues or self.queue in queues)
        )

    def slots(self, key: int) -> Slots:
        """Return what a task of some key counts to."""
        return self.id, NO_KEY if self.keyed_by is None else key

    @property
    def rate_text(self) -> str | None:
        """The rate as people write it."""
        if self.rate is None or self.period_ms is None:
            return None
        return str(Rate(self.rate, self.period_ms / 1000))


class Use(Struct, frozen=True, gc=False):
    """The use of a limit: how many run, how many started within the period, and when the oldest of those did."""

    running: int = 0
    started: int = 0
    oldest: Instant | None = None


class LimitUse(Struct, frozen=True, kw_only=True):
    """A limit that a task is under, and how much of it is used."""

    limit: FlowLimit
    key: str | None
    use: Use
    share: FlowLimit | None = None
    """The same limit with the numbers that hold in the task's database, if that has a share of it."""

    @property
    def here(self) -> FlowLimit:
        """The limit with the numbers that hold for the task."""
        return self.limit if self.share is None else self.share


class Candidate(Struct, frozen=True, gc=False):
    """A due task under limits, and what it counts to."""

    task: TaskId
    lane: Lane
    due_at: int
    slots: tuple[Slots, ...]


NOTHING_USED: Final = Use()


def accept_limit(name: str, request: LimitRequest, *, tenant: str) -> FlowLimit:
    """Return a limit that can be stored, or raise `Invalid` naming the field at fault."""
    if request.queue is None and request.task is None:
        raise Invalid("must be given, or task, or both: a limit is about one of them", field="queue")
    if request.max_concurrent is None and request.rate is None:
        raise Invalid("must be given, or rate, or both", field="max_concurrent")
    if request.max_concurrent is not None and not 1 <= request.max_concurrent <= MOST_CONCURRENT:
        raise Invalid(f"must be from 1 to {MOST_CONCURRENT:,}", field="max_concurrent")
    rate = None if request.rate is None else _parse_rate(request.rate)
    return FlowLimit(
        tenant=tenant,
        name=check_queue(name, field="name"),
        queue=None if request.queue is None else check_queue(request.queue),
        task=None if request.task is None else check_name(request.task, field="task"),
        keyed_by=None if request.key is None else _check_key_path(request.key),
        max_concurrent=request.max_concurrent,
        rate=None if rate is None else rate.requests,
        period_ms=None if rate is None else millis(parse_duration(rate.seconds, field="rate")),
    )


def rival_of(limit: FlowLimit, others: Iterable[FlowLimit]) -> FlowLimit | None:
    """Return a limit that takes the key of the same tasks from another field, if there is one: a task has one key."""
    if limit.keyed_by is None:
        return None
    for other in others:
        is_apart = _differ(limit.queue, other.queue) or _differ(limit.task, other.task)
        is_rival = other.keyed_by is not None and other.keyed_by != limit.keyed_by
        if other.tenant == limit.tenant and other.name != limit.name and is_rival and not is_apart:
            return other
    return None


def key_of(keyed_by: str, payload: bytes, options: TaskOptions) -> str:
    """Return the key of a task. Those that have none count together, under the empty key."""
    if options.limit_key is not None:
        return options.limit_key
    if keyed_by == LIMIT_KEY:
        return ""
    found = msgspec.json.decode(payload)
    for step in keyed_by.removeprefix(PAYLOAD).split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return _key_text(found)


def room_in(limit: FlowLimit, use: Use) -> int:
    """Return how many more tasks may start now."""
    room = MOST_STARTS
    if limit.max_concurrent is not None:
        room = min(room, limit.max_concurrent - use.running)
    if limit.rate is not None:
        room = min(room, limit.rate - use.started)
    return max(room, 0)


def free_at(limit: FlowLimit, use: Use) -> Instant | None:
    """Return when the rate lets another task start; None if that is not what a task waits for."""
    if limit.rate is None or limit.period_ms is None or use.oldest is None or use.started < limit.rate:
        return None
    return Instant(use.oldest + limit.period_ms)


def choose(
    candidates: Iterable[Candidate], room: Mapping[Slots, int], wanted: int, shares: Sequence[Share]
) -> list[Candidate]:
    """Return the tasks to lease: by shares, best score first, no more than there is room for in any limit."""
    ranked: dict[str, list[Candidate]] = {}
    for candidate in sorted(candidates, key=lambda each: (score(each.due_at, each.lane.priority), each.task)):
        ranked.setdefault(candidate.lane.tenant, []).append(candidate)
    left = dict(room)
    chosen: list[Candidate] = []
    for candidate in by_share(ranked, shares):
        if len(chosen) == wanted:
            break
        if all(left.get(slots, 0) > 0 for slots in candidate.slots):
            chosen.append(candidate)
            for slots in candidate.slots:
                left[slots] -= 1
    return chosen


def _parse_rate(text: str) -> Rate:
    rate = parse_rate(text, field="rate")
    if rate is None:
        raise Invalid('must be a rate such as "50/s"; leave it out where there is none', field="rate")
    if rate.requests > MOST_STARTS:
        raise Invalid(f"must be at most {MOST_STARTS:,} starts; give a shorter period", field="rate")
    return rate


def _differ(first: str | None, second: str | None) -> bool:
    return first is not None and second is not None and first != second


def _check_key_path(text: str) -> str:
    check_text(text, field="key", longest=LONGEST_NAME)
    if text == LIMIT_KEY:
        return text
    steps = text.removeprefix(PAYLOAD).split(".")
    if not text.startswith(PAYLOAD) or not all(steps):
        raise Invalid('must be "limit_key", or a path into the payload such as "payload.customer.id"', field="key")
    return text


def _key_text(found: object) -> str:
    if isinstance(found, str):
        text = found.replace("\0", "")
    elif found is None or isinstance(found, dict | list):
        return ""
    else:
        text = bytes(Raw(msgspec.json.encode(found))).decode()
    return text if len(text) <= LONGEST_NAME else sha256(text.encode()).hexdigest()
