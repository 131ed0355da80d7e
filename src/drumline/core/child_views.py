"""Children of a task as the public API shows them: the API encodes these structs, the SDK decodes them."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from drumline.core.children import ChildLink
from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.state import Status
from drumline.core.task import TaskView
from drumline.core.views import UUID_FORMAT, Time, View


class PublicChild(View, Generic[Time], frozen=True, kw_only=True):
    """A task that another one has started: which it is, and the call that started it."""

    id: Annotated[TaskId, UUID_FORMAT]
    name: str
    """The name of the task."""
    queue: str
    status: Status
    call: str
    """The name of the call."""
    key: str | None = None
    """The key of the call, if it has one."""
    place: int = 0
    """Its place among the children of the call."""
    on_end: Literal["cancel", "abandon"] = "cancel"
    """What the end of the parent means for it."""
    created_at: Time | None = None
    started_at: Time | None = None
    finished_at: Time | None = None


class ChildInfo(PublicChild[datetime], frozen=True, kw_only=True):
    """A task that another one has started: which it is, and the call that started it."""


ChildShape = TypeVar("ChildShape", bound=PublicChild[Any])


def show_child(
    shape: type[ChildShape], link: ChildLink, view: TaskView, *, now: Instant, time: Callable[[Instant], Any]
) -> ChildShape:
    """Return a child in one of the two shapes; `time` makes its times."""
    return shape(
        id=link.child,
        name=view.lane.name,
        queue=view.lane.queue,
        status=view.status(now),
        call=link.name,
        key=link.key or None,
        place=link.place,
        on_end=link.on_end.word,
        created_at=time(view.created_at),
        started_at=None if view.started_at is None else time(view.started_at),
        finished_at=None if view.finished_at is None else time(view.finished_at),
    )
