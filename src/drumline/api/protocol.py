"""The remote worker protocol: open a session, claim by long poll, beat, settle, log, leave.

What a worker anywhere needs, in any language, with nothing but an address and a key. The public description is
`docs/reference/worker-protocol.md`.
"""

import sys
from collections.abc import Sequence
from random import random
from typing import Any

import msgspec
from msgspec import UNSET

from drumline.aio.threads import off_loop
from drumline.api.lists import ListReader
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.api.outputs import check_file_media, check_file_name
from drumline.api.problems import to_problem
from drumline.api.session_ownership import is_own, lease_header, leases_of, own_chunks, own_spec, own_tasks
from drumline.api.stopping import unless_stopped
from drumline.core.access import Caller, Permission
from drumline.core.codec import check_json, encode
from drumline.core.errors import DrumlineError, Fenced, Forbidden, Invalid, QuotaExceeded, Unavailable
from drumline.core.ids import SessionId, TaskId, parse_session_id, parse_task_id, session_text
from drumline.core.lease import Lease
from drumline.core.limits import Limits
from drumline.core.names import check_name, check_queue, check_text
from drumline.core.protocol import (
    BeatBody,
    BeatRequest,
    ChangeSessionRequest,
    ChunkBody,
    ClaimBody,
    ClaimRequestBody,
    LeaseBody,
    LeaveBody,
    LogBody,
    LogRequest,
    OpenBody,
    OpenRequest,
    ProgressRequest,
    RawLogRequest,
    RawOpenRequest,
    RawSettleRequest,
    ReportBody,
    RevealBody,
    RevealRequest,
    SettleBody,
    SettledBody,
    SettleRequest,
    StopsBody,
    StopsRequest,
    SucceededReport,
    WorkerConfigBody,
    claimed_body,
    lease_of,
    nonce_of,
    outcome_of,
    progress_note,
    usage_of,
)
from drumline.core.session import BEAT_EVERY, SESSION_TTL, Beat, SessionSpec, TaskType
from drumline.core.state import State
from drumline.ports.gateway import Acknowledged, Report
from drumline.ports.store import Artifact

LONGEST_WORD = 255
MOST_TYPES = 10_000
MOST_CHUNKS = 1_000
MOST_TENANTS = 1_000
SPREAD = 0.3
"""The share of a wait by which it may end early: workers that began together do not come back together for ever."""
LEASE_BYTES = 100
"""What reading a lease costs, as bytes of JSON."""
FOR_WORKERS = ("worker.", "log.", "tune.report_batch")
"""The part of the runtime configuration that a worker goes by itself; the rest is done by the servers."""
LARGEST_SESSION = 4 * 1024 * 1024
LARGEST_BEAT = 2 * 1024 * 1024
ITEM_BYTES = 100
MOST_REPORTS = 10_000
_SESSIONS = "/api/v1/worker/sessions"
_TYPES: ListReader[TaskType] = ListReader(TaskType, field="types")
_REPORTS: ListReader[ReportBody] = ListReader(ReportBody, field="reports")
_CHUNKS: ListReader[ChunkBody] = ListReader(ChunkBody, field="chunks")


async def open_session(call: ApiCall[RawOpenRequest, NoQuery]) -> Reply:
    """Register a worker, and return the session to use in all that follows."""
    body = call.body
    types = tuple(await _TYPES.read(body.types, most=MOST_TYPES))
    for number, type_ in enumerate(types):
        check_name(type_.name, field=f"types[{number}].name")
        if type_.defaults is not None:
            type_.defaults.check(field=f"types[{number}].defaults")
    words = {"host": body.host, "version": body.version, "label": body.label, "app_version": body.app_version}
    for field, word in words.items():
        if word:
            check_text(word, field=field, longest=LONGEST_WORD)
    spec = SessionSpec(
        host=body.host,
        pid=body.pid,
        version=body.version,
        app_version=body.app_version,
        queues=_allowed_queues(body.queues, call.by),
        types=await off_loop(ITEM_BYTES * len(types), lambda: _allowed_types(types, call.by)),
        capacity=body.capacity,
        tenant=call.tenant,
        label=body.label,
        key=call.by.id,
    )
    session = await call.context.gateway.open_session(spec)
    opened = OpenBody(
        session=session_text(session),
        beat_every=BEAT_EVERY,
        ttl=SESSION_TTL,
        wants_held=spec.tenant is None,
        wants_nonce=True,
        tells_stops=True,
        answers_partly=True,
        keeps_records=True,
        has_rounds=True,
        undoes_drains=True,
        wants_usage=True,
    )
    return Reply(encode(opened), 201)


