"""Children of durable tasks in the remote worker protocol: start them, and ask how they ended."""

from drumline.api.lists import ListReader
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.api.session_ownership import own_spec
from drumline.api.tasks import allow_of
from drumline.core.access import Permission
from drumline.core.child_protocol import (
    OutcomePageBody,
    OutcomesRequest,
    RawStartRequest,
    StartedBody,
    StartRequest,
    children_of,
    outcomes_body,
)
from drumline.core.children import MOST_STARTED
from drumline.core.codec import encode
from drumline.core.ids import parse_session_id
from drumline.core.protocol import lease_of
from drumline.core.task import TaskRequest

_SESSIONS = "/api/v1/worker/sessions"
_TASKS: ListReader[TaskRequest] = ListReader(TaskRequest, field="tasks")


async def start(call: ApiCall[RawStartRequest, NoQuery]) -> Reply:
    """Store children of a task that the session holds; those that are there already stay."""
    wanted = children_of(call.body, await _TASKS.read(call.body.tasks, most=MOST_STARTED))
    await own_spec(call, parse_session_id(call.params["session"], field="session"))
    started = await call.context.gateway.start_children(wanted, allow=allow_of(call.by))
    return Reply(encode(StartedBody(ids=list(started.ids), count=started.count)))


async def list_outcomes(call: ApiCall[OutcomesRequest, NoQuery]) -> Reply:
    """Return how children of a call ended; only to the session that holds the lease of their parent."""
    body = call.body
    lease = lease_of(body.lease, field="lease")
    await own_spec(call, parse_session_id(call.params["session"], field="session"))
    page = await call.context.gateway.outcomes(lease, body.name, body.key, first=body.first)
    return Reply(encode(outcomes_body(page)))


OPERATIONS = (
    Operation(
        method="POST", path=_SESSIONS + "/{session}/children", handler=start, tag=Tag.PROTOCOL,
        summary="Start children of a held task", largest=lambda limits: limits.body,
        body=RawStartRequest, described=StartRequest, answer=StartedBody,
        permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
    Operation(
        method="POST", path=_SESSIONS + "/{session}/children/outcomes", handler=list_outcomes, tag=Tag.PROTOCOL,
        summary="Get the outcomes of children of a held task", body=OutcomesRequest, answer=OutcomePageBody,
        permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
)  # fmt: skip
