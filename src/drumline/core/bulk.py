"""A bulk operation: one act on many tasks, which are chosen when it is asked for and dealt with piece by piece.

BulkRequest ──check_bulk()──▶ NewBulk ──store──▶ BulkView   (to people)
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar, Final, NewType

from msgspec import Struct

from drumline.core.clock import Instant, to_instant
from drumline.core.dead_letter import Reason
from drumline.core.duration import millis, parse_duration
from drumline.core.errors import Invalid
from drumline.core.field_schema import (
    PRIORITY,
    QUEUE,
    UUID,
    WORKER,
    Configured,
    Schema,
    about,
    duration,
    given,
    line,
    moment,
)
from drumline.core.filter_syntax import LONGEST_FILTER
from drumline.core.ids import TaskId, parse_task_id
from drumline.core.names import LONGEST_TAG, check_text
from drumline.core.priority import parse_priority
from drumline.core.state import Status

BulkId = NewType("BulkId", str)

FASTEST: Final = 10_000.0
SLOWEST: Final = 0.001
LONGEST_REASON: Final = 500

ONE_CHOICE: Final[Schema] = {
    "oneOf": [
        {"required": ["ids"], "properties": {"ids": {"minItems": 1}}},
        given("filter"),
        {"required": ["all"], "properties": {"all": {"const": True}}},
    ]
}
BULK_IDS: Final = about("Tasks, one by one.", items=UUID, maxItems=Configured("batch"))
BULK_ALL: Final = about("Mean everything there is.")
BULK_RATE: Final = about("Tasks per second, at most; as fast as it goes when absent.", minimum=SLOWEST, maximum=FASTEST)
BULK_REASON: Final = line(LONGEST_REASON, "Why, for those who will wonder.")
DRY_RUN: Final = about("Change nothing; tell what would be done.")


class BulkAct(StrEnum):
    """What can be done to many tasks."""

    RETRY = "retry"
    DISCARD = "discard"
    CANCEL = "cancel"
    RESCHEDULE = "reschedule"


class BulkState(StrEnum):
    """The state of a bulk operation."""

    RUNNING = "running"
    COMPLETED = "completed"
    ABORTED = "aborted"


class ItemOutcome(StrEnum):
    """What became of one task of a bulk operation."""

    WAITING = "waiting"
    DONE = "done"
    SKIPPED = "skipped"
    """It was no longer as it was when it was chosen, so nothing was done."""
    FAILED = "failed"
    """There is no such task."""


REFUSED: Final = frozenset({ItemOutcome.SKIPPED, ItemOutcome.FAILED})
"""The outcomes that are kept with a reason."""


class BulkFilter(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which tasks; what is absent does not narrow.

    The first part is for all of them, the second for dead letters, the third for tasks that wait or run or have ended
    in another way. Naming a `status` means the tasks that stand so, and not the dead letters.
    """

    queue: Annotated[str | None, about(**QUEUE)] = None
    name: Annotated[str | None, line()] = None
    tag: Annotated[str | None, line(LONGEST_TAG)] = None
    job: Annotated[str | None, about(**UUID)] = None

    fingerprint: Annotated[str | None, line(description="Failures of one cause share it.")] = None
    kind: Annotated[str | None, line(description="The class of the error.")] = None
    reason: Reason | None = None
    since: Annotated[datetime | None, moment("Failed at this time or later.")] = None
    until: Annotated[datetime | None, moment("Failed before this time.")] = None

    status: Annotated[tuple[Status, ...], about("Means tasks that stand so, and not failures.")] = ()
    idempotency_key: Annotated[str | None, line()] = None
    worker: Annotated[str | None, about(**WORKER)] = None
    expression: Annotated[
        str | None, line(LONGEST_FILTER, "Terms such as `name:charge* error:timeout`. Means tasks, and not failures.")
    ] = None


OF_LETTERS: Final = ("fingerprint", "kind", "reason", "since", "until")
OF_TASKS: Final = ("status", "idempotency_key", "worker", "expression")
"""The fields of a filter that only one kind of choice understands."""


class BulkRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A request for a bulk operation. Exactly one of `ids`, `filter` and `all` selects the tasks.

    `retry` and `discard` choose among dead letters (`retry` among all tasks if the filter names a status or has an
    expression), `cancel` and `reschedule` among tasks that have not ended.
    """

    SCHEMA: ClassVar[Schema] = ONE_CHOICE

    act: BulkAct
    ids: Annotated[tuple[str, ...], BULK_IDS] = ()
    filter: BulkFilter | None = None
    all: Annotated[bool, BULK_ALL] = False
    rate: Annotated[float | None, BULK_RATE] = None
    force: Annotated[bool, about("For cancel: end running tasks now, whatever their worker does.")] = False
    run_at: Annotated[datetime | None, moment("For reschedule: when to run.")] = None
    delay: Annotated[float | str | None, duration("For reschedule: how far from now to run.")] = None
    priority: Annotated[int | str | None, about("For reschedule.", anyOf=PRIORITY)] = None
    reason: Annotated[str | None, BULK_REASON] = None
    dry_run: Annotated[bool, DRY_RUN] = False


class BulkPlan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The stored plan of a bulk operation."""

    filter: BulkFilter | None = None
    """None if the tasks were named one by one."""
    force: bool = False
    run_at: Instant | None = None
    delay_ms: int | None = None
    priority: int | None = None
    reason: str | None = None
    names: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    """What the key was meant for that began it, where that was not everything: no other tasks are in its set."""