async def claim(call: ApiCall[ClaimRequestBody, NoQuery]) -> Reply:
    """Lease up to `limit` tasks to a session, waiting for the first."""
    session = _session(call)
    spec = await own_spec(call, session)
    wanted = call.body
    if wanted.queues is not None:
        spec = msgspec.structs.replace(spec, queues=_allowed_queues(wanted.queues, call.by))
    wait = _spread(call.wait(wanted.wait))
    nonce = None if wanted.claim_id is None else nonce_of(wanted.claim_id, field="claim_id")
    if wanted.again and nonce is None:
        raise Invalid("needs the claim_id of the claim to repeat", field="again")
    if len(wanted.held) > MOST_TENANTS:
        raise Invalid(f"must name at most {MOST_TENANTS:,} tenants", field="held")
    gateway = call.context.gateway
    gateway.note_held(session, wanted.held)
    claiming = gateway.claim_as(session, spec, limit=wanted.limit, wait=wait, nonce=nonce, again=wanted.again)
    if wait == 0:
        tasks = await claiming
    else:
        found = await unless_stopped(claiming, stop=call.context.stop, receive=call.receive)
        if found is None:
            # The claim may have been written already: only its repetition tells, so "nothing" would be a lie.
            raise Unavailable("the server is stopping; repeat the claim with its claim_id and again: true")
        tasks = found
    return Reply(encode(ClaimBody([claimed_body(task) for task in tasks])))


async def change_session(call: ApiCall[ChangeSessionRequest, NoQuery]) -> Reply:
    """Note what a worker serves from now on; its claims say it by themselves."""
    session = _session(call)
    await own_spec(call, session)
    queues = _allowed_queues(call.body.queues, call.by)
    await call.context.gateway.change_session(session, queues=queues, capacity=call.body.capacity)
    return Reply(b"", 204)


async def worker_config(call: ApiCall[None, NoQuery]) -> Reply:
    """Return what the runtime configuration says about workers."""
    config = await call.engine.configuration.get()
    settings = {key: value for key, value in config.settings.items() if key.startswith(FOR_WORKERS)}
    return Reply(encode(WorkerConfigBody(version=config.version, settings=settings)))


async def beat(call: ApiCall[BeatRequest, NoQuery]) -> Reply:
    """Note a sign of life, and tell what was lost and what should stop."""
    held = await _held(call.body.held)
    session = _session(call)
    if not await is_own(call, session):
        # It is closed, or belongs to another key: the answer does not tell which.
        lost = tuple(lease.task for lease in held)
        return Reply(encode(BeatBody(is_open=False, lost=lost, cancelled=(), should_drain=False)))
    beat = Beat(session=session, held=held, usage=usage_of(call.body.usage), again=call.body.again)
    reply = await call.context.gateway.beat(beat)
    state = call.engine.configuration.state
    body = BeatBody(
        is_open=reply.is_open,
        lost=reply.lost,
        cancelled=reply.cancelled,
        should_drain=reply.should_drain,
        config=0 if state is None else state.version,
    )
    return Reply(encode(body))


