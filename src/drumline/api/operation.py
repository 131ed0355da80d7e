"""What an operation of the API is: one row of the table that makes the routes, the OpenAPI document and the docs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import UNSET, Struct, UnsetType
from starlette.types import Receive, Scope

from drumline.aio.events import StopEvent
from drumline.api.authentication import Authentication
from drumline.api.log_quota import LogQuota
from drumline.api.problems import Headers
from drumline.api.request_bytes import RequestBytes
from drumline.core.access import Caller, Permission
from drumline.core.errors import Invalid, Unauthorized
from drumline.core.limits import DEFAULT_HTTP_LIMITS, HttpLimits, Limits
from drumline.engine.engine import Engine
from drumline.ports.gateway import ServerGateway

if TYPE_CHECKING:  # it brings a client and cryptography with it, which few servers need
    from drumline.outbound.issuer import Issuer

Body = TypeVar("Body")
Query = TypeVar("Query")

JSON = b"application/json"
TEXT = b"text/plain; charset=utf-8"
EVENT_STREAM = b"text/event-stream"
HTML = b"text/html; charset=utf-8"

SANDBOX = b"default-src 'none'; frame-ancestors 'none'; sandbox"
"""The content policy of data: a browser that opens it runs and loads nothing."""
PAGE = (
    b"default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'"
)
"""The content policy of a page for people: it may have a style sheet of ours."""


class Tag(StrEnum):
    """The chapters of the API."""

    TASKS = "tasks"
    JOBS = "jobs"
    SCHEDULES = "schedules"
    FAILURES = "failures"
    BULK = "bulk operations"
    VIEWS = "views"
    QUEUES = "queues"
    LIMITS = "limits"
    WORKERS = "workers"
    EVENTS = "events"
    NOTIFICATIONS = "notifications"
    ALERTS = "alerts"
    KEYS = "keys"
    SIGN_IN = "sign-in"
    TENANTS = "tenants"
    SECRETS = "secrets"
    AUDIT = "audit log"
    CONFIG = "configuration"
    SHARDS = "shards"
    PROTOCOL = "worker protocol"
    SHORT = "short paths"
    HEALTH = "health"
    DOCS = "documentation"


class Info(Struct, frozen=True, kw_only=True):
    """What the API says of the server it runs in."""

    version: str
    disk: str = "."
    """A path on the disk whose free space the health page tells."""
    least_free: int = 64 * 1024 * 1024
    """Bytes of free space under which the disk counts as down."""
    http: HttpLimits = DEFAULT_HTTP_LIMITS
    """What it accepts on its connections."""
    longest_wait: float = 60.0
    """Seconds that a request may wait for a task; less than what proxies in between endure."""
    longest_stream: float = 3600.0
    """Seconds after which a stream of events ends, and its client comes back: perhaps to another server."""
    environment: str = ""
    """What people call this installation, for the web interface; and the colour that it is marked with."""
    colour: str = "grey"


@dataclass(frozen=True, slots=True)
class ApiContext:
    """What handlers work with; handed in once, the same for every request."""

    engine: Engine
    gateway: ServerGateway
    info: Info
    limits: Limits
    stop: StopEvent
    authentication: Authentication
    log_quota: LogQuota
    """Counts what attempts log."""
    request_bytes: RequestBytes
    """Counts the bodies in memory."""
    body_timeout: float = 60.0
    """Seconds in which a body must have come."""
    operations: "tuple[Operation, ...]" = ()
    leaving: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server will stop soon: it still serves, and asks for no more requests."""
    write_metrics: Callable[[str], tuple[bytes, str]] | None = None
    """Writes the figures down in the form that a header `Accept` asks for, and tells its media type."""
    pages: "dict[str, Reply]" = field(default_factory=dict)
    """Answers that are the same for every caller, made once."""
    issuers: "Mapping[str, Issuer]" = field(default_factory=dict)
    """Those who vouch for people, by name."""


@dataclass(slots=True)
class AuditDetail:
    """What a handler notes of an act for the audit log: how things were before it and after."""

    before: Any = None
    after: Any = None


class NoQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """No query parameters."""


