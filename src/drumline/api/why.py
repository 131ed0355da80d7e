"""Why a task is not running."""

from msgspec import Struct

from drumline.api.operation import ApiCall, NoQuery, Operation, Reply, Tag
from drumline.api.shapes import moment
from drumline.core.access import Permission
from drumline.core.codec import encode
from drumline.core.ids import parse_task_id
from drumline.core.views import Moment, TaskIdText
from drumline.core.wait_reasons import Cause


class ReasonBody(Struct, frozen=True, kw_only=True):
    """One reason. `cause` is stable; `until` is when it will be over by itself, where that is known."""

    cause: Cause
    text: str
    until: Moment | None
    count: int | None
    names: tuple[str, ...]


class WhyBody(Struct, frozen=True):
    """Why a task is not running, the weightiest reason first."""

    id: TaskIdText
    reasons: tuple[ReasonBody, ...]


async def why(call: ApiCall[None, NoQuery]) -> Reply:
    """Return why a task is not running: due later, dependency, paused queue, limit, no worker, its turn."""
    task = parse_task_id(call.params["id"], field="id")
    reasons = await call.engine.wait_reasons.why(task, tenant=call.tenant)
    bodies = tuple(
        ReasonBody(
            cause=reason.cause, text=reason.text, until=moment(reason.until), count=reason.count, names=reason.names
        )
        for reason in reasons
    )
    return Reply(encode(WhyBody(task, bodies)))


OPERATIONS = (
    Operation(
        method="GET", path="/api/v1/tasks/{id}/why", handler=why, tag=Tag.TASKS,
        summary="Tell why a task is not running", answer=WhyBody, permission=Permission.TASKS_READ,
    ),
)  # fmt: skip