async def settle(call: ApiCall[RawSettleRequest, NoQuery]) -> Reply:
    """Record how attempts ended; each report gets its own answer, in order."""
    session, limits = _session(call), call.context.limits
    reports = await _REPORTS.read(call.body.reports, most=MOST_REPORTS)

    def check() -> list[Report | DrumlineError]:
        return [_report_of(report, f"reports[{number}]", limits) for number, report in enumerate(reports)]

    checked = await off_loop(sum(map(_weight_of, reports)), check)
    if not await is_own(call, session):
        # It was taken for dead, perhaps, or is another's. Of its own tasks a worker may still say how they ended.
        tasks = [report.lease.task for report in checked if isinstance(report, Report)]
        own = await own_tasks(call, tasks)
        checked = [_unless_foreign(report, own) for report in checked]
    settled = await call.context.gateway.join([report for report in checked if isinstance(report, Report)])
    away = next((answer for answer in settled if isinstance(answer, Unavailable)), None)
    if away is not None and not call.body.partial:
        raise away  # a worker that does not know such an answer would take it for the last word on its report
    coming = iter(settled)
    answers = [next(coming) if isinstance(report, Report) else report for report in checked]
    return Reply(encode(SettleBody([_settled_body(answer) for answer in answers])))


async def stops(call: ApiCall[StopsRequest, NoQuery]) -> Reply:
    """Return which attempts should stop now, waiting until there may be some. Changes nothing."""
    session = _session(call)
    await own_spec(call, session)
    held = await _held(call.body.held)
    waiting = call.context.gateway.stops(session, held, wait=_spread(call.wait(call.body.wait)))
    found = await unless_stopped(waiting, stop=call.context.stop, receive=call.receive)
    return Reply(encode(StopsBody() if found is None else StopsBody(found.lost, found.cancelled)))


async def append_log(call: ApiCall[RawLogRequest, NoQuery]) -> Reply:
    """Keep pieces of logs of what the caller's own sessions run; others are passed over."""
    session, bodies = _session(call), await _CHUNKS.read(call.body.chunks, most=MOST_CHUNKS)
    for number, chunk in enumerate(bodies):
        if len(chunk.text) > call.context.limits.log:
            raise Invalid("is too long", field=f"chunks[{number}].text", code="too_large")
    leases = leases_of(bodies)
    chunks = await own_chunks(call, bodies, leases) if bodies and await is_own(call, session) else []
    fitting = call.context.log_quota.fitting(chunks)
    away = await call.context.gateway.append_log(fitting) if fitting else ()
    if not call.body.partial:
        if away:
            raise Unavailable("a shard is away; send the pieces again")
        return Reply(b"", 204)
    left = {(chunk.task, chunk.epoch, chunk.seq) for chunk in away}
    numbers = [number for number, body in enumerate(bodies) if (leases[0][number], body.epoch, body.seq) in left]
    return Reply(encode(LogBody(unavailable=numbers)))


async def report_progress(call: ApiCall[ProgressRequest, NoQuery]) -> Reply:
    """Note how far attempts are; send it about once a second, and only what has changed."""
    session = _session(call)
    if len(call.body.notes) > MOST_CHUNKS:
        raise Invalid(f"must be at most {MOST_CHUNKS:,}", field="notes")
    notes = [progress_note(report, field=f"notes[{number}]") for number, report in enumerate(call.body.notes)]
    if notes and await is_own(call, session):
        await call.context.gateway.report_progress(notes)
    return Reply(b"", 204)


async def put_artifact(call: ApiCall[bytes, NoQuery]) -> Reply:
    """Keep a file that a task made; only while this session runs the task."""
    session = _session(call)
    task = parse_task_id(call.params["task"], field="task")
    await own_spec(call, session)
    view = await call.engine.queries.get(task, tenant=call.tenant)
    if view.worker != session or view.state is not State.RUNNING:
        raise Fenced(f"worker {session_text(session)} does not hold task {task}", field="task")
    await _check_room(call, task)
    header = call.header(b"x-lease")
    media = (call.header(b"content-type") or b"").decode("latin-1")
    artifact = Artifact(
        task=task,
        name=check_file_name(call.params["name"]),
        content_type=check_file_media(media),
        data=call.body,
        lease=None if header is None else Lease(task, *lease_header(header, task)),
    )
    await call.context.gateway.put_artifact(artifact)
    return Reply(b"", 204)


async def _check_room(call: ApiCall[bytes, NoQuery], task: TaskId) -> None:
    """Raise `QuotaExceeded` if a task has as many files, or as many bytes of them, as it may have."""
    limits, name = call.context.limits, call.params["name"]
    others = [each for each in await call.engine.queries.artifacts(task, tenant=call.tenant) if each.name != name]
    if len(others) >= limits.artifacts:
        raise QuotaExceeded(f"the task has {limits.artifacts:,} files, as many as it may have")
    if sum(each.size for each in others) + len(call.body) > limits.task_artifacts:
        raise QuotaExceeded(f"the files of the task would have more than {limits.task_artifacts:,} bytes")


