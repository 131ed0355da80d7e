"""Drumline over HTTP: asks become requests of the public API, problem replies become errors again."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import quote

import msgspec
from msgspec import Struct

from drumline._version import __version__
from drumline.core.codec import encode
from drumline.core.content_encoding import BodyDecoder
from drumline.core.errors import DrumlineError, Invalid, Overloaded, Unauthorized, Unavailable
from drumline.core.ids import JobId, TaskId
from drumline.core.problem import Problem, error_of
from drumline.core.task import TaskRequest
from drumline.sdk.threads import DaemonThreads
from drumline.sdk.traced import trace_headers
from drumline.sdk.transport import (
    Ask,
    Cancel,
    Gathered,
    Get,
    JobAsk,
    LimitAsk,
    LiveNames,
    ReadLog,
    RetryTask,
    ScheduleAsk,
    SelfContainedAsk,
    SubmitMany,
    TaskInfo,
    collapsed_id,
)

if TYPE_CHECKING:
    import urllib3

T = TypeVar("T")

PAUSES: Final = (0.1, 0.3, 0.9)
"""Seconds between tries of a call that may be repeated."""
CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 30.0
MOST_TASKS: Final = 5_000
MOST_BYTES: Final = 8 * 1024 * 1024
"""What goes into one batch request, well inside the server's limits."""
TURN_SECONDS: Final = 2.0
"""Seconds that an async caller's long poll may take."""
CROWDED_SECONDS: Final = 0.1
"""The same while others wait for a thread."""


class _Unsent(Unavailable):
    """No connection came about, so the server cannot have seen the request."""


class _Request(Struct, frozen=True, kw_only=True):
    method: str
    path: str
    body: bytes | None = None
    is_repeatable: bool = False
    """Whether sending it twice does no more than sending it once."""
    seconds: float = ANSWER_SECONDS
    """How long the answer may take."""


class _Reference(Struct):
    id: TaskId | None = None
    collapsed: str | None = None
    error: Problem | None = None


class _Batch(Struct):
    tasks: list[_Reference]


class _Worker(Struct):
    types: list[str]


class _Workers(Struct):
    items: list[_Worker]