class NewBulk(Struct, frozen=True, kw_only=True):
    """A validated bulk operation on its way into the store."""

    id: BulkId
    tenant: str | None
    """The tenant whose tasks it may change; None means all."""
    act: BulkAct
    rate: float | None = None
    plan: BulkPlan


class BulkView(Struct, frozen=True, kw_only=True):
    """A bulk operation in its current state."""

    id: BulkId
    tenant: str | None
    act: BulkAct
    state: BulkState
    rate: float | None
    plan: BulkPlan
    total: int
    done: int
    skipped: int
    failed: int
    created_at: Instant
    finished_at: Instant | None = None

    @property
    def left(self) -> int:
        """How many tasks have not been dealt with."""
        return self.total - self.done - self.skipped - self.failed


class BulkItem(Struct, frozen=True, kw_only=True):
    """One task of a bulk operation; `seq` is its place, from 1."""

    seq: int
    task: TaskId
    outcome: ItemOutcome
    error: str | None = None


def check_bulk(request: BulkRequest, *, id: BulkId, tenant: str | None) -> NewBulk:
    """Return a request as a bulk operation that can be stored, or raise `Invalid` naming the field at fault."""
    _check_choice(request)
    if request.rate is not None and not SLOWEST <= request.rate <= FASTEST:
        raise Invalid(f"must be from {SLOWEST:g} to {FASTEST:,.0f} tasks per second", field="rate")
    if request.force and request.act is not BulkAct.CANCEL:
        raise Invalid("is for cancel only", field="force")
    if request.reason is not None:
        check_text(request.reason, field="reason", longest=LONGEST_REASON)
    plan = _change_of(request)
    return NewBulk(id=id, tenant=tenant, act=request.act, rate=request.rate, plan=plan)


def ids_of(request: BulkRequest) -> list[TaskId]:
    """Return the tasks that a request names one by one, each once."""
    ids = [parse_task_id(text, field=f"ids[{number}]") for number, text in enumerate(request.ids)]
    return list(dict.fromkeys(ids))


def chooses_letters(request: BulkRequest) -> bool:
    """Tell whether a request that names no tasks is about dead letters."""
    by_status = request.filter is not None and bool(request.filter.status or request.filter.expression)
    return request.act is BulkAct.DISCARD or (request.act is BulkAct.RETRY and not by_status)


def allowance(rate: float | None, tokens: float, elapsed_ms: int) -> tuple[float, float]:
    """Return how many tasks may be dealt with now, and how many tokens there are: a bucket of one second's worth."""
    if rate is None:
        return float("inf"), tokens
    filled = min(max(1.0, rate), tokens + rate * max(elapsed_ms, 0) / 1000)
    return float(int(filled)), filled


def _check_choice(request: BulkRequest) -> None:
    ways = [bool(request.ids), request.filter is not None, request.all]
    if sum(ways) != 1:
        # An empty filter has to be said in another way: what a slip left out must not mean everything.
        raise Invalid("must have exactly one of ids, filter and all", field="filter")
    if request.filter is None:
        return
    if request.filter == BulkFilter():
        raise Invalid("must name something; to mean everything, give all instead", field="filter")
    of_letters = chooses_letters(request)
    for name in OF_TASKS if of_letters else OF_LETTERS:
        if getattr(request.filter, name):
            what = "dead letters" if of_letters else "tasks by their status"
            raise Invalid(f"does not narrow {what}, which {request.act} is about here", field=f"filter.{name}")


def _change_of(request: BulkRequest) -> BulkPlan:
    changes = {"run_at": request.run_at, "delay": request.delay, "priority": request.priority}
    given = [name for name, value in changes.items() if value is not None]
    if request.act is not BulkAct.RESCHEDULE:
        if given:
            raise Invalid("is for reschedule only", field=given[0])
    elif not given:
        raise Invalid("must have run_at, delay or priority", field="body")
    if request.run_at is not None and request.delay is not None:
        raise Invalid("cannot be given together with run_at", field="delay")
    return BulkPlan(
        filter=request.filter or (BulkFilter() if request.all else None),
        force=request.force,
        run_at=None if request.run_at is None else to_instant(request.run_at, field="run_at"),
        delay_ms=None if request.delay is None else millis(parse_duration(request.delay, field="delay")),
        priority=None if request.priority is None else parse_priority(request.priority),
        reason=request.reason,
    )