async def reveal(call: ApiCall[RevealRequest, NoQuery]) -> Reply:
    """Tell the values of the secrets that a task refers to; only to the session that holds its lease."""
    session = _session(call)
    await own_spec(call, session)
    lease = lease_of(call.body.lease, field="lease")
    view = await call.engine.queries.get(lease.task, tenant=call.tenant)
    if view.worker != session or view.state is not State.RUNNING:
        raise Fenced(f"worker {session_text(session)} does not hold task {lease.task}", field="lease")
    secrets = await call.engine.secrets.reveal(lease, tenant=call.tenant)
    return Reply(encode(RevealBody(secrets=None if secrets is None else dict(secrets))))


async def leave(call: ApiCall[None, NoQuery]) -> Reply:
    """Close a session that was asked to drain, unless that was undone."""
    session = _session(call)
    has_left = await call.context.gateway.leave(session) if await is_own(call, session) else True
    return Reply(encode(LeaveBody(has_left=has_left)))


async def close_session(call: ApiCall[None, NoQuery]) -> Reply:
    """Note that a worker has left in order."""
    session = _session(call)
    if await is_own(call, session):
        await call.context.gateway.close_session(session)
    return Reply(b"", 204)


def _spread(wait: float) -> float:
    """Return a wait of some seconds, or a little less."""
    return wait * (1 - SPREAD * random())  # noqa: S311 - not secret


async def _held(leases: Sequence[LeaseBody]) -> tuple[Lease, ...]:
    """Return leases that a worker says it holds, or raise `Invalid`."""
    return await off_loop(
        LEASE_BYTES * len(leases),
        lambda: tuple(lease_of(lease, field=f"held[{number}]") for number, lease in enumerate(leases)),
    )


def _weight_of(report: ReportBody) -> int:
    """Return what checking a report costs, as bytes of JSON."""
    return LEASE_BYTES + (len(report.result) if isinstance(report, SucceededReport) else 0)


def _allowed_queues(queues: tuple[str, ...], by: Caller) -> tuple[str, ...]:
    """Return queues that a worker wants to serve, or raise what is wrong with them or with its key."""
    checked = tuple(check_queue(queue, field=f"queues[{number}]") for number, queue in enumerate(queues))
    return by.narrow_queues(checked)


def _session(call: ApiCall[Any, Any]) -> SessionId:
    return parse_session_id(call.params["session"], field="session")


def _allowed_types(types: tuple[TaskType, ...], by: Caller) -> tuple[TaskType, ...]:
    """Return the types that a worker may run with its key, of those that it can; some must be left."""
    allowed = tuple(_declared_for(type_, by) for type_ in types if by.may_run(type_.name))
    if types and not allowed:
        raise Forbidden(f"this key may only run tasks named {' or '.join(by.names)}", field="types")
    return allowed


def _declared_for(type_: TaskType, by: Caller) -> TaskType:
    """Return a type without a default queue that is not its key's to serve."""
    defaults = type_.defaults
    if defaults is None or defaults.queue is None or by.may_serve(defaults.queue):
        return type_
    return msgspec.structs.replace(type_, defaults=msgspec.structs.replace(defaults, queue=None))


def _report_of(report: ReportBody, field: str, limits: Limits) -> Report | DrumlineError:
    try:
        if isinstance(report, SucceededReport):
            # Its size is judged where results are decided; here it only has to be JSON that can be kept.
            check_json(bytes(report.result), field=f"{field}.result", largest=sys.maxsize, deepest=limits.nesting)
        return Report(lease_of(report.lease, field=f"{field}.lease"), outcome_of(report))
    except Invalid as error:
        return error


def _unless_foreign(report: Report | DrumlineError, own: frozenset[TaskId]) -> Report | DrumlineError:
    """Return a report of the caller's own tasks; of others it is answered as one of a lease that is not current."""
    if isinstance(report, Report) and report.lease.task not in own:
        return Fenced("the lease is not the task's current one")
    return report


