"""The children of a task."""

from typing import Annotated

from msgspec import Meta, Struct

from drumline.api.operation import ApiCall, Operation, Reply, Tag
from drumline.api.tasks import task_of
from drumline.core.access import Permission
from drumline.core.child_views import PublicChild
from drumline.core.clock import moment_of
from drumline.core.codec import encode
from drumline.core.field_schema import PAGE_SIZE, page_cursor
from drumline.core.ids import parse_task_id
from drumline.core.views import Moment


class ChildrenQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which children to list."""

    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[
        str | None, page_cursor(pattern="^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
    ] = None
    round: Annotated[int, Meta(ge=1, le=(1 << 31) - 1)] | None = None
    """The round of the task that has started them; the present one unless it is said."""


class ChildBody(PublicChild[Moment], frozen=True, kw_only=True):
    """A task that another one has started: which it is, and the call that started it."""


class ChildList(Struct, frozen=True, kw_only=True):
    """Children of a task in the order of the names and keys of their calls."""

    items: tuple[ChildBody, ...]
    next_cursor: str | None


async def list_children(call: ApiCall[None, ChildrenQuery]) -> Reply:
    """Return the tasks that a task has started, in the order of the names and keys of their calls."""
    query = call.query
    after = None if query.cursor is None else parse_task_id(query.cursor, field="cursor")
    page = await call.engine.children.children(
        task_of(call), ChildBody, moment_of, after=after, limit=query.limit, round=query.round, tenant=call.tenant
    )
    return Reply(encode(ChildList(items=page.children, next_cursor=page.next_cursor)))


OPERATIONS = (
    Operation(
        method="GET", path="/api/v1/tasks/{id}/children", handler=list_children, tag=Tag.TASKS,
        summary="List the tasks that a task has started", query=ChildrenQuery, answer=ChildList,
        permission=Permission.TASKS_READ,
    ),
)  # fmt: skip
