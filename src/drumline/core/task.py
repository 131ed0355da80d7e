"""A task: as requested, as stored, as a worker gets it, and as the API shows it.

TaskRequest ──accept()──▶ NewTask ──store──▶ ClaimedTask   (to a worker)
                                          └▶ TaskView      (to people)
"""

from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import Annotated, ClassVar, Literal

from msgspec import Raw, Struct, field
from msgspec.structs import replace

from drumline.core.blob import SPACE, without_space
from drumline.core.clock import LATEST, Instant, to_instant
from drumline.core.codec import check_bounds, decode, encode, encode_canonical, read_json
from drumline.core.collapse import TIMED, Collapse, CollapseRule, accept_collapse, collapse_key
from drumline.core.durable import NO_RECORDS, RecordPage
from drumline.core.duration import millis, parse_duration, parse_expires
from drumline.core.errors import Invalid, KeyReused, Moved
from drumline.core.field_schema import (
    EMAIL,
    NULL,
    ONE_KEY,
    ONE_TIME,
    PRIORITY,
    QUEUE,
    WEBHOOK,
    Configured,
    Schema,
    about,
    duration,
    line,
    line_schema,
    moment,
)
from drumline.core.http_headers import HTTP, check_given_headers
from drumline.core.ids import JobId, ScheduleId, SessionId, TaskId, made_at
from drumline.core.lease import Lease
from drumline.core.limits import DEFAULT_LIMITS, Limits
from drumline.core.names import LONGEST_TAG, MOST_TAGS, check_key, check_limit_key, check_name, check_queue, check_tags
from drumline.core.outcome import ErrorInfo
from drumline.core.priority import parse_priority
from drumline.core.retry import (
    DEFAULT_BACKOFF,
    DEFAULT_RETRIES,
    DEFAULT_RETRY,
    MOST_RETRIES,
    RETRIES_SCHEMA,
    Backoff,
    RetryDefaults,
    backoff_note,
)
from drumline.core.state import State, Status, status_of
from drumline.core.target import target_of
from drumline.core.task_type import NO_DEFAULTS, UNKNOWN_TYPE, TypeDefaults, TypeRules
from drumline.core.trace import CARRIED_TRACE

DEFAULT_QUEUE = "default"
DEFAULT_TENANT = "default"
MOST_TARGETS = 20

EMPTY_PAYLOAD = Raw(b"{}")


class NotifyTarget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Whom to tell when the task or job that names it ends, and on which outcomes."""

    SCHEMA: ClassVar[Schema] = {
        "oneOf": [
            {"required": ["webhook"], "properties": {"webhook": WEBHOOK, "email": NULL}},
            {"required": ["email"], "properties": {"email": EMAIL, "webhook": NULL}},
        ]
    }

    on: Annotated[
        tuple[Literal["completed", "failed", "cancelled"], ...],
        about("The outcomes that are told of. Without it `completed` and `failed`.", minItems=1),
    ] = ("completed", "failed")
    webhook: str | None = None
    email: str | None = None


class TaskFields(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The fields of a task request that a task of a job has too.

    None is what the task's type declares, or else what the installation is set to.
    """

    name: str | None = None
    payload: Annotated[Raw, about(Configured("payload", "Any JSON, at most {:,} bytes."))] = EMPTY_PAYLOAD
    queue: Annotated[
        str | None,
        about("The queue that workers take it from; unless said, as the task's code declares, or default.", **QUEUE),
    ] = None
    priority: Annotated[
        int | str | None,
        about(
            "From -100 to 100, or critical, high, normal, low. A point is worth a minute of waiting.",
            anyOf=PRIORITY,
            default=0,
        ),
    ] = None
    delay: Annotated[float | str | None, duration("Run it so much later than now; not together with run_at.")] = None
    run_at: Annotated[datetime | None, moment("Run it at this time; not together with delay.")] = None
    retries: Annotated[
        int | None,
        about(
            "How often to try again after a failure; unless said, as the task's code declares, or as "
            "the installation is set to: 3.",
            **RETRIES_SCHEMA,
        ),
    ] = None
    backoff: Annotated[
        Backoff | float | None,
        backoff_note("How long to wait before each retry; a number is the base of the default 2, 4, 8 s."),
    ] = None
    timeout: Annotated[
        float | str | None,
        duration("Stop an attempt that takes longer; unless said, than the task's code declares.", least=0.001),
    ] = None
    tags: Annotated[
        tuple[str, ...] | None,
        about(
            "Words to find it by; unless said, those that the task's code declares.",
            items=line_schema(LONGEST_TAG),
            maxItems=MOST_TAGS,
        ),
    ] = None
    notify: Annotated[tuple[NotifyTarget, ...] | None, about("Whom to tell when it ends.", maxItems=MOST_TARGETS)] = (
        None
    )
    limit_key: Annotated[str | None, line(description="Whose limit it counts to, where a limit has keys.")] = None
    expires: Annotated[
        float | str | None,
        duration("Cancel it if it has not started so long after it was due; at most 366 days.", least=0.001),
    ] = None