class HttpTransport:
    """Answers asks through the HTTP API of a server."""

    def __init__(self, url: str, *, api_key: str | None = None) -> None:
        import urllib3  # noqa: PLC0415 - only those who use HTTP pay for it

        self._urllib3 = urllib3
        self._url = url.rstrip("/")
        headers = {"User-Agent": f"drumline-python/{__version__}"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._pool = urllib3.PoolManager(maxsize=64, headers=headers, retries=False)
        self._calls = DaemonThreads(8, name="drumline-call")
        self._waits = DaemonThreads(32, name="drumline-wait")

    def send(self, ask: Ask[T]) -> T:
        """Answer, blocking the calling thread."""
        # The ask's type says what the answer is; `_answer` keeps to it case by case.
        return cast("T", self._answer(ask))

    async def asend(self, ask: Ask[T]) -> T:
        """Answer, on any event loop."""
        wait = getattr(ask, "wait", 0.0)
        if wait > 0:
            # Waits share few threads, so they take turns; and they never stand in the way of other calls.
            short = replace(ask, wait=min(wait, TURN_SECONDS))  # type: ignore[call-arg]
            return await asyncio.wrap_future(self._waits.run(lambda: self.send(short)))
        return await asyncio.wrap_future(self._calls.run(lambda: self.send(ask)))

    def url_of(self, task: TaskId) -> str:
        """Return the task's page in the web interface."""
        return f"{self._url}/ui/tasks/{task}"

    def url_of_job(self, job: JobId) -> str:
        """Return the job's page in the web interface."""
        return f"{self._url}/ui/jobs/{job}"

    def is_answering(self) -> bool:
        """Tell whether there is a server at all."""
        try:
            self._once(_Request(method="GET", path="/livez", seconds=2.0))
        except DrumlineError:
            return False
        return True

    def close(self) -> None:
        """Let go of connections and threads."""
        self._calls.close()
        self._waits.close()
        self._pool.clear()

    # -- asks

    def _answer(self, ask: Ask[Any]) -> Any:
        match ask:
            case SubmitMany(requests):
                return self._submit_many(requests)
            case Get(task, wait):
                return self._get(task, wait)
            case Cancel(task, force):
                body = b'{"force":true}' if force else None
                self._send(_Request(method="POST", path=f"{_path(task)}/cancel", body=body, is_repeatable=True))
            case RetryTask(task):
                self._send(_Request(method="POST", path=f"{_path(task)}/retry"))
            case ReadLog(task):
                return self._send(_get(f"{_path(task)}/log")).decode()
            case LiveNames():
                workers = _read(self._send(_get("/api/v1/workers")), _Workers)
                return frozenset(name for worker in workers.items for name in worker.types)
            case JobAsk() | ScheduleAsk() | LimitAsk() | SelfContainedAsk():
                return self._answer_apart(ask)
            case _:
                raise TypeError(f"cannot send {ask!r}")
        return None

    def _answer_apart(self, ask: JobAsk[Any] | ScheduleAsk[Any] | LimitAsk[Any] | SelfContainedAsk[Any]) -> Any:
        """Answer what only some ask, and only they pay for."""
        if isinstance(ask, SelfContainedAsk):
            message = ask.message()
        elif isinstance(ask, JobAsk):
            from drumline.sdk.http_jobs import message_of  # noqa: PLC0415

            message = message_of(ask)
        elif isinstance(ask, LimitAsk):
            from drumline.sdk.limits import message_of_limit  # noqa: PLC0415

            message = message_of_limit(ask)
        else:
            from drumline.sdk.schedules import message_of_schedule  # noqa: PLC0415

            message = message_of_schedule(ask)
        if message.wait > 0:
            body = self._wait(message.path, message.wait, method=message.method, body=message.body)
            return message.read(_read(body, message.answer))
        body = self._send(
            _Request(method=message.method, path=message.path, body=message.body, is_repeatable=message.is_repeatable)
        )
        return None if message.answer is None else message.read(_read(body, message.answer))

    def _get(self, task: TaskId, wait: float) -> TaskInfo:
        return _read(self._wait(_path(task), wait), TaskInfo)

    def _wait(self, path: str, wait: float, *, method: str = "GET", body: bytes | None = None) -> bytes:
        """Return what is at a path once it has ended, or its current state when the time is over."""
        if self._waits.has_backlog:
            wait = min(wait, CROWDED_SECONDS)
        query = f"?wait={wait:.3f}" if wait > 0 else ""
        return self._send(
            _Request(method=method, path=path + query, body=body, is_repeatable=True, seconds=ANSWER_SECONDS + wait)
        )

    def _submit_many(self, requests: Sequence[TaskRequest]) -> list[TaskId | DrumlineError]:
        if len(requests) == 1:
            request = requests[0]
            keyed = request.idempotency_key is not None
            sent = _Request(method="POST", path="/api/v1/tasks", body=encode(request), is_repeatable=keyed)
            return [_id_of(_read(self._send(sent), _Reference))]
        gathered = Gathered()
        for parts, keyed in _chunks(requests):
            body = b'{"tasks":[' + b",".join(parts) + b"]}"
            sent = _Request(method="POST", path="/api/v1/tasks/batch", body=body, is_repeatable=keyed)
            try:
                gathered.add([_id_of(item) for item in _read(self._send(sent), _Batch).tasks])
            except DrumlineError as error:
                gathered.fail(error, len(parts))
        return gathered.answers()

    # -- the wire

    def _send(self, request: _Request) -> bytes:
        for pause in PAUSES:
            try:
                return self._once(request)
            except (Unavailable, Overloaded) as error:
                if not (request.is_repeatable or isinstance(error, _Unsent)):
                    raise
            time.sleep(pause)
        try:
            return self._once(request)
        except _Unsent as error:
            raise Unavailable(error.message) from error.__cause__

    def _once(self, request: _Request) -> bytes:
        errors = self._urllib3.exceptions
        headers = {**self._pool.headers, **trace_headers()}
        if request.body is not None:
            headers["Content-Type"] = "application/json"
        timeout = self._urllib3.Timeout(connect=CONNECT_SECONDS, read=request.seconds)
        try:
            reply: urllib3.BaseHTTPResponse = self._pool.request(
                request.method,
                self._url + request.path,
                body=request.body,
                headers=headers,
                timeout=timeout,
                preload_content=False,
            )
            body = read_body(reply, seconds=2 * request.seconds)
        except (errors.NewConnectionError, errors.ConnectTimeoutError) as error:
            raise _Unsent(
                f"there is no Drumline server at {self._url}: {error}. Start one with `drumline dev`, or name yours "
                "with DRUMLINE_URL or Drumline(…, url=…)"
            ) from error
        except errors.HTTPError as error:
            plain = "; it seems to speak http://, not https://" if "WRONG_VERSION_NUMBER" in str(error) else ""
            raise Unavailable(f"the connection to {self._url} broke: {error}{plain}") from error
        if reply.status >= 400:
            raise self._with_remedy(error_of(reply.status, body))
        return body

    def _with_remedy(self, error: DrumlineError) -> DrumlineError:
        """Return the error of a server; for one about the API key say where a program gives it."""
        if not isinstance(error, Unauthorized):
            return error
        has_key = "Authorization" in self._pool.headers
        why = error.message if has_key else "it wants an API key, and this program has none"
        return Unauthorized(
            f"{self._url} does not let this program in: {why}. Give a key with DRUMLINE_API_KEY or "
            "Drumline(…, api_key=…); `drumline keys create` makes one"
        )


def _path(task: TaskId) -> str:
    return f"/api/v1/tasks/{quote(task, safe='')}"


def _get(path: str) -> _Request:
    return _Request(method="GET", path=path, is_repeatable=True)


def _read(body: bytes, type_: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=type_)
    except msgspec.DecodeError as error:
        raise DrumlineError(f"what answered is not a Drumline server: {error}") from error


def _id_of(item: _Reference) -> TaskId | DrumlineError:
    if item.error is not None:
        return item.error.error()
    if item.id is not None and item.collapsed is not None:
        return collapsed_id(item.id, item.collapsed)
    return item.id if item.id is not None else DrumlineError("the server gave neither id nor error")


def _chunks(requests: Sequence[TaskRequest]) -> Iterator[tuple[list[bytes], bool]]:
    """Yield the requests as JSON in runs that fit into one batch, and whether each run may be sent again."""
    parts: list[bytes] = []
    size, keyed = 0, True
    for request in requests:
        part = encode(request)
        if parts and (len(parts) == MOST_TASKS or size + len(part) > MOST_BYTES):
            yield parts, keyed
            parts, size, keyed = [], 0, True
        parts.append(part)
        size += len(part) + 1
        keyed = keyed and request.idempotency_key is not None
    if parts:
        yield parts, keyed


if TYPE_CHECKING:
    import urllib3

LARGEST: Final = 128 * 1024 * 1024
"""Bytes of an answer that are read at most, and that it may decompress to."""
_PIECE: Final = 64 * 1024


def read_body(reply: "urllib3.BaseHTTPResponse", *, seconds: float) -> bytes:
    """Return the body of an answer that has begun, or raise `Unavailable` if it is too large or takes too long."""
    deadline = monotonic() + seconds
    try:
        decoder = BodyDecoder(reply.headers.get("content-encoding"), most=LARGEST)
        for part in reply.stream(_PIECE, decode_content=False):
            decoder.feed(part)
            if decoder.is_cut or monotonic() > deadline:
                break
        else:
            return decoder.body
    except Invalid as error:
        reply.close()
        raise Unavailable(f"the answer cannot be read: {error}") from error
    reply.close()
    raise Unavailable(f"the answer has more than {LARGEST:,} bytes, or takes longer than {seconds:g} s")
