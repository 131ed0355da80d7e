"""The gateway over HTTP: every call may be repeated, so a lost answer costs a round trip and nothing else."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote

import httpx
from msgspec.structs import replace

from drumline._version import __version__
from drumline.core.attempt import ProgressNote
from drumline.core.child_protocol import (
    OutcomePageBody,
    StartedBody,
    outcomes_of,
    outcomes_request,
    start_request,
)
from drumline.core.children import ChildRequests, OutcomePage, StartedIds
from drumline.core.codec import decode, encode
from drumline.core.durable import Answered, NewRecord, Record, RecordPage, RestartRequest, WaitRequest
from drumline.core.durable_protocol import (
    RecordAnswers,
    RecordRequest,
    RestartedBody,
    WaitedBody,
    answered_of,
    new_record_body,
    page_request,
    restart_body,
    wait_request_body,
)
from drumline.core.errors import Conflict, DrumlineError, Fenced, Invalid, NotFound, QuotaExceeded, Unavailable
from drumline.core.ids import SessionId, parse_session_id, session_text
from drumline.core.lease import Lease
from drumline.core.outcome import Succeeded
from drumline.core.problem import error_of
from drumline.core.protocol import (
    BeatBody,
    BeatRequest,
    ChangeSessionRequest,
    ChunkBody,
    ClaimBody,
    ClaimRequestBody,
    LeaveBody,
    LogBody,
    LogRequest,
    OpenBody,
    ProgressRequest,
    ReportBody,
    RevealBody,
    RevealRequest,
    SettleBody,
    SettledBody,
    SettleRequest,
    StopsBody,
    StopsRequest,
    WorkerConfigBody,
    beat_reply,
    claimed_task,
    lease_body,
    open_request,
    progress_report,
    report_body,
    state_of,
    usage_body,
)
from drumline.core.record_body import RecordPageBody, page_of, record_of
from drumline.core.runtime_config import NO_CONFIG, RuntimeConfig
from drumline.core.session import Beat, BeatReply, SessionSpec, Stops
from drumline.core.state import State
from drumline.core.task import ClaimedTask
from drumline.outbound.bodies import read_body
from drumline.outbound.no_cookies import no_cookies
from drumline.ports.gateway import NOTHING_HELD, Acknowledged, Report
from drumline.ports.store import Artifact, LogChunk

T = TypeVar("T")
Item = TypeVar("Item")

CONNECT_SECONDS: Final = 5.0
MOST_SENT: Final = 8 * 1024 * 1024
"""Bytes of reports or logs that are sent with one request, well inside the server's limits."""
LARGEST_ANSWER: Final = 128 * 1024 * 1024
"""Bytes of an answer that are read at most."""
ANSWER_SECONDS: Final = 25.0
MOST_CLAIMED: Final = 1000
LONGEST_WAIT: Final = 30.0
_OF_SOCKETS: Final = frozenset({"family", "getpeername", "getsockname"})
"""What anyio asks a new connection's socket for; if the connection was reset in between, uvloop has none any more."""
_SESSIONS: Final = "/api/v1/worker/sessions"

_log = logging.getLogger("drumline.worker")