def _settled_body(answer: Acknowledged | DrumlineError) -> SettledBody:
    if isinstance(answer, DrumlineError):
        return SettledBody(error=to_problem(answer))
    return SettledBody(state=UNSET if answer is None else answer.name.lower())


OPERATIONS = (
    Operation(
        method="POST", path=_SESSIONS + "/{session}/claim", handler=claim, tag=Tag.PROTOCOL,
        summary="Lease tasks, waiting for the first",
        largest=lambda limits: limits.request_lists, body=ClaimRequestBody, body_required=False, answer=ClaimBody,
        permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
    Operation(
        method="POST", path=_SESSIONS + "/{session}/settle", handler=settle, tag=Tag.PROTOCOL,
        summary="Report how attempts ended", largest=lambda limits: limits.body,
        body=RawSettleRequest, described=SettleRequest,
        answer=SettleBody, permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
    Operation(
        method="POST", path=_SESSIONS + "/{session}/beat", handler=beat, tag=Tag.PROTOCOL,
        summary="Give a sign of life",
        largest=lambda _limits: LARGEST_BEAT, body=BeatRequest, body_required=False, answer=BeatBody,
        permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
    Operation(
        method="POST", path=_SESSIONS + "/{session}/stops", handler=stops, tag=Tag.PROTOCOL,
        summary="Hear which attempts should stop, waiting for the first", largest=lambda _limits: LARGEST_BEAT,
        body=StopsRequest, body_required=False, answer=StopsBody,
        permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
    Operation(
        method="POST", path=_SESSIONS + "/{session}/log", handler=append_log, tag=Tag.PROTOCOL,
        summary="Append to logs", largest=lambda limits: limits.body,
        body=RawLogRequest, described=LogRequest, answer=LogBody, also=(204,),
        permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
    Operation(
        method="POST", path=_SESSIONS + "/{session}/progress", handler=report_progress, tag=Tag.PROTOCOL,
        summary="Say how far attempts are", largest=lambda _limits: LARGEST_SESSION, body=ProgressRequest, status=204,
        permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
    Operation(
        method="POST", path=_SESSIONS + "/{session}/secrets", handler=reveal, tag=Tag.PROTOCOL,
        summary="Get the secrets that a held task refers to", body=RevealRequest, answer=RevealBody,
        permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
    Operation(
        method="POST", path=_SESSIONS, handler=open_session, tag=Tag.PROTOCOL, summary="Register a worker",
        body=RawOpenRequest, described=OpenRequest, largest=lambda _limits: LARGEST_SESSION,
        answer=OpenBody, status=201,
        permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
    Operation(
        method="PATCH", path=_SESSIONS + "/{session}", handler=change_session, tag=Tag.PROTOCOL,
        summary="Serve other queues, or have another capacity",
        largest=lambda limits: limits.request_lists, body=ChangeSessionRequest, status=204,
        permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
    Operation(
        method="GET", path="/api/v1/worker/config", handler=worker_config, tag=Tag.PROTOCOL,
        summary="Look at what the runtime configuration says about workers", answer=WorkerConfigBody,
        permission=Permission.WORKERS_PROTOCOL,
    ),
    Operation(
        method="POST", path=_SESSIONS + "/{session}/leave", handler=leave, tag=Tag.PROTOCOL,
        summary="Leave after a request to drain, unless that was undone", answer=LeaveBody,
        permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
    Operation(
        method="DELETE", path=_SESSIONS + "/{session}", handler=close_session, tag=Tag.PROTOCOL,
        summary="Leave in order", status=204, permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
    Operation(
        method="PUT", path=_SESSIONS + "/{session}/artifacts/{task}/{name}", handler=put_artifact, tag=Tag.PROTOCOL,
        summary="Keep a file that a task made", body=bytes, largest=lambda limits: limits.artifact, bulk="artifact",
        status=204, permission=Permission.WORKERS_PROTOCOL, audit_act=None, reach=Reach.OWN,
    ),
)  # fmt: skip