class TaskRequest(TaskFields, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What a caller asks for, as written over HTTP, in Python or on the command line."""

    SCHEMA: ClassVar[Schema] = {"allOf": [ONE_TIME, ONE_KEY]}

    name: Annotated[str, line(description="What kind of task it is; workers say which they run.")]
    idempotency_key: Annotated[
        str | None,
        line(description="Submitted twice under one key, a task is stored once; another body under it is refused."),
    ] = None
    idempotency_key_alias: Annotated[str | None, line(description="The same as idempotency_key.")] = field(
        default=None, name="idempotencyKey"
    )
    collapse: Annotated[
        Collapse | None,
        about("Let an earlier task of its key stand for it: debounce, throttle, singleton or unique."),
    ] = None


class TaskOptions(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What only matters once a task runs or ends; stored as one JSON text, or nothing when all is default."""

    retries: int = DEFAULT_RETRIES
    backoff: Backoff = DEFAULT_BACKOFF
    timeout_ms: int | None = None
    tags: tuple[str, ...] = ()
    notify: tuple[NotifyTarget, ...] = ()
    job: JobId | None = None
    """The job that the task belongs to, if it belongs to one, and its key there."""
    key: str | None = None
    takes: tuple[str, ...] = ()
    """The keys of the parents whose results its payload refers to."""
    schedule: ScheduleId | None = None
    """The schedule that made the task, if one did, and the fire time that it is for."""
    fire_time: Instant | None = None
    limit_key: str | None = None
    """Whose limit it counts to, where a limit has keys; without one the limit says where in the payload it is."""
    trace: str | None = None
    """The span that submitted it, as a W3C `traceparent`, if that was traced."""
    expires_at: Instant | None = None
    """When it is cancelled if it has not started."""
    collapse: Collapse | None = None
    """How it was submitted, if others may have collapsed into it."""
    forked_from: TaskId | None = None
    """The task whose records it began with."""
    parent: TaskId | None = None
    """The task that started it and may wait for it, if one did."""


DEFAULT_OPTIONS = TaskOptions()


class Lane(Struct, frozen=True, gc=False, cache_hash=True):
    """Tasks that are alike to a dispatcher: they differ only in when they are due.

    The stores intern lanes as small numbers, so a claim asks "the oldest due of these lanes" and never looks at a
    task it may not hand out: one that the worker cannot run, that is paused, or that is not due yet.
    """

    tenant: str
    queue: str
    name: str
    priority: int


class NewTask(Struct, frozen=True, kw_only=True, gc=False):
    """A validated task on its way into the store."""

    id: TaskId
    lane: Lane
    payload: bytes
    options: bytes | None = None
    run_at: Instant | None = None
    delay_ms: int = 0
    idempotency_key: str | None = None
    fingerprint: bytes | None = None
    """Digest of the request, kept with its idempotency key."""
    expires_at: Instant | None = None
    """As in its options."""
    slot_version: int = 0
    """The version of the entry of the map by which its database was chosen."""
    collapse: CollapseRule | None = None
    """When an earlier task stands for it: such tasks are stored by `ports.collapsing`."""

    @property
    def is_placed(self) -> bool:
        """Whether its slot is that of a key, so that it can be in no other."""
        return self.idempotency_key is not None or self.collapse is not None


class Submitted(Struct, frozen=True, gc=False):
    """The store's answer to a submission: the task's id, when it is due, and whether it is new."""

    id: TaskId
    due_at: Instant
    created: bool = True
    collapsed: str | None = None
    """What a submission did that an earlier task stands for (`CollapsedInto`)."""


SubmitAnswer = Submitted | KeyReused | Moved
"""What a store says to one task of a submission."""


class ClaimedTask(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What a worker gets: a task with the lease to run it once."""

    lease: Lease
    name: str
    queue: str
    payload: Raw
    attempt: int
    priority: int = 0
    tenant: str = DEFAULT_TENANT
    options: TaskOptions = DEFAULT_OPTIONS
    recorded: int = 0
    """The number of its last record, if it has any."""
    records: RecordPage = NO_RECORDS
    """The first of its records, as many as the claim had room for."""


class TaskView(Struct, frozen=True, kw_only=True):
    """A task in its current state, as the API shows it."""

    id: TaskId
    lane: Lane
    state: State
    created_at: Instant
    due_at: Instant | None
    epoch: int
    attempt: int
    failures: int = 0
    crashes: int = 0
    cancel_requested: bool = False
    started_at: Instant | None = None
    finished_at: Instant | None = None
    worker: SessionId | None = None
    options: TaskOptions = DEFAULT_OPTIONS
    idempotency_key: str | None = None
    payload: Raw | None = None
    result: Raw | None = None
    error: ErrorInfo | None = None
    is_parked: bool = False
    """Whether it is queued and its last attempt has ended to wait for something."""

    @property
    def size(self) -> int:
        """What its payload, result and error have together, about in bytes: all else of it is small."""
        error = 0 if self.error is None else self.error.size
        return len(self.payload or b"") + len(self.result or b"") + error

    def is_waiting(self, now: Instant) -> bool:
        """Tell whether a durable task waits for a time, a signal or a person, and is not due."""
        return self.is_parked and (self.due_at is None or self.due_at > now)

    def status(self, now: Instant) -> Status:
        """Return the public status at `now`."""
        return status_of(self.state, self.due_at, now)


def key_of(request: TaskRequest) -> str | None:
    """Return the idempotency key of a request, by either of its names."""
    return request.idempotency_key if request.idempotency_key is not None else request.idempotency_key_alias


def placing_key(request: TaskRequest) -> str | None:
    """Return the key whose slot the task of a request has: two submissions of it meet in one database."""
    if request.collapse is not None:
        return collapse_key(request.name, bytes(request.payload), request.collapse)
    return request.idempotency_key if request.idempotency_key is not None else request.idempotency_key_alias


def accept(  # noqa: PLR0913 - one call for each task of a list, for which a struct of them would be made
    request: TaskRequest,
    *,
    id: TaskId,
    slot_version: int = 0,
    tenant: str = DEFAULT_TENANT,
    limits: Limits = DEFAULT_LIMITS,
    retry: RetryDefaults = DEFAULT_RETRY,
    rules: TypeRules = UNKNOWN_TYPE,
) -> NewTask:
    """Return the request as a task that can be stored, or raise `Invalid` naming the field at fault.

    What it does not say is as `rules` declare it, and then as the installation is set to.
    """
    asked = request
    if rules.defaults is not NO_DEFAULTS:
        request = with_defaults(request, rules.defaults)
    is_plain = _is_plain(request)
    if not is_plain:
        _check_words(request)
    payload = given if (given := bytes(request.payload))[:1] > SPACE else without_space(given)
    check_bounds(payload, field="payload", largest=limits.payload, deepest=limits.nesting)
    if rules.check is None or not rules.check.check(payload) or request.name == HTTP:
        value = read_json(payload, field="payload")
        if request.name == HTTP:
            check_given_headers(value)
    lane = _lane(tenant, request.queue, request.name, request.priority)
    if is_plain and retry is DEFAULT_RETRY and CARRIED_TRACE.get() is None:
        return NewTask(id=id, lane=lane, payload=payload, slot_version=slot_version)
    key = key_of(request)
    run_at = None if request.run_at is None else to_instant(request.run_at, field="run_at")
    delay_ms = 0 if request.delay is None else millis(parse_duration(request.delay, field="delay"))
    options = options_of(request, retry)
    rule = None
    if request.collapse is not None:
        rule, options = _collapsing(request, key), replace(options, collapse=request.collapse)
    if request.expires is not None:
        due_at = made_at(id) + delay_ms if run_at is None else run_at
        options = replace(options, expires_at=expiry_of(due_at, parse_expires(request.expires)))
    return NewTask(
        id=id,
        slot_version=slot_version,
        lane=lane,
        payload=payload,
        options=encode_options(options),
        run_at=run_at,
        delay_ms=delay_ms,
        expires_at=options.expires_at,
        idempotency_key=None if key is None else check_key(key),
        fingerprint=None if key is None else _fingerprint(asked),
        collapse=rule,
    )


def expiry_of(due_at: int, expires_ms: int) -> Instant:
    """Return when a task that is due at a time expires, or raise `Invalid` for a time that cannot be shown."""
    if due_at + expires_ms > LATEST:
        raise Invalid("ends after the year 9999", field="expires")
    return Instant(due_at + expires_ms)


def _collapsing(request: TaskRequest, key: str | None) -> CollapseRule | None:
    """Return how a request collapses, or raise `Invalid` for what does not go together with it."""
    if request.collapse is None:
        return None
    rule = accept_collapse(request.name, bytes(request.payload), request.collapse)
    if key is not None:
        raise Invalid("cannot be given together with idempotency_key", field="collapse")
    for field_name in ("delay", "run_at", "expires") if rule.kind in TIMED else ():
        if getattr(request, field_name) is not None:
            raise Invalid(
                f"decides when the task is due, and cannot be given together with {field_name}", field="collapse"
            )
    return rule


def with_defaults(request: TaskRequest, defaults: TypeDefaults) -> TaskRequest:
    """Return a request that says what the type of its task declares where it said nothing itself."""
    return replace(
        request,
        queue=defaults.queue if request.queue is None else request.queue,
        priority=defaults.priority if request.priority is None else request.priority,
        retries=defaults.retries if request.retries is None else request.retries,
        backoff=defaults.backoff if request.backoff is None else request.backoff,
        timeout=defaults.timeout if request.timeout is None else request.timeout,
        tags=defaults.tags if request.tags is None else request.tags,
        expires=defaults.expires if request.expires is None else request.expires,
    )


def queue_of(request: TaskRequest, rules: TypeRules) -> str:
    """Return the queue that a request's task will be in."""
    return request.queue or rules.defaults.queue or DEFAULT_QUEUE


@lru_cache(maxsize=4096)
def _lane(tenant: str, queue: str | None, name: str, priority: int | str | None) -> Lane:
    """Return the lane of a request. Programs submit the same few lanes over and over, so they are checked once."""
    queue = DEFAULT_QUEUE if queue is None else check_queue(queue)
    return Lane(tenant, queue, check_name(name), 0 if priority is None else parse_priority(priority))


def _is_plain(request: TaskRequest) -> bool:
    """Tell whether a request says nothing but what to run, and in which lane: by far the most common case."""
    return (
        request.delay is None
        and request.run_at is None
        and request.retries is None
        and request.backoff is None
        and request.timeout is None
        and request.idempotency_key is None
        and request.idempotency_key_alias is None
        and not request.tags
        and not request.notify
        and request.limit_key is None
        and request.expires is None
        and request.collapse is None
    )


def _check_words(request: TaskRequest) -> None:
    """Raise `Invalid` for options that contradict each other."""
    if request.delay is not None and request.run_at is not None:
        raise Invalid("cannot be given together with run_at", field="delay")
    if request.idempotency_key is not None and request.idempotency_key_alias is not None:
        raise Invalid("is given twice, as idempotency_key and idempotencyKey", field="idempotency_key")


def encode_options(options: TaskOptions) -> bytes | None:
    """Return options as they are stored: nothing at all when every one is the default."""
    return None if options == DEFAULT_OPTIONS else encode(options)


def decode_options(stored: bytes | str | None) -> TaskOptions:
    """Return stored options."""
    return DEFAULT_OPTIONS if stored is None else decode(stored, TaskOptions)


def options_of(request: TaskRequest, retry: RetryDefaults = DEFAULT_RETRY) -> TaskOptions:
    """Return what a request says of retries, time and people to tell, or raise `Invalid` naming the field at fault."""
    retries = retry.retries if request.retries is None else request.retries
    if not 0 <= retries <= MOST_RETRIES:
        raise Invalid(f"must be from 0 to {MOST_RETRIES}", field="retries")
    backoff = request.backoff
    if backoff is None:
        backoff = retry.backoff
    elif not isinstance(backoff, Backoff):
        backoff = Backoff(base=backoff)
    timeout = None if request.timeout is None else millis(parse_duration(request.timeout, field="timeout"))
    if timeout == 0:
        raise Invalid("must be more than zero", field="timeout")
    return TaskOptions(
        retries=retries,
        backoff=backoff.check(),
        timeout_ms=timeout,
        tags=check_tags(request.tags or ()),
        notify=_checked_targets(request.notify or ()),
        limit_key=None if request.limit_key is None else check_limit_key(request.limit_key),
        trace=CARRIED_TRACE.get(),
    )


def _checked_targets(targets: tuple[NotifyTarget, ...]) -> tuple[NotifyTarget, ...]:
    if len(targets) > MOST_TARGETS:
        raise Invalid(f"must be at most {MOST_TARGETS}", field="notify")
    for number, target in enumerate(targets):
        if not target.on:
            raise Invalid(
                "must name at least one outcome: completed, failed or cancelled", field=f"notify[{number}].on"
            )
        target_of(target.webhook, target.email, field=f"notify[{number}]")
    return targets


def _fingerprint(request: TaskRequest) -> bytes:
    """Digest what the caller asked for; key order and white space inside the payload do not matter."""
    # As it was when defaults could not be changed nor declared: a key outlives an upgrade, and another default.
    retries = DEFAULT_RETRIES if request.retries is None else request.retries
    plain: tuple[object, ...] = (
        request.name, decode(bytes(request.payload), object), request.queue or DEFAULT_QUEUE,
        parse_priority(request.priority or 0), request.delay, request.run_at, retries, request.backoff, request.timeout,
        request.tags or (), request.notify or (),
    )  # fmt: skip
    if request.limit_key is not None:  # a word that came later: without it the digest is what it always was
        plain += (request.limit_key,)
    if request.expires is not None:
        plain += ("expires", request.expires)
    return sha256(encode_canonical(plain)).digest()