class RemoteGateway:
    """`ports.gateway.Gateway` through the API servers at one address."""

    def __init__(
        self, url: str, *, api_key: str | None = None, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        headers = {"User-Agent": f"drumline-worker/{__version__}", "Content-Type": "application/json"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._client = httpx.AsyncClient(
            base_url=url.rstrip("/"),
            headers=headers,
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=32, max_keepalive_connections=32),
            cookies=no_cookies(),
            trust_env=False,
            transport=transport,
        )
        self._session = SessionId(0)
        """The session opened last: reports and logs travel under its name, their leases say whose they are."""
        self._extras: set[str] = set()
        """Fields that the session's server takes and an older one refuses: `held` of claims, if it shares its workers
        out among tenants; `nonce` of pieces of logs; `partial` of reports and logs; `usage` of heartbeats; while a
        session is opened, `app_version`."""
        self._tells_stops = False
        """Whether the server can be asked which attempts should stop."""
        self._answers_partly = False
        """Whether the server takes `partial`; an older one refuses the field."""
        self._has_rounds = False
        """Whether the server can begin new rounds of durable tasks."""
        self._undoes_drains = False
        self._keeps_records = False
        """Whether the server keeps records of durable tasks."""
        self.config_version = 0
        """The version of the runtime configuration that the servers last told of."""
        self._unanswered: dict[SessionId, str] = {}
        """The claims whose answers were lost: the next claim of the session asks for those first."""
        self._unknown_states: set[str] = set()
        """States unknown to this version, each logged once: a server may be newer."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def open_session(self, spec: SessionSpec) -> SessionId:
        """Register, and return the session to use in all that follows."""
        self._extras.add("app_version")  # which server answers, and of which version it is, is not known before

        async def ask() -> OpenBody:
            told = spec if "app_version" in self._extras else replace(spec, app_version="")
            return await self._ask("POST", _SESSIONS, OpenBody, open_request(told))

        opened = await self._as_understood(ask)
        self._session = parse_session_id(opened.session)
        taken = {
            "held": opened.wants_held,
            "nonce": opened.wants_nonce,
            "partial": opened.answers_partly,
            "usage": opened.wants_usage,
            "again": opened.wants_usage,
        }
        self._extras = {field for field, is_taken in taken.items() if is_taken}
        self._tells_stops = opened.tells_stops
        self._answers_partly = opened.answers_partly
        self._keeps_records = opened.keeps_records
        self._has_rounds = opened.has_rounds
        self._undoes_drains = opened.undoes_drains
        return self._session

    async def claim(
        self,
        session: SessionId,
        *,
        limit: int,
        wait: float,
        held: Mapping[str, int] = NOTHING_HELD,
        queues: tuple[str, ...] | None = None,
    ) -> Sequence[ClaimedTask]:
        """Return up to `limit` tasks, waiting up to `wait` seconds for the first."""
        lost = self._unanswered.get(session)
        claim_id = lost or secrets.token_hex(8)
        wait = min(wait, LONGEST_WAIT)
        path = self._path(session, "claim")

        async def ask() -> ClaimBody:
            wanted = ClaimRequestBody(
                limit=min(limit, MOST_CLAIMED),
                wait=wait,
                claim_id=claim_id,
                again=lost is not None,
                held=dict(held) if "held" in self._extras else {},
                queues=queues,
            )
            return await self._ask("POST", path, ClaimBody, wanted, seconds=wait + ANSWER_SECONDS)

        self._unanswered[session] = claim_id
        try:
            claimed = await self._as_understood(ask)
        except NotFound:
            del self._unanswered[session]
            return ()
        del self._unanswered[session]
        return tuple(claimed_task(body) for body in claimed.tasks)

    async def beat(self, beat: Beat) -> BeatReply:
        """Say what is held, and learn what was lost or should stop."""
        held = [lease_body(lease) for lease in beat.held]
        path = self._path(beat.session, "beat")

        async def ask() -> BeatBody:
            usage = usage_body(beat.usage) if "usage" in self._extras else None
            request = BeatRequest(held, usage, again=beat.again and "again" in self._extras)
            return await self._ask("POST", path, BeatBody, request)

        answer = await self._as_understood(ask)
        self.config_version = max(self.config_version, answer.config)
        return beat_reply(answer)

    async def stops(self, session: SessionId, held: Sequence[Lease], *, wait: float) -> Stops:
        """Return which attempts should stop now, waiting until there may be some; `NotFound` from an older server."""
        if not self._tells_stops:
            raise NotFound("the server does not tell which attempts should stop", field="session")
        request = StopsRequest([lease_body(lease) for lease in held], min(wait, LONGEST_WAIT))
        told = await self._ask("POST", self._path(session, "stops"), StopsBody, request, seconds=wait + ANSWER_SECONDS)
        return Stops(lost=told.lost, cancelled=told.cancelled)

    async def change_session(self, session: SessionId, *, queues: tuple[str, ...], capacity: int) -> None:
        """Say what the worker serves from now on."""
        await self._ask("PATCH", self._path(session), None, ChangeSessionRequest(queues=queues, capacity=capacity))

    async def runtime_config(self) -> RuntimeConfig:
        """Return what the runtime configuration says about workers; nothing if the server has none yet."""
        try:
            found = await self._ask("GET", "/api/v1/worker/config", WorkerConfigBody)
        except NotFound:
            return NO_CONFIG
        self.config_version = max(self.config_version, found.version)
        return RuntimeConfig(version=found.version, settings=found.settings)

    async def settle(self, reports: Sequence[Report]) -> list[Acknowledged]:
        """Report ends of attempts."""
        answers: list[Acknowledged] = []
        path = self._path(self._session, "settle")
        for part in parted(reports, _report_bytes, most=MOST_SENT):
            bodies = [report_body(report.lease, report.outcome) for report in part]

            async def ask(bodies: list[ReportBody] = bodies) -> SettleBody:
                return await self._ask(
                    "POST", path, SettleBody, SettleRequest(bodies, partial="partial" in self._extras)
                )

            answers += [self._acknowledged(body) for body in (await self._as_understood(ask)).reports]
        return answers

    async def record(self, records: Sequence[NewRecord]) -> list[Record | DrumlineError]:
        """Write records of durable tasks."""
        self._check_keeps_records()
        path = self._path(self._session, "records")
        answers: list[Record | DrumlineError] = []
        for part in parted(records, lambda new: 500 + len(new.value), most=MOST_SENT):
            request = RecordRequest([new_record_body(new) for new in part])
            answer = await self._ask("POST", path, RecordAnswers, request)
            answers += [each.error.error() if each.error else record_of(each.record) for each in answer.records]  # type: ignore[arg-type]  # one of them is there
        return answers

    async def wait(self, request: WaitRequest) -> Answered | State | DrumlineError | None:
        """Answer what an attempt waits for, or end the attempt; returns the task's state then."""
        self._check_keeps_records()
        try:
            waited = await self._ask("POST", self._path(self._session, "waits"), WaitedBody, wait_request_body(request))
        except (Fenced, QuotaExceeded) as error:
            return error
        except NotFound as error:
            return Fenced(error.message)  # the session was closed, and with it the lease is over
        return state_of(waited.state) if waited.state else answered_of(waited)

    async def restart(self, request: RestartRequest) -> State | DrumlineError | None:
        """End the round of a task; returns its state then."""
        if not self._has_rounds:
            return Conflict("the server cannot begin new rounds of tasks: it is of an earlier version")
        path = self._path(self._session, "restarts")
        try:
            answer = await self._ask("POST", path, RestartedBody, restart_body(request))
        except (Fenced, Conflict) as error:
            return error
        except NotFound as error:
            return Fenced(error.message)  # the session was closed, and with it the lease is over
        return state_of(answer.state)

    async def records(self, lease: Lease, *, after: int) -> RecordPage:
        """Return records of a task after a place, or raise `Fenced`."""
        path = self._path(self._session, "records", "list")
        try:
            return page_of(await self._ask("POST", path, RecordPageBody, page_request(lease, after)))
        except NotFound as error:
            raise Fenced(error.message) from error

    async def start_children(self, wanted: ChildRequests) -> StartedIds:
        """Start children of a task, or raise why they cannot be."""
        self._check_keeps_records()
        try:
            started = await self._ask("POST", self._path(self._session, "children"), StartedBody, start_request(wanted))
        except NotFound as error:
            raise Fenced(error.message) from error
        return StartedIds(tuple(started.ids), started.count)

    async def outcomes(self, lease: Lease, name: str, key: str, *, first: int) -> OutcomePage:
        """Return how children of a call ended, from a place on, or raise `Fenced`."""
        path = self._path(self._session, "children", "outcomes")
        try:
            page = await self._ask("POST", path, OutcomePageBody, outcomes_request(lease, name, key, first=first))
        except NotFound as error:
            raise Fenced(error.message) from error
        return outcomes_of(page)

    def _check_keeps_records(self) -> None:
        if not self._keeps_records:
            raise Conflict("the server does not keep records of durable tasks: it is of an earlier version")

    async def append_log(self, chunks: Sequence[LogChunk]) -> list[LogChunk]:
        """Keep log output; return the pieces of tasks that cannot be reached now."""
        path = self._path(self._session, "log")
        left: list[LogChunk] = []
        for part in parted(chunks, lambda chunk: 2 * len(chunk.text), most=MOST_SENT):

            async def send(part: Sequence[LogChunk] = part) -> bytes:
                request = LogRequest([self._chunk_body(chunk) for chunk in part], partial="partial" in self._extras)
                return await self._send("POST", path, encode(request))

            if answer := await self._as_understood(send):
                left += [part[number] for number in self._read(answer, LogBody).unavailable]
        return left

    async def report_progress(self, notes: Sequence[ProgressNote]) -> None:
        """Say how far attempts are."""
        request = ProgressRequest([progress_report(note) for note in notes])
        await self._ask("POST", self._path(self._session, "progress"), None, request)

    async def put_artifact(self, artifact: Artifact) -> None:
        """Keep a file that a task made."""
        path = self._path(self._session, "artifacts", artifact.task, artifact.name)
        headers = {"Content-Type": artifact.content_type}
        if artifact.lease is not None:
            headers["X-Lease"] = f"{artifact.lease.epoch} {artifact.lease.nonce:016x}"
        await self._send("PUT", path, artifact.data, headers=headers)

    async def reveal(self, lease: Lease) -> Mapping[str, str] | None:
        """Return the secrets that a task refers to, by name; None if it has none."""
        request = RevealRequest(lease_body(lease))
        return (await self._ask("POST", self._path(self._session, "secrets"), RevealBody, request)).secrets

    async def leave(self, session: SessionId) -> bool:
        """Leave in order because of a request to drain; False if that was undone."""
        if self._undoes_drains:
            try:
                left = await self._ask("POST", self._path(session, "leave"), LeaveBody)
            except NotFound:  # a server of an earlier version: those behind one address differ while they are upgraded
                _log.info("session.leaves_unasked: %s", session_text(session))
            else:
                return left.has_left
        await self.close_session(session)
        return True

    async def close_session(self, session: SessionId) -> None:
        """Leave in order."""
        self._unanswered.pop(session, None)
        await self._ask("DELETE", self._path(session), None)

    async def _as_understood(self, send: Callable[[], Awaitable[T]]) -> T:
        """Send a request, again without a field that the server refuses because it is older than the session's.

        While servers are upgraded or rolled back those behind one address differ, and none may refuse a report.
        """
        while True:
            try:
                return await send()
            except Invalid as error:
                refused = (error.field or "").rpartition(".")[2]
                if refused not in self._extras:
                    raise
                self._extras.remove(refused)  # until the next session
                _log.info("server.older: it does not take %r, which is left out from now on", refused)

    def _chunk_body(self, chunk: LogChunk) -> ChunkBody:
        nonce = None if chunk.nonce is None or "nonce" not in self._extras else f"{chunk.nonce:016x}"
        return ChunkBody(task=chunk.task, epoch=chunk.epoch, seq=chunk.seq, text=chunk.text, nonce=nonce)

    def _acknowledged(self, answer: SettledBody) -> Acknowledged:
        if answer.error:
            error = answer.error.error()
            if isinstance(error, Fenced | Unavailable):
                return error
            raise error
        word = answer.state or ""
        state = state_of(word)
        if state is None and word not in self._unknown_states:
            self._unknown_states.add(word)
            _log.warning("report.state_unknown: %r: taken, but the server is of a later version", word)
        return state

    def _path(self, session: SessionId, *parts: str) -> str:
        return "/".join((_SESSIONS, session_text(session), *(quote(part, safe="") for part in parts)))

    async def _ask(
        self, method: str, path: str, answer: type[T] | None, said: Any = None, *, seconds: float = ANSWER_SECONDS
    ) -> T:
        """Send a request and return its answer as `answer`; raise the error that a problem reply tells of."""
        body = await self._send(method, path, None if said is None else encode(said), seconds=seconds)
        if answer is None:
            return None  # type: ignore[return-value]  # an answer that has no body, and T is then None
        return self._read(body, answer)

    def _read(self, body: bytes, answer: type[T]) -> T:
        try:
            return decode(body, answer)
        except Invalid as error:
            # Something between us and Drumline wrote it. It is no refusal of what was said.
            raise Unavailable(f"{self._client.base_url} answered with something else: {error}") from error

    async def _send(
        self,
        method: str,
        path: str,
        body: bytes | None,
        *,
        headers: dict[str, str] | None = None,
        seconds: float = ANSWER_SECONDS,
    ) -> bytes:
        timeout = httpx.Timeout(seconds, connect=CONNECT_SECONDS)
        try:
            async with (
                asyncio.timeout(2 * seconds + CONNECT_SECONDS),  # an answer that comes byte by byte ends too
                self._client.stream(method, path, content=body, headers=headers, timeout=timeout) as reply,
            ):
                said = await read_body(reply, most=LARGEST_ANSWER, most_raw=LARGEST_ANSWER)
        except (httpx.TransportError, TimeoutError) as error:
            raise Unavailable(f"{self._client.base_url} does not answer: {type(error).__name__}: {error}") from error
        except AttributeError as error:
            if error.name not in _OF_SOCKETS:
                raise
            raise Unavailable(f"{self._client.base_url} does not answer: the connection was reset") from error
        except Invalid as error:
            raise Unavailable(f"{self._client.base_url} answered what cannot be read: {error}") from error
        if said.is_cut:
            raise Unavailable(f"{self._client.base_url} answered more than {LARGEST_ANSWER:,} bytes")
        if reply.is_success:
            return said.data
        raise error_of(reply.status_code, said.data)


def _report_bytes(report: Report) -> int:
    outcome = report.outcome
    return 200 + (len(outcome.result) if isinstance(outcome, Succeeded) else 0)


def parted(items: Sequence[Item], weigh: Callable[[Item], int], *, most: int) -> Iterator[Sequence[Item]]:
    """Yield items in runs that weigh up to `most` together; one that weighs more goes alone."""
    start = size = 0
    for place, item in enumerate(items):
        weight = weigh(item)
        if place > start and size + weight > most:
            yield items[start:place]
            start, size = place, 0
        size += weight
    if items:
        yield items[start:]
