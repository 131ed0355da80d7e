"""The messages of the worker protocol, for both sides (docs/reference/worker-protocol.md).

Servers decode requests and encode answers (`api/protocol.py`), workers the other way round (`remote/gateway.py`).
Either may be a version older than the other: a server refuses what it does not know in a request, so workers leave out
what has its default; a worker ignores what it does not know in an answer. 64-bit numbers are hex text, so that
JavaScript can carry them.
"""

import re
from datetime import datetime
from typing import Annotated, Any, ClassVar

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, convert, structs

from drumline.core.attempt import ProgressNote, progress_of
from drumline.core.clock import moment_of, to_instant
from drumline.core.durable import NO_RECORDS
from drumline.core.errors import Invalid
from drumline.core.field_schema import LINE_PATTERN, QUEUE, WAIT, Schema, about, given
from drumline.core.ids import TaskId, parse_task_id
from drumline.core.lease import Lease
from drumline.core.names import LONGEST_NAME
from drumline.core.outcome import ErrorInfo, Failed, Outcome, Released, Snoozed, Stopped, Succeeded
from drumline.core.problem import Problem
from drumline.core.record_body import RecordPageBody, page_body, page_of
from drumline.core.retry import DEFAULT_BACKOFF, Backoff
from drumline.core.session import MOST_CORES, MOST_MEMORY, NO_USAGE, BeatReply, SessionSpec, TaskType, Usage
from drumline.core.state import State
from drumline.core.task import DEFAULT_OPTIONS, DEFAULT_TENANT, ClaimedTask, TaskOptions
from drumline.core.views import (
    UUID_FORMAT,
    BackoffBody,
    Moment,
    NotifyBody,
    View,
    WorkerIdText,
    backoff_body,
    notify_body,
)

_HEX = re.compile(r"[0-9a-f]{16}")
_63_BITS = (1 << 63) - 1
_STATES = {state.name.lower(): state for state in State}

_TaskId = Annotated[TaskId, UUID_FORMAT]
HexText = Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9a-f]{16}$"})]
StateWord = Annotated[str, Meta(extra_json_schema={"enum": [state.name.lower() for state in State]})]
Count = Annotated[int, Meta(ge=0, le=_63_BITS)]
Serial = Annotated[int, Meta(ge=0, le=(1 << 31) - 1)]
"""An epoch, or a place in a log. What no store has room for must not get into a batch with others' reports."""


class LeaseBody(Struct, frozen=True):
    """The right to one attempt of a task. Send it back as it came."""

    # Unknown fields are ignored: it may come back to a server that is older than the one that gave it.

    task: _TaskId
    epoch: Serial
    nonce: HexText


class OpenRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a worker says of itself when it starts. No `queues` means all queues."""

    types: tuple[TaskType, ...]
    capacity: Annotated[int, Meta(ge=1, le=100_000)]
    queues: Annotated[tuple[str, ...], about(items={"type": "string", "pattern": QUEUE["pattern"]})] = ()
    host: Annotated[str, about(maxLength=LONGEST_NAME, pattern=f"^$|{LINE_PATTERN}")] = ""
    pid: Count = 0
    version: Annotated[str, about(maxLength=LONGEST_NAME, pattern=f"^$|{LINE_PATTERN}")] = ""
    label: Annotated[str, about(maxLength=LONGEST_NAME, pattern=f"^$|{LINE_PATTERN}")] = ""
    app_version: Annotated[
        str,
        about(
            "The applications that it runs with their versions, such as `shop 1.4.2, billing 7`. Servers of an earlier "
            "version refuse the field: register again without it.",
            maxLength=LONGEST_NAME,
            pattern=f"^$|{LINE_PATTERN}",
        ),
    ] = ""


class RawOpenRequest(OpenRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a worker says of itself, as it comes."""

    types: Raw  # type: ignore[assignment]


class OpenBody(View, frozen=True, kw_only=True):
    """The session to use in all that follows; beat every `beat_every` seconds, `ttl` without a beat is death.

    With `wants_held` the worker serves several tenants: claims should say how many tasks of each it holds. With
    `wants_nonce` pieces of logs should have the nonce of their lease; servers that do not say so refuse the field.
    With `tells_stops` the server can be asked which attempts should stop. With `answers_partly` reports and pieces of
    logs may be sent with `partial`; servers that do not say so refuse the field. With `keeps_records` the server keeps
    records of durable tasks, and with `has_rounds` it can begin new rounds of them. With `undoes_drains` a worker that
    was asked to drain should leave by `leave`, which tells whether it still should. With `wants_usage` heartbeats
    should have `usage`, and `again` where it is true; servers that do not say so refuse these fields.
    """

    session: WorkerIdText
    beat_every: float
    ttl: float
    wants_held: bool = False
    wants_nonce: bool = False
    tells_stops: bool = False
    answers_partly: bool = False
    keeps_records: bool = False
    has_rounds: bool = False
    undoes_drains: bool = False
    wants_usage: bool = False


class ClaimRequestBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Ask for up to `limit` tasks, waiting up to `wait` seconds for the first.

    `claim_id`, 16 random hex digits, names the claim; if its answer is lost, the same again with `again` true
    returns the same tasks. `held` is how many tasks of each tenant the worker has.
    """

    SCHEMA: ClassVar[Schema] = {"anyOf": [{"properties": {"again": {"const": False}}}, given("claim_id")]}

    limit: Annotated[int, Meta(ge=1, le=1000)] = 1
    wait: Annotated[float, about("Seconds to wait for the first task.", **WAIT)] = 0.0
    claim_id: HexText | None = None
    again: bool = False
    held: dict[str, Annotated[int, Meta(ge=0, le=1_000_000)]] = {}
    queues: tuple[str, ...] | None = None
    """From which queues, where that differs from what the session was opened with; none in the list means all."""


class ClaimedBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task to run once. What is absent has its default: priority 0, no timeout, 3 retries, and so on."""

    lease: LeaseBody
    name: str
    queue: str
    payload: Raw
    attempt: int
    priority: int = 0
    tenant: str | UnsetType = UNSET
    retries: int = DEFAULT_OPTIONS.retries
    backoff: BackoffBody | None = None
    timeout: float | None = None
    tags: tuple[str, ...] = ()
    notify: tuple[NotifyBody, ...] = ()
    fire_time: Moment | None = None
    """The fire time that it is for, if a schedule made it."""
    traceparent: str | None = None
    """The span that submitted it, if that was traced: the parent of what the worker does."""
    recorded: int = 0
    """The `seq` of its last record, if it has any: a durable task that has run before."""
    records: RecordPageBody | None = None
    """The first of its records; where there are more, or it is absent, they can be asked for."""


class ClaimBody(Struct, frozen=True):
    """The tasks that the worker now holds, best first."""

    tasks: list[ClaimedBody]


class RevealRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The lease of the task whose secrets are wanted."""

    lease: LeaseBody


class RevealBody(View, frozen=True, kw_only=True):
    """The values of the secrets that the task refers to, by name; null if its payload has no reference at all."""

    secrets: dict[str, str] | None = None

    def __repr__(self) -> str:
        return "RevealBody(***)"


class UsageBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the worker uses now, for people. What it cannot measure is left out."""

    memory: Annotated[
        Annotated[int, Meta(ge=0, le=MOST_MEMORY)] | None,
        Meta(description="Bytes that its process and child processes have resident."),
    ] = None
    cpu: Annotated[
        Annotated[float, Meta(ge=0, le=MOST_CORES)] | None,
        Meta(description="Processor time since the last heartbeat, as a share of one core: 1.5 is 1.5 cores."),
    ] = None


