"""Durable tasks in the remote worker protocol: keep records, wait, begin a new round, and ask for records."""

from typing import Any

from drumline.aio.threads import off_loop
from drumline.api.lists import ListReader
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.api.problems import to_problem
from drumline.api.session_ownership import is_own, own_spec, own_tasks
from drumline.core.access import Permission
from drumline.core.codec import check_json, encode
from drumline.core.durable import Answered, NewRecord, Record
from drumline.core.durable_protocol import (
    NewRecordBody,
    RawRecordRequest,
    RecordAnswers,
    RecordedBody,
    RecordPageRequest,
    RecordRequest,
    RestartBody,
    RestartedBody,
    WaitedBody,
    WaitRequestBody,
    answered_body,
    new_record_of,
    restart_of,
    wait_request_of,
)
from drumline.core.errors import DrumlineError, Fenced, Invalid
from drumline.core.ids import SessionId, parse_session_id
from drumline.core.limits import Limits
from drumline.core.protocol import lease_of
from drumline.core.record_body import RecordPageBody, page_body, record_body

MOST_RECORDS = 1_000
RECORD_BYTES = 500
"""What reading a record costs besides its value, as bytes of JSON."""
_SESSIONS = "/api/v1/worker/sessions"
_NOT_CURRENT = "the lease is not the task's current one"
_RECORDS: ListReader[NewRecordBody] = ListReader(NewRecordBody, field="records")


async def record(call: ApiCall[RawRecordRequest, NoQuery]) -> Reply:
    """Keep records of durable tasks; each gets its own answer, in order."""
    bodies = await _RECORDS.read(call.body.records, most=MOST_RECORDS)
    limits = call.context.limits

    def check() -> list[NewRecord | DrumlineError]:
        return [_record_of(body, f"records[{number}]", limits) for number, body in enumerate(bodies)]

    checked = await off_loop(sum(RECORD_BYTES + len(body.value) for body in bodies), check)
    if not await is_own(call, _session(call)):
        own = await own_tasks(call, [new.lease.task for new in checked if isinstance(new, NewRecord)])
        checked = [
            Fenced(_NOT_CURRENT) if isinstance(new, NewRecord) and new.lease.task not in own else new for new in checked
        ]
    written = iter(await call.context.gateway.join_records([new for new in checked if isinstance(new, NewRecord)]))
    answers = [next(written) if isinstance(new, NewRecord) else new for new in checked]
    return Reply(encode(RecordAnswers([_recorded(answer) for answer in answers])))


async def wait(call: ApiCall[WaitRequestBody, NoQuery]) -> Reply:
    """Answer what an attempt waits for, or end the attempt until there may be an answer."""
    request = wait_request_of(call.body)
    await own_spec(call, _session(call))
    answer = await call.context.gateway.wait(request)
    if isinstance(answer, DrumlineError):
        raise answer
    if isinstance(answer, Answered):
        return Reply(encode(answered_body(answer)))
    return Reply(encode(WaitedBody(state="queued" if answer is None else answer.name.lower())))


async def restart(call: ApiCall[RestartBody, NoQuery]) -> Reply:
    """End the round of a task that the session holds: it runs from the start, with another payload."""
    request = restart_of(call.body)
    await own_spec(call, _session(call))
    answer = await call.context.gateway.restart(request)
    if isinstance(answer, DrumlineError):
        raise answer
    return Reply(encode(RestartedBody(state="queued" if answer is None else answer.name.lower())))


async def list_records(call: ApiCall[RecordPageRequest, NoQuery]) -> Reply:
    """Return records of a task; only to the session that holds its lease."""
    lease = lease_of(call.body.lease, field="lease")
    await own_spec(call, _session(call))
    page = await call.context.gateway.records(lease, after=call.body.after)
    return Reply(encode(page_body(page)))


def _session(call: ApiCall[Any, Any]) -> SessionId:
    return parse_session_id(call.params["session"], field="session")


def _record_of(body: NewRecordBody, field: str, limits: Limits) -> NewRecord | DrumlineError:
    try:
        check_json(bytes(body.value), field=f"{field}.value", largest=limits.result, deepest=limits.nesting)
        return new_record_of(body, field=field)
    except Invalid as error:
        return error


def _recorded(answer: Record | DrumlineError) -> RecordedBody:
    if isinstance(answer, DrumlineError):
        return RecordedBody(error=to_problem(answer))
    return RecordedBody(record=record_body(answer))


OPERATIONS = (
    Operation(
        method="POST", path=_SESSIONS + "/{session}/records", handler=record, tag=Tag.PROTOCOL,
        summary="Keep records of durable tasks", largest=lambda limits: limits.body,
        body=RawRecordRequest, described=RecordRequest, answer=RecordAnswers,
        permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
    Operation(
        method="POST", path=_SESSIONS + "/{session}/waits", handler=wait, tag=Tag.PROTOCOL,
        summary="End an attempt that has nothing to do but wait", largest=lambda limits: limits.request_lists,
        body=WaitRequestBody, answer=WaitedBody,
        permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
    Operation(
        method="POST", path=_SESSIONS + "/{session}/restarts", handler=restart, tag=Tag.PROTOCOL,
        summary="Begin a new round of a held task", largest=lambda limits: limits.body,
        body=RestartBody, answer=RestartedBody,
        permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
    Operation(
        method="POST", path=_SESSIONS + "/{session}/records/list", handler=list_records, tag=Tag.PROTOCOL,
        summary="Get the records of a held task", body=RecordPageRequest, answer=RecordPageBody,
        permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
)  # fmt: skip
