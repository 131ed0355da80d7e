"""Children: tasks that a durable task starts and waits for.

A child is found by the name and key of the call that started it, and its place among those that were started together.
Its outcome counts until its parent has taken it. The end of the parent cancels what of its children has not ended,
unless they are left alone.
"""

from enum import IntEnum
from typing import Final, Literal

from msgspec import Raw, Struct
from msgspec.structs import replace

from drumline.core.durable import MOST_PENDING, NOTHING
from drumline.core.errors import Invalid
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.names import MOST_TAGS
from drumline.core.outcome import ErrorInfo
from drumline.core.state import State
from drumline.core.task import Lane, NewTask, TaskOptions, TaskRequest, decode_options, encode_options
from drumline.core.task_type import TypeRules

MOST_STARTED: Final = 1000
"""Children that one request starts."""
MOST_IN_GROUP: Final = MOST_PENDING
"""Children under one name and key."""


class OnEnd(IntEnum):
    """What the end of a parent means for a child. The numbers are stored: never reuse one."""

    CANCEL = 0
    ABANDON = 1

    @property
    def word(self) -> Literal["cancel", "abandon"]:
        """It as people write it."""
        return "cancel" if self is OnEnd.CANCEL else "abandon"


class NoteKind(IntEnum):
    """What has to be done about the children of a task. The numbers are stored: never reuse one."""

    ENDED = 1
    """Cancel them: it has ended."""
    REVIVED = 2
    """Retry those whose bad outcome it has forgotten: it was retried."""
    DECIDED = 3
    """Cancel those of one call: it has its answer."""
    RESTARTED = 4
    """Cancel those of a round: it is over. Its number is in the place of the key."""


class ChildRequests(Struct, frozen=True, kw_only=True):
    """Children that an attempt wants to start, as its worker reports them."""

    lease: Lease
    name: str
    key: str = ""
    first: int = 0
    """The place of the first of them among those of the same name and key."""
    on_end: OnEnd = OnEnd.CANCEL
    tasks: tuple[TaskRequest, ...]
    tenant: str | None = None
    """The tenant that they are meant for, if that was said."""


class NewChildren(Struct, frozen=True, kw_only=True):
    """Children on their way into the store."""

    lease: Lease
    name: str
    key: str
    first: int
    on_end: OnEnd
    tasks: tuple[NewTask, ...]


class StartedIds(Struct, frozen=True):
    """The ids of children that are there, in their order, and how many the call has by now."""

    ids: tuple[TaskId, ...]
    count: int


class ParentTask(Struct, frozen=True):
    """What children inherit of their parent."""

    lane: Lane
    options: TaskOptions


def inherit(request: TaskRequest, rules: TypeRules, parent: ParentTask) -> TaskRequest | Invalid:
    """Return a request as that of a child: queue and priority are its parent's unless said or declared."""
    for name in ("idempotency_key", "idempotency_key_alias", "collapse"):
        if getattr(request, name) is not None:
            return Invalid("is not for children: the name and the key of its call tell a child apart", field=name)
    lane, defaults = parent.lane, rules.defaults
    tags = request.tags if request.tags is not None else defaults.tags or ()
    return replace(
        request,
        queue=request.queue or defaults.queue or lane.queue,
        priority=next((each for each in (request.priority, defaults.priority) if each is not None), lane.priority),
        tags=tuple(dict.fromkeys((*tags, *parent.options.tags)))[: max(MOST_TAGS, len(tags))],
    )


def as_child(task: NewTask, parent: TaskId, heritage: ParentTask) -> NewTask:
    """Return an accepted task that says whose child it is, in the trace of its parent unless it has one."""
    options = decode_options(task.options)
    options = replace(options, parent=parent, trace=options.trace or heritage.options.trace)
    return replace(task, options=encode_options(options))


class ChildOutcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a child ended, as its parent takes it."""

    place: int
    child: TaskId
    state: State | None = None
    """None while it has not ended."""
    result: Raw = NOTHING
    error: ErrorInfo | None = None


class OutcomePage(Struct, frozen=True, omit_defaults=True):
    """Outcomes of children in the order of their places, and whether there are others after them."""

    outcomes: tuple[ChildOutcome, ...] = ()
    has_more: bool = False


class GroupCount(Struct, frozen=True):
    """What is recorded of children that were waited for together: how many there are, and how many ended badly."""

    count: int
    bad: int = 0


class FirstOutcome(Struct, frozen=True):
    """What is recorded of the first of several children that completed; its result is among the outcomes."""

    place: int
    child: TaskId


class ChildLink(Struct, frozen=True, kw_only=True):
    """A child in the list of its parent's."""

    child: TaskId
    name: str
    key: str
    place: int
    on_end: OnEnd
    state: State | None