class BeatRequest(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Every lease that the worker believes it holds: from the claim's answer until its settlement is answered.

    `usage` is shown until the next heartbeat; one without it says that it is not known. `again` says that the heartbeat
    before was not answered: what this one does not name is not taken for forgotten yet.
    """

    held: list[LeaseBody] = []
    usage: UsageBody | None = None
    again: bool = False


class StopsRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The leases of attempts that run, and how many seconds to wait until one of them should stop."""

    held: list[LeaseBody] = []
    wait: float = 0.0


class StopsBody(Struct, frozen=True):
    """The attempts that should stop now.

    The leases of `lost` are not current any more, the tasks of `cancelled` were cancelled. With neither, ask again.
    """

    lost: tuple[_TaskId, ...] = ()
    cancelled: tuple[_TaskId, ...] = ()


class ChangeSessionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a worker serves from now on."""

    queues: tuple[str, ...] = ()
    capacity: Annotated[int, Meta(ge=1, le=1_000_000)]


class WorkerConfigBody(Struct, frozen=True, kw_only=True):
    """What the runtime configuration says about workers, by key, and its version."""

    version: int
    settings: dict[str, Any]


class BeatBody(View, frozen=True, kw_only=True):
    """What the server knows better: leases lost, tasks to stop, whether to take no more."""

    is_open: bool
    lost: tuple[_TaskId, ...] = ()
    cancelled: tuple[_TaskId, ...] = ()
    should_drain: bool = False
    config: int = 0
    """The version of the runtime configuration; when it rises, look at `/api/v1/worker/config`."""


class LeaveBody(View, frozen=True, kw_only=True):
    """Whether the session is closed now; if not, the worker is not asked to drain any more and works on."""

    has_left: bool


class SucceededReport(Struct, frozen=True, tag="succeeded", tag_field="outcome", forbid_unknown_fields=True):
    """The attempt did its work."""

    lease: LeaseBody
    result: Raw = Raw(b"null")


class FailedReport(Struct, frozen=True, tag="failed", tag_field="outcome", forbid_unknown_fields=True):
    """The attempt failed; `retry_after` seconds override the task's own backoff."""

    lease: LeaseBody
    error: ErrorInfo
    permanent: bool = False
    retry_after: float | None = None


class SnoozedReport(Struct, frozen=True, tag="snoozed", tag_field="outcome", forbid_unknown_fields=True):
    """The attempt wants to run again later; it does not count."""

    lease: LeaseBody
    seconds: float


class ReleasedReport(Struct, frozen=True, tag="released", tag_field="outcome", forbid_unknown_fields=True):
    """The worker gives the task back unfinished; the attempt does not count."""

    lease: LeaseBody


class StoppedReport(Struct, frozen=True, tag="stopped", tag_field="outcome", forbid_unknown_fields=True):
    """The worker saw the cancellation and stopped the attempt."""

    lease: LeaseBody


ReportBody = SucceededReport | FailedReport | SnoozedReport | ReleasedReport | StoppedReport


class SettleRequest(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How attempts ended. A report may be sent again until it is answered.

    With `partial` reports of tasks that cannot be reached now are answered with the error `unavailable`, to be sent
    again, while the others are recorded; without it the whole request then is.
    """

    reports: list[ReportBody]
    partial: bool = False


class RawSettleRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """How attempts ended, as it comes."""

    reports: Raw
    partial: bool = False


class SettledBody(Struct, frozen=True, kw_only=True):
    """The task's state after a report; or why it does not hold, mostly `fenced`: another attempt owns the task."""

    state: StateWord | UnsetType = UNSET
    error: Problem | UnsetType = UNSET


class SettleBody(Struct, frozen=True):
    """The answers to reports, in their order."""

    reports: list[SettledBody]


class ChunkBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A piece of an attempt's log: the lease's task, epoch and nonce, and `seq` counting from 0."""

    task: _TaskId
    epoch: Serial
    seq: Serial
    text: str
    nonce: HexText | None = None


class LogRequest(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Pieces of logs. A piece sent twice is kept once.

    With `partial` pieces of tasks that cannot be reached now are listed in the answer, to be sent again, while the
    others are kept; without it the whole request then is unavailable.
    """

    chunks: list[ChunkBody]
    partial: bool = False


class RawLogRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Pieces of logs, as they come."""

    chunks: Raw
    partial: bool = False


class LogBody(Struct, frozen=True, kw_only=True):
    """The places of the pieces that were not kept, counting from 0: send these again."""

    unavailable: list[int] = []


class ProgressReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far an attempt is. Without a `total` it is not known how much there is to do."""

    lease: LeaseBody
    done: float
    total: float | None = None
    message: str = ""


class ProgressRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """How far attempts are, each lease once. Of a lease that is not current nothing is kept."""

    notes: list[ProgressReport]


def progress_note(report: ProgressReport, *, field: str) -> ProgressNote:
    """Return a note behind its JSON form, or raise `Invalid`."""
    progress = progress_of(report.done, report.total, report.message)
    if progress is None:
        raise Invalid("must be a finite number", field=f"{field}.done")
    return ProgressNote(lease_of(report.lease, field=f"{field}.lease"), progress)


def lease_body(lease: Lease) -> LeaseBody:
    """Return a lease as JSON carries it."""
    return LeaseBody(lease.task, lease.epoch, f"{lease.nonce:016x}")


def lease_of(body: LeaseBody, *, field: str) -> Lease:
    """Return the lease behind its JSON form, or raise `Invalid`."""
    task = parse_task_id(body.task, field=f"{field}.task")
    return Lease(task, body.epoch, nonce_of(body.nonce, field=f"{field}.nonce"))


def nonce_of(text: str, *, field: str) -> int:
    """Return the number behind 16 hex digits; the highest bit is left out, as stores keep signed numbers."""
    if _HEX.fullmatch(text) is None:
        raise Invalid("must be 16 hex digits", field=field)
    return int(text, 16) & _63_BITS


def claimed_body(task: ClaimedTask) -> ClaimedBody:
    """Return a claimed task as JSON carries it."""
    options = task.options
    tenant = UNSET if task.tenant == DEFAULT_TENANT else task.tenant
    records = page_body(task.records) if task.recorded else None
    if options is DEFAULT_OPTIONS:
        return ClaimedBody(
            lease=lease_body(task.lease), name=task.name, queue=task.queue, payload=task.payload,
            attempt=task.attempt, priority=task.priority, tenant=tenant, recorded=task.recorded, records=records,
        )  # fmt: skip
    return ClaimedBody(
        lease=lease_body(task.lease), name=task.name, queue=task.queue, payload=task.payload,
        attempt=task.attempt, priority=task.priority, tenant=tenant, retries=options.retries,
        backoff=None if options.backoff == DEFAULT_OPTIONS.backoff else backoff_body(options.backoff),
        timeout=None if options.timeout_ms is None else options.timeout_ms / 1000,
        tags=options.tags, notify=tuple(notify_body(target) for target in options.notify),
        fire_time=None if options.fire_time is None else moment_of(options.fire_time), traceparent=options.trace,
        recorded=task.recorded, records=records,
    )  # fmt: skip


def claimed_task(body: ClaimedBody) -> ClaimedTask:
    """Return a claimed task as a worker knows it."""
    fire_time = None if body.fire_time is None else convert(body.fire_time, datetime)
    options = TaskOptions(
        retries=body.retries,
        backoff=DEFAULT_BACKOFF if body.backoff is None else Backoff(**structs.asdict(body.backoff)),
        timeout_ms=None if body.timeout is None else round(body.timeout * 1000),
        tags=body.tags,
        fire_time=None if fire_time is None else to_instant(fire_time, field="fire_time"),
        trace=body.traceparent,
    )
    return ClaimedTask(
        lease=_lease(body.lease),
        name=body.name,
        queue=body.queue,
        payload=Raw(bytes(body.payload)),  # a copy: the reply it points into is large, and freed with it
        attempt=body.attempt,
        priority=body.priority,
        tenant=body.tenant or DEFAULT_TENANT,
        options=options,
        recorded=body.recorded,
        records=NO_RECORDS if body.records is None else page_of(body.records),
    )


def _lease(body: LeaseBody) -> Lease:
    """Return a lease that a server gave."""
    return Lease(body.task, body.epoch, int(body.nonce, 16))


def open_request(spec: SessionSpec) -> OpenRequest:
    """Return what a worker says of itself; whose it is the server knows by its key."""
    return OpenRequest(
        types=spec.types,
        capacity=spec.capacity,
        queues=spec.queues,
        host=spec.host,
        pid=spec.pid,
        version=spec.version,
        label=spec.label,
        app_version=spec.app_version,
    )


def report_body(lease: Lease, outcome: Outcome) -> ReportBody:
    """Return how an attempt ended as JSON carries it."""
    body = lease_body(lease)
    match outcome:
        case Succeeded(result=result):
            return SucceededReport(body, result)
        case Failed(error=error, permanent=permanent, retry_after=retry_after):
            return FailedReport(body, error, permanent, retry_after)
        case Snoozed(seconds=seconds):
            return SnoozedReport(body, seconds)
        case Released():
            return ReleasedReport(body)
        case Stopped():
            return StoppedReport(body)


def progress_report(note: ProgressNote) -> ProgressReport:
    """Return how far an attempt is as JSON carries it."""
    return ProgressReport(lease=lease_body(note.lease), **structs.asdict(note.progress))


def state_of(word: str) -> State | None:
    """Return the state of a name; None if this version does not know it."""
    return _STATES.get(word)


def usage_of(body: UsageBody | None) -> Usage:
    """Return what a worker says that it uses."""
    return NO_USAGE if body is None else Usage(memory=body.memory, cpu=body.cpu)


def usage_body(usage: Usage) -> UsageBody | None:
    """Return what a worker uses as JSON carries it; None if nothing is known."""
    return None if usage == NO_USAGE else UsageBody(memory=usage.memory, cpu=usage.cpu)


def beat_reply(body: BeatBody) -> BeatReply:
    """Return the answer to a heartbeat as a worker knows it."""
    return BeatReply(is_open=body.is_open, lost=body.lost, cancelled=body.cancelled, should_drain=body.should_drain)


def outcome_of(report: ReportBody) -> Outcome:
    """Return how the attempt ended, in the engine's words."""
    match report:
        case SucceededReport(result=result):
            return Succeeded(result)
        case FailedReport(error=error, permanent=permanent, retry_after=retry_after):
            clean = ErrorInfo(without_nul(error.kind), without_nul(error.message), without_nul(error.traceback))
            return Failed(clean, permanent=permanent, retry_after=retry_after)
        case SnoozedReport(seconds=seconds):
            return Snoozed(seconds)
        case ReleasedReport():
            return Released()
        case StoppedReport():
            return Stopped()


def without_nul(text: str) -> str:
    """Return text that every store can keep: NUL becomes the replacement character."""
    return text.replace("\0", "\ufffd") if "\0" in text else text