@dataclass(slots=True)
class ApiCall(Generic[Body, Query]):
    """One request, read and checked."""

    context: ApiContext
    caller: Caller | None
    params: Mapping[str, str]
    query: Query
    body: Body
    headers: list[tuple[bytes, bytes]]
    receive: Receive
    scope: Scope
    audit_detail: AuditDetail | None = None
    """There for acts that the audit log has."""

    @property
    def engine(self) -> Engine:
        """The engine."""
        return self.context.engine

    @property
    def tenant(self) -> str | None:
        """The tenant whose tasks the caller may see; None for all tenants."""
        return self.by.tenant

    @property
    def home(self) -> str:
        """The tenant under which the caller's own tasks and queues are kept."""
        return self.by.home

    @property
    def by(self) -> Caller:
        """The caller, of whom there is one unless the path is open."""
        if self.caller is None:
            raise Unauthorized("this needs an API key")
        return self.caller

    def note(self, *, before: Any = None, after: Any = None) -> None:
        """Note for the audit log what an act changed: only what is worth reading, and never a secret."""
        if self.audit_detail is not None:
            self.audit_detail.before = self.audit_detail.before if before is None else before
            self.audit_detail.after = self.audit_detail.after if after is None else after

    def wait(self, seconds: float) -> float:
        """Return how long the caller wants to wait, or raise `Invalid` if that is too long."""
        longest = self.context.info.longest_wait
        if not 0 <= seconds <= longest:
            raise Invalid(f"must be from 0 to {longest:g} seconds", field="wait")
        return seconds

    def header(self, name: bytes) -> bytes | None:
        """Return a header by its lower-case name."""
        return next((value for given, value in self.headers if given == name), None)


class Reply(Struct, frozen=True):
    """An answer that is there as a whole."""

    body: bytes
    status: int = 200
    media: bytes = JSON
    headers: Headers = ()
    policy: bytes = SANDBOX


class Stream(Struct, frozen=True):
    """An answer that comes bit by bit."""

    chunks: AsyncIterator[bytes]
    media: bytes = TEXT
    patience: float | None = None
    """Seconds that a client may take to accept a chunk before it is cut off; None waits for ever."""


Handler = Callable[[ApiCall[Any, Any]], Awaitable[Reply | Stream]]


class Reach(StrEnum):
    """Whether an operation may be used with a key that is restricted to some task names or queues."""

    TASKS = "tasks"
    """It creates, runs or changes tasks: the handler checks that the key allows these tasks."""
    WHOLE = "whole"
    """It concerns a whole tenant or the installation: a restricted key is refused."""
    OWN = "own"
    """It concerns the caller's own key, sign-in or session, or changes nothing: the restriction does not matter."""


class Operation(Struct, frozen=True, kw_only=True):
    """One method of one path, with everything that its route and its documentation need."""

    method: str
    path: str
    handler: Handler
    summary: str
    tag: Tag
    body: Any = None
    """The type that the body is decoded to; `bytes` takes it as it comes."""
    described: Any = None
    """The type that describes the body, where it is read otherwise than it is written."""
    body_required: bool = True
    largest: Callable[[Limits], int] = lambda limits: limits.request
    """The largest body, in bytes; what needs more than the small default says so here."""
    bulk: str = "body"
    """The field that is to blame when a body is too large."""
    query: type[Struct] = NoQuery
    answer: Any = None
    """The type that describes a JSON answer; None for an answer without a body."""
    media: bytes = JSON
    other_media: tuple[bytes, ...] = ()
    """What it may answer with besides, by a parameter."""
    status: int = 200
    also: tuple[int, ...] = ()
    """Other statuses with the same answer; 204 has none."""
    idempotent: bool = False
    """Whether it takes the header `Idempotency-Key`."""
    permission: Permission | UnsetType | None = UNSET
    """What the caller's key must allow; None for any valid key. Every operation that is not open states it."""
    audit_act: str | Callable[[Any], str | None] | UnsetType | None = UNSET
    """The name of the act in the audit log (noun and verb), or a function of the body that returns it; None if it is
    not recorded. Every operation that needs a key and is not a GET states it."""
    reach: Reach | None = None
    """What a key restricted to some names and queues may do with it. Stated wherever `audit_act` is."""
    merges: bool = False
    """Whether the answer is put together from all shards: then it says in `incomplete` which of them it misses."""
    is_open: bool = False
    """Whether it is served without a key."""
    is_hidden: bool = False
    """Whether it is left out of the documentation."""

    def __post_init__(self) -> None:
        """Refuse an operation that does not state who may use it, or whether the audit log records it."""
        if self.is_open:
            return
        if self.permission is UNSET:
            raise TypeError(f"{self.method} {self.path}: state its permission, or that it is open")
        if self.method != "GET" and (self.audit_act is UNSET or self.reach is None):
            raise TypeError(f"{self.method} {self.path}: state its audit_act and its reach")
