"""How many tasks stand where."""

from msgspec import Struct

from drumline.api.operation import ApiCall, Operation, Reply, Tag
from drumline.api.task_filters import TaskQuery, filter_of
from drumline.core.access import Permission
from drumline.core.codec import encode
from drumline.core.state import Status


class CountBody(Struct, frozen=True, kw_only=True):
    """How many tasks have a status; at least so many where `is_more`."""

    status: Status
    count: int
    is_more: bool


class CountList(Struct, frozen=True):
    """The counts of all statuses."""

    items: tuple[CountBody, ...]


async def count_tasks(call: ApiCall[None, TaskQuery]) -> Reply:
    """Return how many tasks have each status; a count that would take long says how many there are at least."""
    counts = await call.engine.counts.count(filter_of(call, call.query))
    bodies = tuple(
        CountBody(status=status, count=counts[status].count, is_more=counts[status].is_more) for status in Status
    )
    return Reply(encode(CountList(bodies)))


OPERATIONS = (
    Operation(
        method="GET", path="/api/v1/tasks/counts", handler=count_tasks, tag=Tag.TASKS,
        summary="Count tasks by status", query=TaskQuery, answer=CountList, permission=Permission.TASKS_READ,
    ),
)  # fmt: skip
